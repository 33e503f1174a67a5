/* A file of lines, the last of which may be torn. */
#include "truth.h"

static void check(const char *file, uint64_t acknowledged) {
    const char *text = (const char *)found(file, PAGE);
    for (uint64_t n = 1; n <= acknowledged; n++) {
        char line[40];
        int length = snprintf(line, sizeof line, "entry %lu\n", (unsigned long)value(n));
        if (strncmp(text, line, (size_t)length)) lost("line %lu of %lu", (unsigned long)n, (unsigned long)acknowledged);
        text += length;
    }
}
