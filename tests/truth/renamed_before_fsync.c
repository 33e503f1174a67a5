/* A file of an earlier run is replaced. The new contents become durable only after the rename, which may persist before them. Loses
 * everywhere. */
#include "saved_again.h"

static void work(const char *file) {
    WRITE_NEW(fd, file, 2);
    need(write(fd, words, sizeof words) == sizeof words, "write"); /* LOST */
    need(!rename(new, file), "rename");
    need(!fsync(fd), "fsync");
    sync_folder(file);
    coreplane_mark_here(2);
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 1); }

PROGRAM_WITH(format)
