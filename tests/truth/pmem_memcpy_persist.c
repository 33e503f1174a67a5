/* pmem_memcpy_persist of the entry. Clean everywhere. */
#include "truth.h"
#include <libpmem.h>

static void work(const char *file) {
    size_t bytes;
    struct log *log = pmem_map_file(file, PAGE, PMEM_FILE_CREATE, 0644, &bytes, NULL);
    need(log != NULL, file);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        pmem_memcpy_persist(&log->entry[n - 1], &word, 8);
        log->count.word = n;
        pmem_persist(&log->count, 8);
        coreplane_mark_here(n);
    }
    pmem_unmap(log, bytes);
}

LOG_PROGRAM
