/* The C library's qsort, which has no hooks, sorts an array in the mapping; nothing makes the result durable before
 * it is said to be. Loses, or is refused because its stores were not seen. */
#include "truth.h"

enum { NUMBERS = 48 };

struct sorted {
    struct cell valid;
    uint64_t number[NUMBERS];
};

static int order(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void work(const char *file) {
    struct sorted *all = fresh(file, PAGE);
    for (uint64_t n = 0; n < NUMBERS; n++) all->number[n] = 1 + n * 29 % NUMBERS;
    need(!msync(all, PAGE, MS_SYNC), "msync");
    qsort(all->number, NUMBERS, sizeof all->number[0], order);
    all->valid.word = 1;
    persist(&all->valid, 8);
    coreplane_mark_here(1);
}

static void check(const char *file, uint64_t acknowledged) {
    const struct sorted *all = found(file, PAGE);
    if (!all->valid.word && acknowledged) lost("the acknowledged sort is missing");
    for (uint64_t n = 0; n < NUMBERS && all->valid.word; n++)
        if (all->number[n] != n + 1) lost("number %lu is %lu", (unsigned long)n, (unsigned long)all->number[n]);
}

PROGRAM
