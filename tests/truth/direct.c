/* Written past the page cache (O_DIRECT), but without a sync: the drive may still hold it. Loses everywhere. */
#include "truth.h"

#define O_DIRECT_ 040000
enum { BLOCK = 512 };

static void work(const char *file) {
    close(created(file, 8 * BLOCK));
    int fd = open(file, O_RDWR | O_DIRECT_);
    if (fd < 0) fd = open(file, O_RDWR);
    uint64_t *block = aligned_alloc(PAGE, BLOCK * 8);
    need(fd >= 0 && block, file);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        memset(block, 0, BLOCK);
        *block = value(n);
        need(pwrite(fd, block, BLOCK, (off_t)(n * BLOCK)) == BLOCK, "pwrite"); /* LOST */
        *block = n;
        need(pwrite(fd, block, BLOCK, 0) == BLOCK, "pwrite");
        coreplane_mark_here(n);
    }
    need(!fsync(fd), "fsync");
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *words = found(file, 8 * BLOCK);
    for (uint64_t n = 1; n <= words[0]; n++)
        if (n > ENTRIES || words[n * BLOCK / 8] != value(n)) lost("entry %lu", (unsigned long)n);
    if (words[0] < acknowledged) lost("an acknowledged entry is missing");
}

PROGRAM
