/* libpmem2: memcpy without drain, and no drain before the count. Loses everywhere. */
#include "truth.h"
#include <libpmem2.h>

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct pmem2_config *config;
    struct pmem2_source *source;
    struct pmem2_map *map;
    need(!pmem2_config_new(&config) && !pmem2_source_from_fd(&source, fd), "pmem2");
    need(!pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_PAGE), "granularity");
    need(!pmem2_map_new(&map, config, source), "pmem2_map_new");
    struct log *log = pmem2_map_get_address(map);
    pmem2_persist_fn all = pmem2_get_persist_fn(map);
    pmem2_memcpy_fn copy = pmem2_get_memcpy_fn(map);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        copy(&log->entry[n - 1], &word, 8, PMEM2_F_MEM_NODRAIN); /* LOST */
        log->count.word = n;
        all(&log->count, 8);
        coreplane_mark_here(n);
    }
    pmem2_map_delete(&map);
}

LOG_PROGRAM
