/* fwrite, fflush and fsync after each record. The C library's own write is in a library without hooks: clean, or
 * refused because it was not seen. */
#include "truth.h"

static void work(const char *file) {
    FILE *stream = fopen(file, "w");
    need(stream != NULL, file);
    need(!fsync(fileno(stream)), "fsync");
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        uint64_t word = value(n);
        need(fwrite(&word, 8, 1, stream) == 1, "fwrite");
        need(!fflush(stream) && !fsync(fileno(stream)), "fsync");
        coreplane_mark_here(n);
    }
    fclose(stream);
}

static void check(const char *file, uint64_t acknowledged) {
    const uint64_t *words = found(file, 8 * ENTRIES);
    for (uint64_t n = 1; n <= acknowledged; n++)
        if (words[n - 1] != value(n)) lost("record %lu is missing", (unsigned long)n);
}

PROGRAM
