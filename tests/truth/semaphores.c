/* One thread writes and makes durable, then posts a semaphore; another waits for it and commits. Clean everywhere. */
#include "two_threads.h"
#include <semaphore.h>

static sem_t semaphores[2];

static void tell(enum who other) { sem_post(&semaphores[other]); }
static void await(enum who self) { sem_wait(&semaphores[self]); }

static void work(const char *file) {
    for (int i = 0; i < 2; i++) sem_init(&semaphores[i], 0, 0);
    both(file);
}

LOG_PROGRAM
