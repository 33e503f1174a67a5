/* Group commit: a thread syncs for the other one, and counts what was put after its sync among what is durable. */
#include "truth.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t put, covered, returned, durable;
static int descriptor;

static void *syncer(void *unused) {
    pthread_mutex_lock(&lock);
    while (durable < ENTRIES) {
        while (put == durable) pthread_cond_wait(&changed, &lock);
        covered = put;
        pthread_mutex_unlock(&lock);
        need(!fdatasync(descriptor), "fdatasync");
        pthread_mutex_lock(&lock);
        returned = covered;
        pthread_cond_broadcast(&changed);
        while (put == covered) pthread_cond_wait(&changed, &lock);
        durable = put;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

static void put_next(void) {
    uint64_t n = put + 1, word = value(n);
    need(pwrite(descriptor, &word, 8, (off_t)(n * LINE)) == 8, "pwrite"); /* LOST */
    put = n;
    pthread_cond_broadcast(&changed);
}

static void work(const char *file) {
    pthread_t id;
    descriptor = created(file, PAGE);
    need(!fsync(descriptor), "fsync");
    need(!pthread_create(&id, NULL, syncer, NULL), "pthread_create");
    pthread_mutex_lock(&lock);
    while (put < ENTRIES) {
        put_next();
        while (returned < put) pthread_cond_wait(&changed, &lock);
        put_next();
        while (durable < put) pthread_cond_wait(&changed, &lock);
        coreplane_mark_here(put);
    }
    pthread_mutex_unlock(&lock);
    pthread_join(id, NULL);
}

static void check(const char *file, uint64_t acknowledged) {
    const struct log *log = (const struct log *)found(file, PAGE);
    for (uint64_t n = 1; n <= acknowledged; n++)
        if (log->entry[n - 1].word != value(n)) lost("entry %lu of %lu", (unsigned long)n, (unsigned long)acknowledged);
}

PROGRAM
