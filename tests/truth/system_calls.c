/* pwrite, fsync and msync by syscall(2). Clean everywhere. */
#include "truth.h"
#include <sys/syscall.h>

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!syscall(SYS_fsync, fd), "fsync");
    struct log *log = mapped(fd, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(syscall(SYS_pwrite64, fd, &word, 8L, (long)(n * LINE)) == 8, "pwrite");
        need(!syscall(SYS_fdatasync, fd), "fdatasync");
        log->count.word = n;
        need(!syscall(SYS_msync, log, (long)PAGE, (long)MS_SYNC), "msync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
