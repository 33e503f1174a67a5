/* std::atomic in persistent memory: the entry is stored and flushed, the count published by fetch_add. The locked
 * operation is the fence for the entry. Clean everywhere. */
#include "truth.h"
#include <atomic>

static void work(const char *file) {
    auto *log = static_cast<struct log *>(fresh(file, PAGE));
    auto *count = reinterpret_cast<std::atomic<uint64_t> *>(&log->count.word);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n);
        flush(&log->entry[n - 1], 8);
        count->fetch_add(1);
        persist(count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    check_log(static_cast<const struct log *>(found(file, sizeof(struct log))), acknowledged);
}

PROGRAM
