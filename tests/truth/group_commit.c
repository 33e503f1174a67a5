/* Group commit: two writers wait for a third thread, which syncs for them, and says how much had been put before it began.
 * Correct. */
#include "truth.h"
#include <pthread.h>

enum { EACH = 3 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, synced = PTHREAD_COND_INITIALIZER;
static uint64_t put, durable;
static int descriptor;

static void *syncer(void *unused) {
    pthread_mutex_lock(&lock);
    while (durable < 2 * EACH) {
        while (put == durable) pthread_cond_wait(&more, &lock);
        uint64_t there = put;
        pthread_mutex_unlock(&lock);
        need(!fdatasync(descriptor), "fdatasync");
        pthread_mutex_lock(&lock);
        durable = there;
        pthread_cond_broadcast(&synced);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *writer(void *unused) {
    for (int k = 0; k < EACH; k++) {
        pthread_mutex_lock(&lock);
        uint64_t n = ++put, word = value(n);
        need(pwrite(descriptor, &word, 8, (off_t)(n * LINE)) == 8, "pwrite");
        pthread_cond_signal(&more);
        while (durable < n) pthread_cond_wait(&synced, &lock);
        coreplane_mark_here(n);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void work(const char *file) {
    pthread_t ids[3];
    descriptor = created(file, PAGE);
    need(!fsync(descriptor), "fsync");
    for (int i = 0; i < 3; i++) need(!pthread_create(&ids[i], NULL, i ? writer : syncer, NULL), "pthread_create");
    for (int i = 0; i < 3; i++) pthread_join(ids[i], NULL);
}

static void check(const char *file, uint64_t acknowledged) {
    const struct log *log = (const struct log *)found(file, PAGE);
    for (uint64_t n = 1; n <= acknowledged; n++)
        if (log->entry[n - 1].word != value(n)) lost("entry %lu of %lu", (unsigned long)n, (unsigned long)acknowledged);
}

PROGRAM
