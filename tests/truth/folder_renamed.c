/* A folder is made ready under another name, and published by a rename: whole at any time. Clean everywhere. */
#include "truth.h"
#include <libgen.h>

static void write_new(const char *folder, const char *name, uint64_t n, int durable) {
    char path[600];
    uint64_t words[2] = {n, ~n};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    need(fd >= 0, path);
    need(write(fd, words, sizeof words) == sizeof words, "write");
    need(!durable || !fsync(fd), "fsync");
    close(fd);
}

static void sync_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    need(fd >= 0 && !fsync(fd) && !close(fd), "folder");
}

static void work(const char *file) {
    char new[512], folder[512];
    snprintf(new, sizeof new, "%s.new", file);
    snprintf(folder, sizeof folder, "%s", file);
    need(!mkdir(new, 0755), "mkdir");
    write_new(new, "index", 7, 1);
    write_new(new, "data", 8, 1);
    sync_folder(new);
    need(!rename(new, file), "rename");
    sync_folder(dirname(folder));
    coreplane_mark_here(1);
}

/* All of the folder is there, or nothing. */
static void check(const char *file, uint64_t acknowledged) {
    char index[600], data[600];
    snprintf(index, sizeof index, "%s/index", file);
    snprintf(data, sizeof data, "%s/data", file);
    int there = !access(index, F_OK);
    if (there != !access(data, F_OK)) lost("only one of two files is there");
    if (!there && acknowledged) lost("what was acknowledged is not there");
    const uint64_t *first = found(index, 16), *second = found(data, 16);
    if (there && (first[1] != ~first[0] || second[1] != ~second[0])) lost("a file is not whole");
}

PROGRAM
