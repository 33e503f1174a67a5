/* Entry and count by pwrite, one fdatasync after both: the kernel may write the count back first. Loses everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(pwrite(fd, &word, 8, (off_t)(n * LINE)) == 8, "pwrite"); /* LOST */
        need(pwrite(fd, &n, 8, 0) == 8, "pwrite");
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
