/* Mapped with MAP_SYNC where the file system has it, else without, as libraries do. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *log = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (log == MAP_FAILED) log = mapped(fd, PAGE);
    close(fd);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        append(log, n);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
