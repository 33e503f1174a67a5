/* libpmem is loaded while the program runs, and its functions are found by name. Correct. */
#include "truth.h"
#include <dlfcn.h>

static void work(const char *file) {
    void *library = dlopen("libpmem.so.1", RTLD_NOW);
    need(library != NULL, "libpmem");
    void (*persist_it)(const void *, size_t) = (void (*)(const void *, size_t))dlsym(library, "pmem_persist");
    void *(*copy)(void *, const void *, size_t) = (void *(*)(void *, const void *, size_t))dlsym(library, "pmem_memcpy_persist");
    struct log *log = (struct log *)fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        copy(&log->entry[n - 1].word, &word, 8);
        log->count.word = n;
        persist_it(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
