/* What writes and what makes durable is found by name; one sync for an entry and the count that makes it valid. */
#define _GNU_SOURCE
#include "truth.h"
#include <dlfcn.h>

static void work(const char *file) {
    int (*sync_file)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    ssize_t (*put)(int, const void *, size_t, off_t) = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite");
    int fd = created(file, PAGE);
    need(!sync_file(fd), "fdatasync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(put(fd, &word, 8, (off_t)(n * LINE)) == 8, "entry"); /* LOST */
        need(put(fd, &n, 8, 0) == 8 && !sync_file(fd), "count");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
