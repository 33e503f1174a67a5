/* Library functions write the entry: memset, snprintf and memcpy; then it is flushed. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        char text[16];
        struct cell *entry = &log->entry[n - 1];
        memset(entry, 0, sizeof *entry);
        snprintf((char *)entry->rest, sizeof entry->rest, "entry %lu", (unsigned long)n);
        snprintf(text, sizeof text, "%lu", (unsigned long)value(n));
        uint64_t word = strtoull(text, NULL, 10);
        memcpy(&entry->word, &word, 8);
        persist(entry, sizeof *entry);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
