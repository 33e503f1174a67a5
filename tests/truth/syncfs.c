/* A log by pwrite, made durable by syncfs of its folder. Clean everywhere. */
#define _GNU_SOURCE
#include "truth.h"
#include <libgen.h>

static void work(const char *file) {
    int fd = created(file, PAGE), system = open(dirname(strdup(file)), O_RDONLY | O_DIRECTORY);
    need(system >= 0 && !fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8 && !syncfs(system), "entry");
        need(pwrite(fd, &n, 8, 0) == 8 && !syncfs(system), "count");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
