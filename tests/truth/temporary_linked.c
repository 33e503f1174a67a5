/* A file without a name is written, synced, given its name, and the folder synced. Clean. */
#include "truth.h"
#include <libgen.h>

#define O_TMPFILE_ (020000000 | O_DIRECTORY)

static void work(const char *file) {
    char folder[512], self[64];
    uint64_t words[2] = {1, ~1ull};
    snprintf(folder, sizeof folder, "%s", file);
    const char *in = dirname(folder);
    int fd = open(in, O_TMPFILE_ | O_RDWR, 0644), at = open(in, O_RDONLY | O_DIRECTORY);
    need(fd >= 0 && at >= 0, in);
    need(write(fd, words, sizeof words) == sizeof words, "write");
    need(!fsync(fd), "fsync");
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    need(!linkat(AT_FDCWD, self, AT_FDCWD, file, AT_SYMLINK_FOLLOW), "linkat");
    need(!fsync(at), "fsync");
    coreplane_mark_here(1);
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *words = found(file, 16);
    if (!acknowledged && access(file, F_OK)) return;
    if (words[0] != 1 || words[1] != ~1ull) lost("the file is not whole");
}

PROGRAM
