/* A journal opened with O_APPEND, synced after each record; recovery takes whole records. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    need(fd >= 0 && !fsync(fd), file);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t record[2] = {value(n), ~value(n)};
        need(write(fd, record, sizeof record) == sizeof record, "write");
        need(!fdatasync(fd), "fdatasync");
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *words = found(file, PAGE);
    uint64_t whole = 0;
    while (whole < ENTRIES && words[2 * whole] == value(whole + 1) && words[2 * whole + 1] == ~words[2 * whole]) whole++;
    if (whole < acknowledged) lost("an acknowledged record is missing");
}

PROGRAM
