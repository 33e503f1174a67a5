/* fsync by an instruction of inline assembly. Clean, or refused. */
#include "truth.h"
#include <sys/syscall.h>

static long call(long number, long argument) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(argument) : "rcx", "r11", "memory");
    return result;
}

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8, "pwrite");
        need(!call(SYS_fsync, fd), "fsync");
        need(pwrite(fd, &n, 8, 0) == 8, "pwrite");
        need(!call(SYS_fsync, fd), "fsync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
