/* Copies by the compiler's own names, and loops of known length that it makes copies of. Correct. */
#include "truth.h"

struct copied {
    char set[16], copied[24], moved[40], looped[16];
    uint64_t pair[2], words[4];
};
typedef struct copied contents;
static const char text[40] = "012345678901234567890123456789012345678";

__attribute__((optimize("O3"))) static void fill(struct copied *e, uint64_t n) {
    uint64_t pair[2] = {n, ~n}, words[4] = {n, n + 1, n + 2, n + 3};
    __builtin_memset(e->set, 's', sizeof e->set);
    __builtin_memcpy(e->copied, text, sizeof e->copied);
    __builtin_memmove(e->moved, text, sizeof e->moved);
    __builtin_memcpy(e->pair, pair, sizeof e->pair);
    for (int i = 0; i < 16; i++) e->looped[i] = 'l';
    for (int i = 0; i < 4; i++) e->words[i] = words[i];
}

static void made_durable(struct copied *e) { persist(e, sizeof *e); }

#include "entries.h"

static void check(const char *file, uint64_t acknowledged) {
    const struct entries *all = (const struct entries *)found(file, sizeof *all);
    if (all->count.word < acknowledged) lost("the count is %lu", (unsigned long)all->count.word);
    for (uint64_t n = 1; n <= all->count.word; n++) {
        const struct copied *e = &all->entry[n - 1];
        if (e->set[15] != 's' || memcmp(e->copied, text, 24) || memcmp(e->moved, text, 40)) lost("copies of entry %lu", (unsigned long)n);
        if (e->pair[1] != ~n || e->looped[15] != 'l' || e->words[3] != n + 3) lost("loops of entry %lu", (unsigned long)n);
    }
}

PROGRAM
