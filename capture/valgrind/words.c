/* What a program calls that includes coreplane.h: Valgrind loads this library into each that the tool executes. */
#include "../coreplane.h"
#include "words.h"
#include <signal.h>
#include <stdlib.h>

#define ASK(request, first, second) VALGRIND_DO_CLIENT_REQUEST_STMT(request, first, second, 0, 0, 0)

__attribute__((visibility("default"))) void coreplane_persistent(const void *address, size_t bytes) { ASK(ASK_PERSISTENT, address, bytes); }
__attribute__((visibility("default"))) void coreplane_mark(unsigned long number) { ASK(ASK_MARK, number, 0); }
/* The request orders all there is: one thread runs at a time. */
__attribute__((visibility("default"))) void coreplane_order(void) { ASK(ASK_ORDER, 0, 0); }
__attribute__((visibility("default"))) void coreplane_region_begins(void) { ASK(ASK_REGION_BEGINS, 0, 0); }
__attribute__((visibility("default"))) void coreplane_region_ends(void) { ASK(ASK_REGION_ENDS, 0, 0); }
__attribute__((visibility("default"))) void coreplane_region_warms(void) { ASK(ASK_REGION_WARMS, 0, 0); }

/* SIGUSR2 bounds the region where that was asked for, until the program has a handler of its own for it. */
static void turn_region(int number) {
    (void)number;
    ASK(ASK_REGION_TURNS, 0, 0);
}
__attribute__((constructor)) static void take_signal(void) {
    struct sigaction ours = {.sa_handler = turn_region, .sa_flags = SA_RESTART};
    if (getenv("COREPLANE_REGION_SIGNAL")) sigaction(SIGUSR2, &ours, NULL);
}
