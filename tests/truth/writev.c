/* writev of an entry in two pieces after lseek; fsync; then the count. Clean everywhere. */
#include "truth.h"
#include <sys/uio.h>

static void work(const char *file) {
    int fd = created(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        struct iovec pieces[2] = {{&word, 3}, {(char *)&word + 3, 5}};
        need(lseek(fd, (off_t)(n * LINE), SEEK_SET) >= 0, "lseek");
        need(writev(fd, pieces, 2) == 8, "writev");
        need(!fsync(fd), "fsync");
        need(pwrite(fd, &n, 8, 0) == 8, "pwrite");
        need(!fsync(fd), "fsync");
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
