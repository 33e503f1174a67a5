/* Releases in files of their own, and a symbolic link to the last one, replaced by rename. Nothing makes a release durable before the
 * link leads to it. Loses everywhere. */
#include "saved_again.h"

static void write_new(const char *name, uint64_t n) {
    uint64_t words[2] = {n, ~n};
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    need(fd >= 0, name);
    need(write(fd, words, sizeof words) == sizeof words, "write"); /* LOST */
    close(fd);
}

static void work(const char *file) {
    char release[512], base[512], new[512], folder[512];
    snprintf(new, sizeof new, "%s.new", file);
    snprintf(folder, sizeof folder, "%s", file);
    int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY);
    for (uint64_t n = 1; n <= 4; n++) {
        snprintf(release, sizeof release, "%s.%d", file, (int)n);
        snprintf(base, sizeof base, "%s", release);
        write_new(release, n);
        need(!symlink(basename(base), new), "symlink");
        need(!rename(new, file), "rename");
        need(!fsync(fd), "fsync");
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 0); }

PROGRAM
