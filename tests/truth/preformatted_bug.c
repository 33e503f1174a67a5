/* An earlier run formatted the file and left two entries; this one opens it and appends. Its entries are flushed and
 * not fenced. Loses everywhere. */
#include "truth.h"

enum { MAGIC = 0x74727574 };

struct formatted {
    struct cell magic;
    struct log log;
};

static void format(const char *file) {
    struct formatted *all = fresh(file, PAGE);
    all->magic.word = MAGIC;
    append(&all->log, 1);
    append(&all->log, 2);
}

static void work(const char *file) {
    int fd = open(file, O_RDWR);
    need(fd >= 0, file);
    struct formatted *all = mapped(fd, PAGE);
    if (all->magic.word != MAGIC) lost("not formatted");
    struct log *log = &all->log;
    for (uint64_t n = log->count.word + 1; n <= ENTRIES; n++) {
        log->entry[n - 1].word = value(n); /* LOST */
        flush(&log->entry[n - 1], 8);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct formatted *all = found(file, sizeof *all);
    if (all->magic.word != MAGIC) lost("the magic number is %lx", (unsigned long)all->magic.word);
    check_log(&all->log, acknowledged < 2 ? 2 : acknowledged);
}

PROGRAM_WITH(format)
