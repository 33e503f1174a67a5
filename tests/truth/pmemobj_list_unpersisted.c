/* An atomic list of libpmemobj: a node whose constructor does not persist it. Loses on x86; a machine with a persist
 * path needs no flush, and the library's fences order it. */
#include "truth.h"
#include <libpmemobj.h>

POBJ_LAYOUT_BEGIN(truth);
POBJ_LAYOUT_ROOT(truth, struct root);
POBJ_LAYOUT_TOID(truth, struct node);
POBJ_LAYOUT_END(truth);

struct node {
    POBJ_LIST_ENTRY(struct node) next;
    uint64_t number;
    char apart[128]; /* The library flushes the line of the links. */
    uint64_t value;
};

struct root {
    POBJ_LIST_HEAD(nodes, struct node) nodes;
};

static int construct(PMEMobjpool *pool, void *at, void *number) {
    (void)pool;
    struct node *node = at;
    node->number = *(uint64_t *)number;
    node->value = value(node->number); /* LOST */
    return 0;
}

static void work(const char *file) {
    unlink(file);
    PMEMobjpool *pool = pmemobj_create(file, "truth", PMEMOBJ_MIN_POOL, 0644);
    need(pool != NULL, pmemobj_errormsg());
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    for (uint64_t n = 1; n <= 3; n++) {
        POBJ_LIST_INSERT_NEW_HEAD(pool, &D_RW(root)->nodes, next, sizeof(struct node), construct, &n);
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
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    TOID(struct node) node;
    uint64_t nodes = 0;
    POBJ_LIST_FOREACH(node, &D_RO(root)->nodes, next) {
        nodes++;
        if (D_RO(node)->value != value(D_RO(node)->number)) lost("a node in the list is not whole");
    }
    pmemobj_close(pool);
    if (nodes < acknowledged) lost("%lu nodes, %lu acknowledged", (unsigned long)nodes, (unsigned long)acknowledged);
}

PROGRAM
