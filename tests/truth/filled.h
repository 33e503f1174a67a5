/* What an entry holds is put there by functions of the C library: time, chance, text. A program says how an entry is made
 * durable: made_durable. */
#define _GNU_SOURCE
#include "truth.h"
#include <strings.h>
#include <sys/random.h>
#include <time.h>
#include <wchar.h>

struct filled {
    struct timespec at;
    time_t second;
    uint64_t key;
    unsigned seed;
    char year[12], text[32], pair[16], name[16];
    wchar_t wide[8];
};
typedef struct filled contents;

static void made_durable(struct filled *e);

static void fill(struct filled *e, uint64_t n) {
    static const time_t day = 86400;
    struct tm date;
    clock_gettime(CLOCK_REALTIME, &e->at);
    time(&e->second);
    need(getrandom(&e->key, 8, 0) == 8, "getrandom");
    rand_r(&e->seed);
    strftime(e->year, sizeof e->year, "%Y", gmtime_r(&day, &date));
    stpcpy(stpcpy(e->text, "one"), "two");
    strncat(e->text, "three!", 5);
    memccpy(e->pair, "key=value", '=', sizeof e->pair);
    mempcpy(e->pair + 8, "tail", 5);
    bcopy("hello", e->name, 6);
    bzero(e->name + 8, 4);
    wcscpy(e->wide, L"wide");
    wmemset(e->wide + 5, (wchar_t)('a' + n), 3);
}

#include "entries.h"

static void check(const char *file, uint64_t acknowledged) {
    const struct entries *all = (const struct entries *)found(file, sizeof *all);
    if (all->count.word < acknowledged) lost("the count is %lu", (unsigned long)all->count.word);
    for (uint64_t n = 1; n <= all->count.word; n++) {
        const struct filled *e = &all->entry[n - 1];
        if (!e->at.tv_sec || !e->second) lost("no time in entry %lu", (unsigned long)n);
        if (!e->seed || strcmp(e->year, "1970") || strcmp(e->text, "onetwothree")) lost("no text in entry %lu", (unsigned long)n);
        if (memcmp(e->pair, "key=", 4) || strcmp(e->pair + 8, "tail") || strcmp(e->name, "hello")) lost("no name in entry %lu", (unsigned long)n);
        if (wcscmp(e->wide, L"wide") || e->wide[7] != (wchar_t)('a' + n)) lost("nothing wide in entry %lu", (unsigned long)n);
    }
}

PROGRAM
