/* A thread appends, then waits for ever and is cancelled; the main thread goes on. Clean everywhere. */
#include "truth.h"
#include <pthread.h>

static void *appends(void *log) {
    append(log, 1);
    append(log, 2);
    coreplane_mark_here(2);
    for (;;) pause();
    return NULL;
}

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    pthread_t id;
    need(!pthread_create(&id, NULL, appends, log), "pthread_create");
    while (__atomic_load_n(&log->count.word, __ATOMIC_ACQUIRE) != 2) usleep(1000);
    pthread_cancel(id);
    pthread_join(id, NULL);
    append(log, 3);
    coreplane_mark_here(3);
}

LOG_PROGRAM
