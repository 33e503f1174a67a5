/* One thread writes and makes durable, then releases; another acquires and commits. Clean everywhere. */
#include "truth.h"
#include <pthread.h>
#include <sched.h>

static struct log *shared;
static uint64_t ready;

static void *writes(void *unused) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n - 2) sched_yield();
        shared->entry[n - 1].word = value(n);
        persist(&shared->entry[n - 1], 8);
        __atomic_store_n(&ready, 2 * n - 1, __ATOMIC_RELEASE);
    }
    return unused;
}

static void *commits(void *unused) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n - 1) sched_yield();
        shared->count.word = n;
        persist(&shared->count, 8);
        coreplane_mark_here(n);
        __atomic_store_n(&ready, 2 * n, __ATOMIC_RELEASE);
    }
    return unused;
}

static void work(const char *file) {
    pthread_t ids[2];
    shared = fresh(file, PAGE);
    need(!pthread_create(&ids[0], NULL, writes, NULL) && !pthread_create(&ids[1], NULL, commits, NULL), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

LOG_PROGRAM
