/* A list in a pool of libpmemobj. `./pmemobj FILE` appends three entries in transactions. */
#include <libpmemobj.h>
#include <stdio.h>
#include <string.h>

struct entry {
    PMEMoid next;
    uint64_t value, square;
};
struct root {
    PMEMoid first;
    uint64_t count;
};

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    PMEMobjpool *pool = pmemobj_create(argv[1], "list", PMEMOBJ_MIN_POOL, 0644);
    if (!pool) pool = pmemobj_open(argv[1], "list");
    if (!pool) return fprintf(stderr, "%s\n", pmemobj_errormsg()), 1;
    PMEMoid oid = pmemobj_root(pool, sizeof(struct root));
    struct root *root = pmemobj_direct(oid);
    for (uint64_t n = 1; n <= 3; n++) {
        TX_BEGIN(pool) {
            pmemobj_tx_add_range(oid, 0, sizeof *root);
            PMEMoid new = pmemobj_tx_alloc(sizeof(struct entry), 1);
            struct entry *e = pmemobj_direct(new);
            e->value = n;
            e->square = n * n;
            e->next = root->first;
            root->first = new;
            root->count++;
        } TX_END
    }
    printf("%lu\n", root->count);
    pmemobj_close(pool);
    return 0;
}
