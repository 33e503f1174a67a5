/* Algorithms of the C++ library on arrays of known length, which its headers make copies of by the compiler's own names.
 * Correct. */
#include "truth.h"
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

struct made {
    std::array<char, 16> filled;
    std::array<int, 8> counted;
    std::pair<uint64_t, uint64_t> pair;
    std::array<uint64_t, 4> copied;
};
struct entries {
    cell count;
    made entry[ENTRIES];
};

static void make(made &e, uint64_t n) {
    const std::array<uint64_t, 4> words{n, n + 1, n + 2, n + 3};
    e.filled.fill('f');
    std::iota(e.counted.begin(), e.counted.end(), static_cast<int>(n));
    e.pair = {n, ~n};
    std::copy(words.begin(), words.end(), e.copied.begin());
    std::swap(e.copied.front(), e.copied.back());
}

static void work(const char *file) {
    entries *all = static_cast<entries *>(fresh(file, PAGE));
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        make(all->entry[n - 1], n);
        persist(&all->entry[n - 1], sizeof(made));
        all->count.word = n;
        persist(&all->count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const entries *all = static_cast<const entries *>(found(file, sizeof(entries)));
    if (all->count.word < acknowledged) lost("the count is %lu", (unsigned long)all->count.word);
    for (uint64_t n = 1; n <= all->count.word; n++) {
        const made &e = all->entry[n - 1];
        if (e.filled.back() != 'f' || e.counted.back() != static_cast<int>(n) + 7 || e.pair.second != ~n) lost("entry %lu", (unsigned long)n);
        if (e.copied.front() != n + 3 || e.copied.back() != n) lost("words of entry %lu", (unsigned long)n);
    }
}

PROGRAM
