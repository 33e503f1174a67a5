/* The count is published by an exchange of inline assembly, an entry's second word by a locked addition: they store. Clean
 * everywhere. */
#include "truth.h"

static void publish(uint64_t *word, uint64_t v) { __asm__ volatile("xchgq %0, %1" : "+r"(v), "+m"(*word)::"memory"); }

static void add(uint64_t *word, uint32_t v) {
    __asm__ volatile("lock; xaddl %0, (%1)" : "+r"(v) : "r"(word) : "memory", "cc");
}

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        add(&log->entry[n - 1].word, (uint32_t)value(n));
        persist(&log->entry[n - 1], 8);
        publish(&log->count.word, n);
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
