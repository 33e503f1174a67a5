/* SQLite, a transaction for each row.
 *
 *   ./sqlite FILE (delete | wal) (off | full | extra)
 *   ./sqlite --check FILE [ACKNOWLEDGED]
 *
 * The table is created with full synchronisation; the rows with what is asked for. */
#include <coreplane.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6 };

static int failed(sqlite3 *db, const char *what) {
    printf("%s: %s\n", what, sqlite3_errmsg(db));
    return 1;
}

static int number(void *to, int columns, char **texts, char **names) {
    (void)columns, (void)names;
    *(long *)to = texts[0] ? atol(texts[0]) : 0;
    return 0;
}

static int is_ok(void *to, int columns, char **texts, char **names) {
    (void)columns, (void)names;
    *(int *)to = !strcmp(texts[0], "ok");
    return 0;
}

static int check(const char *file, long acknowledged) {
    sqlite3 *db;
    long rows = 0, wrong = 0;
    int ok = 0;
    if (sqlite3_open(file, &db)) return failed(db, "open");
    if (sqlite3_exec(db, "pragma integrity_check", is_ok, &ok, NULL)) return failed(db, "integrity_check");
    if (!ok) return puts("integrity_check"), 1;
    if (sqlite3_exec(db, "select count(*) from t", number, &rows, NULL) && acknowledged) return failed(db, "count");
    const char *query = "select count(*) from t where b != 'row ' || a or a > (select count(*) from t)";
    if (rows && sqlite3_exec(db, query, number, &wrong, NULL)) return failed(db, "rows");
    if (wrong) return puts("a row is wrong"), 1;
    if (rows < acknowledged) return printf("%ld rows, %ld acknowledged\n", rows, acknowledged), 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "--check")) return check(argv[2], argc > 3 ? atol(argv[3]) : 0);
    sqlite3 *db;
    char text[256];
    if (argc < 4) return 2;
    if (sqlite3_open(argv[1], &db)) return failed(db, "open");
    snprintf(text, sizeof text,
             "pragma page_size = 512; pragma journal_mode = %s; pragma synchronous = full;"
             "create table t (a integer primary key, b text); pragma synchronous = %s", argv[2], argv[3]);
    if (sqlite3_exec(db, text, NULL, NULL, NULL)) return failed(db, "create");
    for (long n = 1; n <= ROWS; n++) {
        snprintf(text, sizeof text, "insert into t values (%ld, 'row %ld')", n, n);
        if (sqlite3_exec(db, text, NULL, NULL, NULL)) return failed(db, "insert");
        coreplane_mark_here((unsigned long)n);
    }
    return sqlite3_close(db);
}
