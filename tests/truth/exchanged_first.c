/* The count is published by an exchange of inline assembly before its entry is durable: a line may be lost that is
 * counted. A bug everywhere. */
#include "truth.h"

static void publish(uint64_t *word, uint64_t v) { __asm__ volatile("xchgq %1, %0" : "+r"(v), "+m"(*word)::"memory"); }

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        publish(&log->count.word, n);
        persist(&log->count, 8);
        log->entry[n - 1].word = value(n); /* LOST */
        persist(&log->entry[n - 1], 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
