/* Lines by dprintf, synced one by one. Correct. */
#include "lines.h"

static void work(const char *file) {
    int fd = created(file, 0);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        dprintf(fd, "entry %lu\n", (unsigned long)value(n));
        need(!fsync(fd), "fsync");
        coreplane_mark_here(n);
    }
}

PROGRAM
