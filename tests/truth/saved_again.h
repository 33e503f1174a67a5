/* A file of two words that is saved by renaming: what the programs share. */
#ifndef SAVED_AGAIN_H
#define SAVED_AGAIN_H
#include "truth.h"
#include <libgen.h>

/* The new contents, in a file of another name; `fd` stays open. */
#define WRITE_NEW(fd, file, n) \
    char new[512]; \
    uint64_t words[2] = {n, ~(uint64_t)(n)}; \
    snprintf(new, sizeof new, "%s.new", file); \
    int fd = open(new, O_WRONLY | O_CREAT | O_TRUNC, 0644); \
    need(fd >= 0, new)

__attribute__((unused)) static void sync_folder(const char *file) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s", file);
    int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY);
    need(!fsync(fd), "fsync");
    close(fd);
}

/* As an earlier run left it: generation 1. */
__attribute__((unused)) static void format(const char *file) {
    WRITE_NEW(fd, file, 1);
    need(write(fd, words, sizeof words) == sizeof words, "write");
    need(!fsync(fd) && !rename(new, file), "rename");
    sync_folder(file);
}

/* Whole, and no older than what was acknowledged; generation 1 is there from the start where `formatted`. */
__attribute__((unused)) static void whole(const char *file, uint64_t acknowledged, int formatted) {
    const uint64_t *words = found(file, 16);
    if (!formatted && !acknowledged && access(file, F_OK)) return;
    if (words[1] != ~words[0]) lost("the file is not whole");
    if (words[0] < acknowledged) lost("the file is older than what was acknowledged");
}
#endif
