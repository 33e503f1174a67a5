/* Saved again by renaming, and a folder of another file system is synced, which makes no name durable here. Loses everywhere. */
#include "saved_again.h"

static void work(const char *file) {
    uint64_t words[2] = {2, ~2ull};
    int fd = open("next", O_WRONLY | O_CREAT | O_TRUNC, 0644), folder = open("/dev/shm", O_RDONLY | O_DIRECTORY);
    need(fd >= 0 && folder >= 0, "open");
    need(write(fd, words, sizeof words) == sizeof words && !fsync(fd), "write");
    need(!rename("next", file), "rename"); /* LOST */
    need(!fsync(folder), "fsync");
    coreplane_mark_here(2);
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 1); }

PROGRAM_WITH(format)
