/* A transaction of libpmemobj as it is installed: both words are added to the undo log. Clean everywhere. */
#include "truth.h"
#include <libpmemobj.h>

struct root {
    struct cell up, down;
};

static void work(const char *file) {
    unlink(file);
    PMEMobjpool *pool = pmemobj_create(file, "truth", PMEMOBJ_MIN_POOL, 0644);
    need(pool != NULL, pmemobj_errormsg());
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    for (uint64_t n = 1; n <= 3; n++) {
        TX_BEGIN(pool) {
            pmemobj_tx_add_range_direct(&root->up, 8);
            root->up.word = n;
            pmemobj_tx_add_range_direct(&root->down, 8);
            root->down.word = -n;
        }
        TX_END
        coreplane_mark_here(n);
    }
    pmemobj_close(pool);
}

static void check(const char *file, uint64_t acknowledged) {
    PMEMobjpool *pool = pmemobj_open(file, "truth");
    if (!pool) {
        if (acknowledged) lost("%s", pmemobj_errormsg());
        return;
    }
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    uint64_t up = root->up.word, down = root->down.word;
    pmemobj_close(pool);
    if (up + down) lost("up %ld and down %ld", (long)up, (long)down);
    if (up < acknowledged) lost("an acknowledged transaction is missing");
}

PROGRAM
