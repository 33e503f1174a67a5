/* A folder is made ready under another name, and published by a rename, when one of its files is not durable. Loses everywhere. */
#include "published.h"

static void write_new(const char *folder, const char *name, uint64_t n, int durable) {
    char path[600];
    uint64_t words[2] = {n, ~n};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    need(fd >= 0, path);
    need(write(fd, words, sizeof words) == sizeof words, "write"); /* LOST */
    need(!durable || !fsync(fd), "fsync");
    close(fd);
}

static void work(const char *file) {
    char new[512], folder[512];
    snprintf(new, sizeof new, "%s.new", file);
    snprintf(folder, sizeof folder, "%s", file);
    need(!mkdir(new, 0755), "mkdir");
    write_new(new, "index", 7, 1);
    write_new(new, "data", 8, 0);
    sync_folder(new);
    need(!rename(new, file), "rename");
    sync_folder(dirname(folder));
    coreplane_mark_here(1);
}

PROGRAM
