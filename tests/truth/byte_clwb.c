/* clwb written in bytes, as sources do that old assemblers have to take. Clean everywhere. */
#include "truth.h"

static void byte_clwb(void *p) { __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(*(volatile char *)p)); }

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        byte_clwb(&log->entry[n - 1]);
        fence();
        log->count.word = n;
        byte_clwb(&log->count);
        fence();
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
