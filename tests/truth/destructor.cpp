/* Objects with virtual destructors on the heap, deleted with stores of theirs pending, and the entry written by the
 * destructor. Clean everywhere. */
#include "truth.h"

struct writer {
    struct log *log;
    uint64_t n;
    char *buffer;
    writer(struct log *log, uint64_t n) : log(log), n(n), buffer(new char[1 << 20]) {}
    virtual ~writer() {
        append(log, n);
        buffer[n] = 1;
        delete[] buffer;
        n = 0;
    }
};

struct loud : writer {
    using writer::writer;
    ~loud() override { buffer[0] = 1; }
};

static void work(const char *file) {
    auto *log = static_cast<struct log *>(fresh(file, PAGE));
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        writer *w = n % 2 ? new writer(log, n) : new loud(log, n);
        delete w;
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    check_log(static_cast<const struct log *>(found(file, sizeof(struct log))), acknowledged);
}

PROGRAM
