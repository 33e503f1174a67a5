/* A program that this one starts writes into its file: it is not followed. Refused. */
#include "truth.h"

static void work(const char *file) {
    char command[600];
    struct log *log = fresh(file, PAGE);
    append(log, 1);
    snprintf(command, sizeof command, "printf x | dd of=%s bs=1 seek=3000 conv=notrunc 2>/dev/null", file);
    need(!system(command), "system");
    for (uint64_t n = 2; n <= ENTRIES; n++) append(log, n);
}

LOG_PROGRAM
