/* Two threads append under one mutex; each makes its entry durable before it lets go. Clean everywhere. */
#include "truth.h"
#include <pthread.h>

static struct log *shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *appends(void *unused) {
    for (int i = 0; i < ENTRIES / 2; i++) {
        pthread_mutex_lock(&mutex);
        uint64_t n = shared->count.word + 1;
        append(shared, n);
        coreplane_mark_here(n);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void work(const char *file) {
    pthread_t ids[2];
    shared = fresh(file, PAGE);
    for (int i = 0; i < 2; i++) need(!pthread_create(&ids[i], NULL, appends, NULL), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

LOG_PROGRAM
