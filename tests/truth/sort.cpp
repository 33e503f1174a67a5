/* std::sort is a template, compiled with the program, so its stores are seen; then all is flushed, and said to be
 * sorted. Clean everywhere. */
#include "truth.h"
#include <algorithm>

enum { NUMBERS = 48 };

struct sorted {
    struct cell valid;
    uint64_t number[NUMBERS];
};

static void work(const char *file) {
    auto *all = static_cast<sorted *>(fresh(file, PAGE));
    for (uint64_t n = 0; n < NUMBERS; n++) all->number[n] = 1 + n * 29 % NUMBERS;
    std::sort(all->number, all->number + NUMBERS);
    persist(all->number, sizeof all->number);
    all->valid.word = 1;
    persist(&all->valid, 8);
    coreplane_mark_here(1);
}

static void check(const char *file, uint64_t acknowledged) {
    const auto *all = static_cast<const sorted *>(found(file, PAGE));
    if (!all->valid.word && acknowledged) lost("the acknowledged sort is missing");
    for (uint64_t n = 0; n < NUMBERS && all->valid.word; n++)
        if (all->number[n] != n + 1) lost("number %lu is not sorted", (unsigned long)n);
}

PROGRAM
