/* Two mirrors, each of two words (a level and a mark that must not exceed it) in two lines; all four are flushed and
 * share one fence. Recovery needs one good mirror. Of the sixteen images of a point one has both marks new and both
 * levels old. Loses everywhere. */
#include "truth.h"

struct mirror {
    struct cell level, mark;
};

static void work(const char *file) {
    struct mirror *mirror = fresh(file, PAGE);
    for (uint64_t n = 1; n <= 3; n++) {
        for (int i = 0; i < 2; i++) {
            mirror[i].level.word = n; /* LOST */
            mirror[i].mark.word = n;
        }
        persist(mirror, 2 * sizeof *mirror);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct mirror *mirror = found(file, PAGE);
    int good = 0;
    for (int i = 0; i < 2; i++) good |= mirror[i].mark.word <= mirror[i].level.word && mirror[i].level.word >= acknowledged;
    if (!good) lost("neither mirror is good");
}

PROGRAM
