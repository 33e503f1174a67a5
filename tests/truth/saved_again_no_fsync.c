/* A file that is saved by renaming, four times. The second time nothing makes the new contents durable before the rename; the others are
 * right, and the last one is what the name stands for in the end. Loses everywhere. */
#include "saved_again.h"

static void work(const char *file) {
    for (uint64_t n = 1; n <= 4; n++) {
        WRITE_NEW(fd, file, n);
        need(write(fd, words, sizeof words) == sizeof words, "write"); /* LOST */
        if (n != 2) need(!fsync(fd), "fsync");
        close(fd);
        need(!rename(new, file), "rename");
        sync_folder(file);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 0); }

PROGRAM
