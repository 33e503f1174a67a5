/* The trees and tables of libpmemobj's examples: keys put in, three taken out again.
 *
 *   ./tables FILE
 *   ./tables --check FILE [ACKNOWLEDGED]
 *
 * Compiled with -DBTREE for btree_map, without for hashmap_tx. */
#include <coreplane.h>
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef BTREE
#include "btree_map.h"
#define CALL(name) btree_map_##name
typedef TOID(struct btree_map) table;
#else
#include "hashmap_tx.h"
#define CALL(name) hm_tx_##name
typedef TOID(struct hashmap_tx) table;
#endif

enum { PUT = 10, TAKEN = 3 };

POBJ_LAYOUT_BEGIN(tables);
POBJ_LAYOUT_ROOT(tables, struct root);
POBJ_LAYOUT_TOID(tables, uint64_t);
POBJ_LAYOUT_END(tables);

struct root {
    table table;
};

static int failed(const char *what) {
    printf("%s: %s\n", what, pmemobj_errormsg());
    return 1;
}

static void put(PMEMobjpool *pool, table t, uint64_t key) {
    TX_BEGIN(pool) {
        TOID(uint64_t) value = TX_NEW(uint64_t);
        *D_RW(value) = key * 7;
        if (CALL(insert)(pool, t, key, value.oid)) abort();
    }
    TX_END
}

static int work(const char *file) {
    unlink(file);
    PMEMobjpool *pool = pmemobj_create(file, "tables", PMEMOBJ_MIN_POOL, 0644);
    if (!pool) return failed("create");
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    if (CALL(create)(pool, &D_RW(root)->table, NULL)) return failed("create the table");
    coreplane_mark_here(1);
    for (uint64_t key = 1; key <= PUT; key++) {
        put(pool, D_RO(root)->table, key);
        coreplane_mark_here(1 + key);
    }
    for (uint64_t key = 1; key <= TAKEN; key++) {
        CALL(remove)(pool, D_RO(root)->table, key);
        coreplane_mark_here(1 + PUT + key);
    }
    pmemobj_close(pool);
    return 0;
}

/* Key k is put in by operation 1 + k, and taken out by 1 + PUT + k. */
static int check_key(PMEMobjpool *pool, table t, uint64_t key, uint64_t acknowledged, uint64_t *found) {
    PMEMoid value = CALL(get)(pool, t, key);
    int there = !OID_IS_NULL(value);
    *found += (uint64_t)there;
    if (there && *(uint64_t *)pmemobj_direct(value) != key * 7) return printf("the value of key %lu\n", key), 1;
    uint64_t taken = key <= TAKEN ? 1 + PUT + key : UINT64_MAX;
    if (!there && acknowledged >= 1 + key && acknowledged + 1 < taken) return printf("key %lu is missing\n", key), 1;
    if (there && acknowledged >= taken) return printf("key %lu is there again\n", key), 1;
    return 0;
}

static int check(const char *file, uint64_t acknowledged) {
    PMEMobjpool *pool = pmemobj_open(file, "tables");
    if (!pool) return acknowledged ? failed("open") : 0;
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    table t = D_RO(root)->table;
    uint64_t found = 0;
    int wrong = 0;
    if (TOID_IS_NULL(t)) {
        wrong = acknowledged > 0;
    } else if (CALL(check)(pool, t)) {
        wrong = 1;
    } else {
#ifndef BTREE
        CALL(init)(pool, t);
#endif
        for (uint64_t key = 1; !wrong && key <= PUT; key++) wrong = check_key(pool, t, key, acknowledged, &found);
#ifndef BTREE
        if (!wrong && CALL(count)(pool, t) != found) wrong = puts("the count is wrong");
#endif
    }
    pmemobj_close(pool);
    return wrong != 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "--check")) return check(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
    return argc == 2 ? work(argv[1]) : 2;
}
