/* An entry is acknowledged, then its range is made zeros by ioctl, durably, and the entry written again: a power failure
 * between leaves zeros of what was acknowledged. A bug. */
#include "truth.h"
#include <sys/ioctl.h>

/* linux/falloc.h */
struct range {
    int16_t type, whence;
    int64_t start, length;
    int32_t system;
    uint32_t process;
    int32_t unused[4];
};

static void work(const char *file) {
    int fd = created(file, 2 * PAGE);
    uint64_t entry[2] = {1, ~1ull};
    struct range all = {.length = PAGE};
    need(pwrite(fd, entry, sizeof entry, 0) == sizeof entry && !fsync(fd), "an entry");
    coreplane_mark_here(1);
    need(!ioctl(fd, _IOW('X', 57, struct range), &all), "FS_IOC_ZERO_RANGE");
    need(!fsync(fd), "fsync");
    need(pwrite(fd, entry, sizeof entry, 0) == sizeof entry && !fsync(fd), "the entry again");
    coreplane_mark_here(2);
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *entry = found(file, 2 * PAGE);
    if (acknowledged && (entry[0] != 1 || entry[1] != ~1ull)) lost("the entry");
}

PROGRAM
