/* Names are put into the file by the string functions of the C library, flushed whole and fenced. Clean everywhere. */
#include "truth.h"

struct names {
    struct cell count;
    char name[ENTRIES][2 * LINE];
};

static void work(const char *file) {
    struct names *all = fresh(file, PAGE);
    char from[2 * LINE];
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        char *to = all->name[n - 1];
        snprintf(from, sizeof from, "%0100lu", (unsigned long)value(n));
        switch (n) {
        case 1: strcpy(to, from); break;
        case 2: strncpy(to, from, sizeof all->name[0]); break;
        case 3: stpcpy(to, from); break;
        case 4: snprintf(to, sizeof all->name[0], "%s", from); break;
        case 5: strcat(to, from); break;
        default: memmove(to, from, strlen(from) + 1); break;
        }
        persist(to, sizeof all->name[0]);
        all->count.word = n;
        persist(&all->count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct names *all = found(file, PAGE);
    for (uint64_t n = 1; n <= all->count.word; n++)
        if (n > ENTRIES || strlen(all->name[n - 1]) != 100 || strtoull(all->name[n - 1], NULL, 10) != value(n)) lost("name %lu", (unsigned long)n);
    if (all->count.word < acknowledged) lost("an acknowledged name is missing");
}

PROGRAM
