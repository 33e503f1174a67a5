/* A folder of two files that is published by a rename: what the programs share. */
#ifndef PUBLISHED_H
#define PUBLISHED_H
#include "truth.h"
#include <libgen.h>

static void sync_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    need(fd >= 0 && !fsync(fd) && !close(fd), "folder");
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
#endif
