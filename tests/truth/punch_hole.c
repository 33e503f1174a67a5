/* A log is emptied by a hole that is punched where its entries were, after its count is durably none; the file system
 * makes the hole durable. Clean, or refused. */
#include "truth.h"
#include <linux/falloc.h>

extern int fallocate(int, int, off_t, off_t);

static void work(const char *file) {
    int fd = created(file, 2 * PAGE);
    need(!fsync(fd), "fsync");
    struct cell *count = mapped(fd, 2 * PAGE), *entry = count + PAGE / LINE;
    for (uint64_t n = 1; n <= 4; n++) {
        for (int i = 0; i < 2; i++) entry[i].word = value(n);
        persist(entry, 2 * sizeof *entry);
        count->word = n;
        persist(count, 8);
        coreplane_mark_here(n);
        count->word = 0;
        persist(count, 8);
        need(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE), "fallocate");
        need(!fsync(fd), "fsync");
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct cell *count = found(file, 2 * PAGE), *entry = count + PAGE / LINE;
    for (int i = 0; i < 2; i++)
        if (count->word && entry[i].word != value(count->word)) lost("entry %d of %lu", i, (unsigned long)count->word);
    if (count->word > 4 || acknowledged > 4) lost("a count out of range");
}

PROGRAM
