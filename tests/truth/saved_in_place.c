/* A file of an earlier run is emptied and written anew: until its sync neither the old nor the new contents need be there. Loses
 * everywhere, where the power may fail from the start. */
#include "saved_again.h"

static void work(const char *file) {
    uint64_t words[2] = {2, ~2ull};
    int fd = open(file, O_WRONLY | O_TRUNC);
    need(fd >= 0, file);
    need(write(fd, words, sizeof words) == sizeof words, "write"); /* LOST */
    need(!fsync(fd), "fsync");
    close(fd);
    coreplane_mark_here(2);
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 1); }

PROGRAM_WITH(format)
