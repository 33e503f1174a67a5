/* Every descriptor that the program could have is closed half-way, as daemons do. Clean everywhere. */
#include "truth.h"

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        if (n == 3)
            for (int fd = 3; fd < 1024; fd++) close(fd);
        append(log, n);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
