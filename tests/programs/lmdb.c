/* Three transactions of the distribution's LMDB. */
#include <lmdb.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    MDB_env *env;
    if (argc != 2 || mdb_env_create(&env) || mdb_env_open(env, argv[1], MDB_NOSUBDIR, 0644)) return 2;
    for (int n = 0; n < 3; n++) {
        MDB_txn *txn;
        MDB_dbi dbi;
        char text[20];
        if (mdb_txn_begin(env, NULL, 0, &txn) || mdb_dbi_open(txn, NULL, 0, &dbi)) return 3;
        int bytes = snprintf(text, sizeof text, "entry %d", n);
        MDB_val key = {sizeof n, &n}, value = {(size_t)bytes, text};
        if (mdb_put(txn, dbi, &key, &value, 0) || mdb_txn_commit(txn)) return 4;
    }
    mdb_env_close(env);
    return 0;
}
