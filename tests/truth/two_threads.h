/* Two threads in turns: one writes an entry and makes it durable, the other one commits it. A program says how one tells the
 * other: `tell` and `await`; and with OWN_ENTRY, how an entry is written. */
#ifndef TWO_THREADS_H
#define TWO_THREADS_H

#include "truth.h"
#include <pthread.h>

enum who { WRITER, COMMITTER };
static struct log *shared;

static void tell(enum who other);
static void await(enum who self);

#ifdef OWN_ENTRY
static void write_entry(uint64_t n);
#else
static void write_entry(uint64_t n) {
    shared->entry[n - 1].word = value(n);
    persist(&shared->entry[n - 1], 8);
}
#endif

static void writer(void) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        write_entry(n);
        tell(COMMITTER);
        await(WRITER);
        persist(&shared->entry[n - 1], 8);
    }
}

static void committer(void) {
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        await(COMMITTER);
        shared->count.word = n;
        persist(&shared->count, 8);
        coreplane_mark_here(n);
        tell(WRITER);
    }
}

__attribute__((unused)) static void *run(void *body) {
    ((void (*)(void))body)();
    return NULL;
}

__attribute__((unused)) static void both(const char *file) {
    pthread_t ids[2];
    shared = (struct log *)fresh(file, PAGE);
    need(!pthread_create(&ids[0], NULL, run, (void *)writer) && !pthread_create(&ids[1], NULL, run, (void *)committer), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

#endif
