/* One thread releases the flag before it writes the entry; the other acquires and commits. Loses everywhere,
 * whenever the commit is faster. */
#include "truth.h"
#include <pthread.h>

static struct log *shared;
static uint64_t ready;

static void *writes(void *unused) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n - 2) {}
        __atomic_store_n(&ready, 2 * n - 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n) {}
        shared->entry[n - 1].word = value(n);
        persist(&shared->entry[n - 1], 8);
    }
    return unused;
}

static void *commits(void *unused) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n - 1) {}
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
