/* Writes and syncs that no call of the program's shows: by aio, io_uring and io_submit; and a program that is started. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coreplane.h"

static void by_aio(int file) {
    struct aiocb sync = {.aio_fildes = file};
    if (aio_fsync(O_DSYNC, &sync)) exit(1);
    while (aio_error(&sync) == EINPROGRESS) usleep(1);
}

/* A ring is set up, and nothing asked of it: what could be is not known. Not every kernel, or container, gives one. */
static void by_ring(unsigned entries) {
    struct io_uring_params how = {0};
    int ring = (int)syscall(SYS_io_uring_setup, entries, &how);
    puts(ring < 0 ? "refused" : "given");
    if (ring >= 0) close(ring);
}

static void by_submission(int file) {
    aio_context_t context = 0;
    struct iocb sync = {.aio_lio_opcode = IOCB_CMD_FSYNC, .aio_fildes = (unsigned)file}, *all = &sync;
    if (!syscall(SYS_io_setup, 1, &context)) syscall(SYS_io_submit, context, 1, &all);
}

static void by_child(void) {
    if (!vfork()) {
        execlp("sync", "sync", "a.dat", (char *)0);
        _exit(1);
    }
    wait(0);
}

int main(int count, char **argument) {
    const char *how = count > 1 ? argument[1] : "";
    int file = open("a.dat", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (pwrite(file, "first", 5, 0) != 5 || fsync(file)) return 1;
    if (pwrite(file, "after", 5, 0) != 5) return 1;
    if (!strcmp(how, "aio")) by_aio(file);
    if (!strcmp(how, "ring")) by_ring(4);
    if (!strcmp(how, "no ring")) by_ring(0);
    if (!strcmp(how, "submission")) by_submission(file);
    if (!strcmp(how, "system") && system("sync")) return 1;
    if (!strcmp(how, "child")) by_child();
    coreplane_mark(1);
    return 0;
}
