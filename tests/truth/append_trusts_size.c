/* Records appended by write and fsync; recovery takes as many records as the file has room for: the size may be
 * durable before the bytes. Loses everywhere. */
#include "truth.h"

struct record {
    uint64_t value, checksum;
};

static uint64_t checksum(uint64_t value) { return value * 0x9E3779B97F4A7C15u | 1; }

static void work(const char *file) {
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    need(fd >= 0, file);
    need(!fsync(fd), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        struct record r = {value(n), checksum(value(n))};
        need(write(fd, &r, sizeof r) == sizeof r, "write"); /* LOST */
        need(!fsync(fd), "fsync");
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct record *r = found(file, 2 * ENTRIES * sizeof *r);
    uint64_t count = 0;
    struct stat status;
    if (!stat(file, &status)) count = (uint64_t)status.st_size / sizeof *r;
    for (uint64_t n = 0; n < count && n < 2 * ENTRIES; n++)
        if (r[n].value != value(n + 1) || r[n].checksum != checksum(r[n].value)) lost("record %lu is wrong", (unsigned long)n);
    if (count < acknowledged) lost("%lu records, %lu acknowledged", (unsigned long)count, (unsigned long)acknowledged);
}

PROGRAM
