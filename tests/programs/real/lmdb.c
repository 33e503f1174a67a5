/* LMDB, a commit for each key.
 *
 *   ./lmdb FILE default | writemap | nosync
 *   ./lmdb --check FILE [ACKNOWLEDGED]
 *
 * With nosync nothing is durable when it is acknowledged, but the creation of the environment. */
#include <coreplane.h>
#include <lmdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 12 };

static void done(int error, const char *what) {
    if (!error) return;
    printf("%s: %s\n", what, mdb_strerror(error));
    exit(1);
}

static MDB_env *opened(const char *file, unsigned flags) {
    MDB_env *env = NULL;
    done(mdb_env_create(&env), "create");
    done(mdb_env_set_mapsize(env, 1 << 18), "mapsize");
    done(mdb_env_open(env, file, MDB_NOSUBDIR | flags, 0644), "open");
    return env;
}

static void put(MDB_env *env, MDB_dbi dbi, uint64_t n) {
    MDB_txn *txn;
    char text[64];
    snprintf(text, sizeof text, "value %lu", (unsigned long)n);
    MDB_val key = {sizeof n, &n}, value = {sizeof text, text};
    done(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    done(mdb_put(txn, dbi, &key, &value, 0), "put");
    done(mdb_txn_commit(txn), "commit");
    coreplane_mark_here(n);
}

static int check(const char *file, uint64_t acknowledged) {
    MDB_env *env = opened(file, MDB_NOLOCK);
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key, value;
    uint64_t found = 0;
    int error;
    done(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "begin");
    done(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi), "dbi");
    done(mdb_cursor_open(txn, dbi, &cursor), "cursor");
    while (!(error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
        char text[64];
        snprintf(text, sizeof text, "value %lu", (unsigned long)++found);
        if (*(uint64_t *)key.mv_data != found || strcmp(value.mv_data, text)) {
            printf("key %lu is wrong\n", (unsigned long)found);
            return 1;
        }
    }
    if (error != MDB_NOTFOUND) done(error, "walk");
    if (found < acknowledged) printf("%lu keys, %lu acknowledged\n", (unsigned long)found, (unsigned long)acknowledged);
    return found < acknowledged;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "--check")) return check(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
    if (argc < 3) return 2;
    MDB_env *env = opened(argv[1], !strcmp(argv[2], "writemap") ? MDB_WRITEMAP : 0);
    MDB_txn *txn;
    MDB_dbi dbi;
    done(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    done(mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &dbi), "dbi");
    done(mdb_txn_commit(txn), "commit");
    if (!strcmp(argv[2], "nosync")) done(mdb_env_set_flags(env, MDB_NOSYNC, 1), "flags");
    for (uint64_t n = 1; n <= KEYS; n++) put(env, dbi, n);
    mdb_env_close(env);
    return 0;
}
