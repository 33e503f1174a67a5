/* One thread stores an entry and releases it before it makes it durable; another acquires it, and makes durable what it
 * derived. The entry can be missing where its copy is there. Loses on x86; with a persist path what was acquired comes
 * first. */
#include "truth.h"
#include <pthread.h>
#include <sched.h>

struct pair {
    struct cell entry[ENTRIES], copy[ENTRIES];
};

static struct pair *shared;
static uint64_t ready;

static void *writes(void *unused) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n - 2) sched_yield();
        shared->entry[n - 1].word = value(n); /* LOST */
        __atomic_store_n(&ready, 2 * n - 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n) sched_yield();
        persist(&shared->entry[n - 1], 8);
        coreplane_mark_here(n);
    }
    return unused;
}

static void *derives(void *unused) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != 2 * n - 1) sched_yield();
        shared->copy[n - 1].word = shared->entry[n - 1].word;
        persist(&shared->copy[n - 1], 8);
        __atomic_store_n(&ready, 2 * n, __ATOMIC_RELEASE);
    }
    return unused;
}

static void work(const char *file) {
    pthread_t ids[2];
    shared = fresh(file, PAGE);
    need(!pthread_create(&ids[0], NULL, writes, NULL) && !pthread_create(&ids[1], NULL, derives, NULL), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

static void check(const char *file, uint64_t acknowledged) {
    const struct pair *pair = found(file, sizeof *pair);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        if (pair->copy[n - 1].word && pair->entry[n - 1].word != value(n)) lost("a copy of an entry that is not there");
        if (n <= acknowledged && pair->copy[n - 1].word != value(n)) lost("an acknowledged entry is missing");
    }
}

PROGRAM
