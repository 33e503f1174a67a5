/* A thread writes an entry and ends; whoever joins it flushes the entry and commits. Clean everywhere: join comes
 * after all that the thread did. */
#include "truth.h"
#include <pthread.h>

static void *writes(void *entry) {
    struct cell *cell = entry;
    cell->word = value(cell->rest[0]);
    return NULL;
}

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= 4; n++) {
        pthread_t id;
        log->entry[n - 1].rest[0] = n;
        need(!pthread_create(&id, NULL, writes, &log->entry[n - 1]), "pthread_create");
        pthread_join(id, NULL);
        persist(&log->entry[n - 1], sizeof log->entry[0]);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
