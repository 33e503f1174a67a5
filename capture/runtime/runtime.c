/* The recorder's half that lives in the recorded program (C11, Linux, x86-64).
 *
 * The compiler calls a hook before every load and store (-fsanitize=thread code generation, gcc or clang); the
 * hooks here pack what happened into a buffer of the thread (crates/programs/trace/src/foretold.rs says how), and a full
 * buffer becomes one block of the trace (file.rs beside it). Nothing is shared between threads on the way but the
 * counter that stamps synchronisation. A block is written by one system call on a file opened for appending, so
 * that what a killed program leaves is readable up to its last whole block.
 *
 * A store's hook runs before the store: its value is read when the same thread next records anything but a load.
 *
 * Packing, files and what system calls do to them are the Valgrind tool's too (capture/valgrind): format.h, raw.h, checksum.h, records.h, region.h, mapped.h, files.h, changes.h, naming.h.
 *
 * Without COREPLANE_TRACE in the environment nothing is recorded; a check of the crash lab reports what it reads (reads.h). This is never instrumented, and one unit, so that a
 * hook is one function. */

#include "shared.h"

#include "raw.h"
#include "memory.h"
#include "checksum.h"
#include "output.h"
#include "peek.h"
#include "objects.h"
#include "work.h"
#include "records.h"
#include "buffers.h"
#include "signals.h"
#include "cancel.h"
#include "libraries.h"
#include "reads.h"
#include "watched.h"
#include "program.h"
#include "mapped.h"
#include "regions.h"
#include "shadow.h"
#include "elsewhere.h"
#include "files.h"
#include "meetings.h"
#include "accesses.h"
#include "ranges.h"
#include "between.h"
#include "atomics.h"
#include "atomics16.h"
#include "fences.h"
#include "order.h"
#include "threads.h"
#include "changes.h"
#include "ioctl.h"
#include "mappings.h"
#include "naming.h"
#include "passages.h"
#include "calls.h"
#include "names.h"
#include "streams.h"
#include "wide.h"
#include "children.h"
#include "descriptors.h"
#include "check_calls.h"
#include "pmem.h"
#include "pmem2.h"
#include "pauses.h"
#include "hosts.h"
#include "waiting.h"
#include "filled.h"
#include "handing.h"
#include "asynchronous.h"
#include "syscalls.h"
#include "lookups.h"
