/* The file is mapped privately for reading, and changed there too, which no file ever sees; it is written by pwrite and
 * synced. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = created(file, PAGE);
    need(!fsync(fd), "fsync");
    struct log *copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    need(copy != MAP_FAILED, "mmap");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        copy->entry[n - 1].word = value(n);
        copy->count.word = n;
        need(pwrite(fd, &copy->entry[n - 1], 8, (off_t)(n * LINE)) == 8, "pwrite");
        need(!fdatasync(fd), "fdatasync");
        need(pwrite(fd, copy, 8, 0) == 8, "pwrite");
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
