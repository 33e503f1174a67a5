/* Two mirrors, one made durable before the other begins: one is good at every instant. Clean everywhere. */
#include "truth.h"

struct mirror {
    struct cell level, mark;
};

static void work(const char *file) {
    struct mirror *mirror = fresh(file, PAGE);
    for (uint64_t n = 1; n <= 3; n++) {
        for (int i = 0; i < 2; i++) {
            mirror[i].level.word = n;
            mirror[i].mark.word = n;
            persist(&mirror[i], sizeof *mirror);
        }
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
