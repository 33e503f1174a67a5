/* Number and entry are sixteen bytes that one exchange publishes. No more than eight of them persist as a whole: the number
 * may be there without its entry. Loses on x86; whether a
 * machine with a persist path writes the line between the two is not said anywhere. */
#include "truth.h"

static void work(const char *file) {
    unsigned __int128 *both = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        unsigned __int128 old = *both, new = (unsigned __int128)value(n) << 64 | n;
        while (!__atomic_compare_exchange_n(both, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {} /* LOST */
        persist(both, 16);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *words = found(file, 16);
    if (words[0] && words[1] != value(words[0])) lost("entry %lu is not there", (unsigned long)words[0]);
    if (words[0] < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
