/* The words of coreplane.h as requests to the tool: what a program that the tool executes calls (words.c) asks for here. */
#include <valgrind/valgrind.h>

enum { ASK_PERSISTENT = VG_USERREQ_TOOL_BASE('C', 'P'), ASK_MARK, ASK_ORDER, ASK_REGION_BEGINS, ASK_REGION_ENDS, ASK_REGION_WARMS, ASK_REGION_TURNS };
