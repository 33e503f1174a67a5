/* A lock file is mapped below the data file and stored to, and never flushed: it need not survive. The data file is
 * what is tested. Clean everywhere. */
#include "truth.h"

static struct cell *lock_file(const char *file) {
    char name[512];
    snprintf(name, sizeof name, "%s.lock", file);
    int fd = created(name, PAGE);
    void *low = (void *)0x100000000;
    void *p = mmap(low, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    need(p != MAP_FAILED, "mmap");
    return p;
}

static void work(const char *file) {
    struct cell *lock = lock_file(file);
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        lock->word = n;
        log->entry[n - 1].word = value(n);
        persist(&log->entry[n - 1], 8);
        log->count.word = n;
        persist(&log->count, 8);
        lock->word = 0;
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
