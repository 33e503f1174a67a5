/* Threads that wait for a volatile variable, as old programs do. What is told is durable already. Clean everywhere. */
#include "two_threads.h"
#include <sched.h>

static volatile int turn = WRITER;

static void tell(enum who other) { turn = other; }
static void await(enum who self) {
    while (turn != (int)self) sched_yield();
}

static void work(const char *file) { both(file); }

LOG_PROGRAM
