/* Lines by dprintf, synced only at the end. */
#include "lines.h"

static void work(const char *file) {
    int fd = created(file, 0);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        dprintf(fd, "entry %lu\n", (unsigned long)value(n));
        coreplane_mark_here(n);
    }
    need(!fsync(fd), "fsync");
}

PROGRAM
