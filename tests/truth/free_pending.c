/* A store to a large block right before it is freed, or moved by realloc: the block's memory may be gone when the
 * recorder reads it. Clean everywhere. */
#include "truth.h"

enum { LARGE = 1 << 20 };

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        char *block = malloc(LARGE);
        need(block != NULL, "malloc");
        append(log, n);
        block[LARGE - 1] = (char)n;
        if (n % 2) block = realloc(block, 64 * LARGE);
        need(block != NULL && block[LARGE - 1] == (char)n, "realloc");
        block[LARGE / 2] = (char)n;
        free(block);
        coreplane_mark_here(n);
    }
}

LOG_PROGRAM
