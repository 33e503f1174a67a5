/* The entry is made durable after the other thread was told through a pipe, and has committed. Loses on x86; elsewhere
 * what goes through the pipe orders the entry before the count. */
#define OWN_ENTRY
#include "two_threads.h"

static int pipes[2][2];

static void tell(enum who other) { need(write(pipes[other][1], "", 1) == 1, "write"); }
static void await(enum who self) {
    char got;
    need(read(pipes[self][0], &got, 1) == 1, "read");
}

static void write_entry(uint64_t n) {
    shared->entry[n - 1].word = value(n); /* LOST */
}

static void work(const char *file) {
    need(!pipe(pipes[0]) && !pipe(pipes[1]), "pipe");
    both(file);
}

LOG_PROGRAM
