/* What writes and what makes durable is found by name, among all libraries and in the C library. Correct. */
#define _GNU_SOURCE
#include "truth.h"
#include <dlfcn.h>

static void work(const char *file) {
    int (*sync_range)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_DEFAULT, "msync");
    ssize_t (*put)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(dlopen("libc.so.6", RTLD_NOW), "pwrite");
    need(!dlsym(RTLD_DEFAULT, "no_such_function") && dlerror(), "dlerror");
    int fd = created(file, PAGE);
    struct log *log = (struct log *)mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(put(fd, &word, 8, (off_t)(n * LINE)) == 8 && !sync_range(log, PAGE, MS_SYNC), "entry");
        log->count.word = n;
        need(!sync_range(log, PAGE, MS_SYNC), "count");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
