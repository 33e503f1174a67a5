/* Full fences as kernels write them: a locked instruction on the stack, and an exchange, in inline assembly. They wait for
 * flushes. Clean everywhere. */
#include "truth.h"

static uint64_t word;

static void locked_add(void) { __asm__ volatile("lock; addl $0, -4(%%rsp)" ::: "memory", "cc"); }

static void exchange(void) {
    uint64_t one = 1;
    __asm__ volatile("xchgq %0, %1" : "+r"(one), "+m"(word)::"memory");
}

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        flush(&log->entry[n - 1], 8);
        n % 2 ? locked_add() : exchange();
        log->count.word = n;
        flush(&log->count, 8);
        n % 2 ? exchange() : locked_add();
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
