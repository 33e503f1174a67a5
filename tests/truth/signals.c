/* A signal handler appends, with an atomic counter of its own, between the program's operations. Clean everywhere. */
#include "truth.h"
#include <signal.h>

static struct log *shared;
static uint64_t operations;

static void handler(int number) {
    (void)number;
    uint64_t n = __atomic_add_fetch(&operations, 1, __ATOMIC_SEQ_CST);
    append(shared, n);
    coreplane_mark_here(n);
}

static void work(const char *file) {
    shared = fresh(file, PAGE);
    signal(SIGUSR1, handler);
    while (__atomic_load_n(&operations, __ATOMIC_SEQ_CST) < ENTRIES) raise(SIGUSR1);
}

LOG_PROGRAM
