/* The kernel stores into the mapping for read(2), and nothing flushes it. Loses on x86; a machine with a persist
 * path needs no flush, and the fence orders it. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    int pipes[2];
    need(!pipe(pipes), "pipe");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(write(pipes[1], &word, 8) == 8, "write");
        need(read(pipes[0], &log->entry[n - 1].word, 8) == 8, "read"); /* LOST */
        fence();
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
