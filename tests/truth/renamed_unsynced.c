/* A file of an earlier run is replaced, and nothing is synced at all: the old contents were durable, and may be gone. Loses everywhere. */
#include "saved_again.h"

static void work(const char *file) {
    WRITE_NEW(fd, file, 2);
    need(write(fd, words, sizeof words) == sizeof words, "write"); /* LOST */
    close(fd);
    need(!rename(new, file), "rename");
}

static void check(const char *file, uint64_t acknowledged) { whole(file, acknowledged, 1); }

PROGRAM_WITH(format)
