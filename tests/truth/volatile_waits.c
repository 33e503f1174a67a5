/* As volatile.c, but whoever waits stands still between the recorder's look at the variable and its own, and handles a signal
 * there. Clean everywhere. */
#include "two_threads.h"
#include <signal.h>

static volatile int turn = WRITER;
static int handled;

static void handle(int number) { handled += number; }

extern void __tsan_volatile_read4(void *) __attribute__((weak));
extern void __tsan_volatile_write4(void *) __attribute__((weak));

__attribute__((no_sanitize("thread"), noinline)) static void tell(enum who other) {
    if (__tsan_volatile_write4) __tsan_volatile_write4((void *)&turn);
    usleep(1000);
    turn = other;
}
__attribute__((no_sanitize("thread"), noinline)) static void await(enum who self) {
    int seen;
    do {
        if (__tsan_volatile_read4) __tsan_volatile_read4((void *)&turn);
        raise(SIGUSR1);
        /* Not in step. */
        usleep(self == COMMITTER ? 5000 : 3000);
        seen = turn;
    } while (seen != (int)self);
}

static void work(const char *file) {
    need(signal(SIGUSR1, handle) != SIG_ERR, "signal");
    both(file);
}

LOG_PROGRAM
