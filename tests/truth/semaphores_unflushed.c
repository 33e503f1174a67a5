/* The entry is made durable after the other thread was told, and has committed. Loses on x86; elsewhere the semaphore
 * releases what was stored before, which then persists first. */
#define OWN_ENTRY
#include "two_threads.h"
#include <semaphore.h>

static sem_t semaphores[2];

static void tell(enum who other) { sem_post(&semaphores[other]); }
static void await(enum who self) { sem_wait(&semaphores[self]); }

static void write_entry(uint64_t n) {
    shared->entry[n - 1].word = value(n); /* LOST */
}

static void work(const char *file) {
    for (int i = 0; i < 2; i++) sem_init(&semaphores[i], 0, 0);
    both(file);
}

LOG_PROGRAM
