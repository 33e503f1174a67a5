/* Threads that tell each other through pipes, sockets and counters of events, in turn. Clean everywhere. */
#include "two_threads.h"
#include <sys/eventfd.h>
#include <sys/socket.h>

/* Of each kind, where one reads and where the other one writes. */
static int reads[2][3], writes[2][3];
static int told[2], awaited[2];

static void tell(enum who other) {
    int kind = told[other]++ % 3;
    uint64_t one = 1;
    if (kind == 1) need(send(writes[other][1], &one, 8, 0) == 8, "send");
    else if (kind == 2) need(!eventfd_write(writes[other][2], 1), "eventfd_write");
    else need(write(writes[other][0], &one, 8) == 8, "write");
}

static void await(enum who self) {
    int kind = awaited[self]++ % 3;
    uint64_t got;
    if (kind == 1) need(recv(reads[self][1], &got, 8, 0) == 8, "recv");
    else if (kind == 2) need(!eventfd_read(reads[self][2], &got), "eventfd_read");
    else need(read(reads[self][0], &got, 8) == 8, "read");
}

static void work(const char *file) {
    int ends[2];
    for (int i = 0; i < 2; i++) {
        need(!pipe(ends), "pipe");
        reads[i][0] = ends[0];
        writes[i][0] = ends[1];
        need(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
        reads[i][1] = ends[0];
        writes[i][1] = ends[1];
        reads[i][2] = writes[i][2] = eventfd(0, 0);
    }
    both(file);
}

LOG_PROGRAM
