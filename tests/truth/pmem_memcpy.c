/* The pmem_memcpy family with flags 0, which flushes and drains. Clean everywhere. */
#include "truth.h"
#include <libpmem.h>

static void work(const char *file) {
    size_t bytes;
    struct log *log = pmem_map_file(file, PAGE, PMEM_FILE_CREATE, 0644, &bytes, NULL);
    need(log != NULL, file);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        struct cell *entry = &log->entry[n - 1];
        pmem_memset(entry, 0, sizeof *entry, 0);
        if (n % 2) pmem_memcpy(entry, &word, 8, 0);
        else pmem_memmove(entry, &word, 8, PMEM_F_MEM_TEMPORAL);
        log->count.word = n;
        pmem_persist(&log->count, 8);
        coreplane_mark_here(n);
    }
    pmem_unmap(log, bytes);
}

LOG_PROGRAM
