/* A file replaced by rename. The new contents are durable before the rename, the rename before the acknowledgement.
 * Clean everywhere. */
#include "saved_again.h"

static void write_new(const char *name, uint64_t n) {
    uint64_t words[2] = {n, ~n};
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    need(fd >= 0, name);
    need(write(fd, words, sizeof words) == sizeof words, "write");
    need(!fsync(fd), "fsync");
    close(fd);
}

static void work(const char *file) {
    char new[512], folder[512];
    snprintf(new, sizeof new, "%s.new", file);
    snprintf(folder, sizeof folder, "%s", file);
    int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY);
    for (uint64_t n = 1; n <= 4; n++) {
        write_new(new, n);
        need(!rename(new, file), "rename");
        need(!fsync(fd), "fsync");
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 0); }

PROGRAM
