/* The file is mapped privately: neither flushes nor msync bring anything into it. Every acknowledged entry is missing
 * even without a power failure, which is said. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *log = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    need(log != MAP_FAILED, "mmap");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        append(log, n);
        need(!msync(log, PAGE, MS_SYNC), "msync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
