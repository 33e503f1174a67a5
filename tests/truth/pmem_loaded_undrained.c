/* libpmem is loaded while the program runs; one drain for an entry and the count that makes it valid. */
#include "truth.h"
#include <dlfcn.h>

static void work(const char *file) {
    void *library = dlopen("libpmem.so.1", RTLD_NOW);
    need(library != NULL, "libpmem");
    void (*flush_it)(const void *, size_t) = (void (*)(const void *, size_t))dlsym(library, "pmem_flush");
    void (*drain)(void) = (void (*)(void))dlsym(library, "pmem_drain");
    struct log *log = (struct log *)fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        flush_it(&log->entry[n - 1], 8);
        log->count.word = n;
        flush_it(&log->count, 8);
        drain();
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
