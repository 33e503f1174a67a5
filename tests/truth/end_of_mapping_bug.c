/* The last bytes of a mapping whose length is no whole page, in two lines. The flush stops before the last line.
 * Loses on x86; a machine with a persist path needs no flush. */
#include "truth.h"

enum { BYTES = PAGE + 72 };

static void work(const char *file) {
    int fd = created(file, BYTES);
    need(!fsync(fd), "fsync");
    struct cell *count = mapped(fd, BYTES);
    uint64_t *last = (uint64_t *)((char *)count + PAGE + 56);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        last[0] = last[1] = value(n); /* LOST */
        persist(last, 8);
        count->word = n;
        persist(count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const char *all = found(file, BYTES);
    uint64_t count = ((const struct cell *)all)->word;
    const uint64_t *last = (const uint64_t *)(all + PAGE + 56);
    for (int i = 0; i < 2 && count; i++)
        if (last[i] < value(count)) lost("the end is older than the count");
    if (count < acknowledged) lost("an acknowledged operation is missing");
}

PROGRAM
