/* The program has an fsync of its own, which finds the library's by name and counts. Correct. */
#define _GNU_SOURCE
#include "truth.h"
#include <dlfcn.h>

static int calls;

int fsync(int fd) {
    int (*library)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    calls++;
    return library(fd);
}

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8 && !fsync(fd), "entry");
        need(pwrite(fd, &n, 8, 0) == 8 && !fsync(fd), "count");
        coreplane_mark_here(n);
    }
    need(calls == 1 + 2 * ENTRIES, "calls");
}

LOG_PROGRAM
