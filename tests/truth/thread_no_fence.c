/* Two threads append to logs of their own; one of them lacks the fence after its entries. Loses everywhere. */
#include "truth.h"
#include <pthread.h>

static struct log *shared;

static void *right(void *log) {
    for (uint64_t n = 1; n <= ENTRIES; n++) append(log, n);
    return NULL;
}

static void *wrong(void *argument) {
    struct log *log = argument;
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        flush(&log->entry[n - 1], 8);
        log->count.word = n;
        persist(&log->count, 8);
    }
    return NULL;
}

static void work(const char *file) {
    pthread_t ids[2];
    shared = fresh(file, PAGE);
    need(!pthread_create(&ids[0], NULL, right, &shared[0]) && !pthread_create(&ids[1], NULL, wrong, &shared[1]), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

static void check(const char *file, uint64_t acknowledged) {
    const struct log *log = found(file, 2 * sizeof *log);
    check_log(&log[0], acknowledged);
    check_log(&log[1], acknowledged);
}

PROGRAM
