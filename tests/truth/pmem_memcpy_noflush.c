/* pmem_memcpy with PMEM_F_MEM_NOFLUSH, then a drain: nothing flushes the entry. Loses on x86; a machine with a
 * persist path needs no flush. */
#include "truth.h"
#include <libpmem.h>

static void work(const char *file) {
    size_t bytes;
    struct log *log = pmem_map_file(file, PAGE, PMEM_FILE_CREATE, 0644, &bytes, NULL);
    need(log != NULL, file);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        pmem_memcpy(&log->entry[n - 1], &word, 8, PMEM_F_MEM_NOFLUSH); /* LOST */
        pmem_drain();
        log->count.word = n;
        pmem_persist(&log->count, 8);
        coreplane_mark_here(n);
    }
    pmem_unmap(log, bytes);
}

LOG_PROGRAM
