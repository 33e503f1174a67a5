/* A file of an earlier run is replaced. The new contents are durable before the rename, and the rename before the acknowledgement. Clean
 * everywhere. */
#include "saved_again.h"

static void work(const char *file) {
    WRITE_NEW(fd, file, 2);
    need(write(fd, words, sizeof words) == sizeof words, "write");
    need(!fsync(fd), "fsync");
    need(!rename(new, file), "rename");
    sync_folder(file);
    coreplane_mark_here(2);
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 1); }

PROGRAM_WITH(format)
