/* Threads, a mutex and conditions of C11. Clean everywhere. */
#include "two_threads.h"
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static int turn = WRITER;

static void tell(enum who other) {
    mtx_lock(&lock);
    turn = other;
    cnd_broadcast(&changed);
    mtx_unlock(&lock);
}

static void await(enum who self) {
    mtx_lock(&lock);
    while (turn != (int)self) cnd_wait(&changed, &lock);
    mtx_unlock(&lock);
}

static int start(void *body) {
    run(body);
    return 0;
}

static void work(const char *file) {
    thrd_t ids[2];
    shared = fresh(file, PAGE);
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    need(thrd_create(&ids[0], start, (void *)writer) == thrd_success && thrd_create(&ids[1], start, (void *)committer) == thrd_success, "thrd_create");
    for (int i = 0; i < 2; i++) thrd_join(ids[i], NULL);
}

LOG_PROGRAM
