/* A small job for an unmodified SQLite: a table, rows in transactions, a query. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static void run(sqlite3 *db, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
}

int main(int argc, char **argv) {
    sqlite3 *db;
    int rows = argc > 2 ? atoi(argv[2]) : 300;
    if (sqlite3_open(argv[1], &db) != SQLITE_OK) return 1;
    run(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);");
    for (int i = 0; i < rows; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "INSERT INTO t(name, value) VALUES('row %d', %d.5);", i, i * 7 % 1000);
        run(db, sql);
    }
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(db, "SELECT count(*), sum(value) FROM t WHERE value > 100", -1, &statement, NULL);
    sqlite3_step(statement);
    printf("%d rows, %.1f\n", sqlite3_column_int(statement, 0), sqlite3_column_double(statement, 1));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return 0;
}
