/* Both threads wait at a barrier after the entry is durable, and again after it is committed. Clean everywhere. */
#include "two_threads.h"

static pthread_barrier_t barriers[2];

static void tell(enum who other) { pthread_barrier_wait(&barriers[other]); }
static void await(enum who self) { pthread_barrier_wait(&barriers[self]); }

static void work(const char *file) {
    for (int i = 0; i < 2; i++) pthread_barrier_init(&barriers[i], NULL, 2);
    both(file);
}

LOG_PROGRAM
