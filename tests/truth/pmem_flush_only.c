/* pmem_flush of the entry without pmem_drain before the count. Loses everywhere: no fence, no order. */
#include "truth.h"
#include <libpmem.h>

static void work(const char *file) {
    size_t bytes;
    struct log *log = pmem_map_file(file, PAGE, PMEM_FILE_CREATE, 0644, &bytes, NULL);
    need(log != NULL, file);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        pmem_flush(&log->entry[n - 1], 8);
        log->count.word = n;
        pmem_persist(&log->count, 8);
        coreplane_mark_here(n);
    }
    pmem_unmap(log, bytes);
}

LOG_PROGRAM
