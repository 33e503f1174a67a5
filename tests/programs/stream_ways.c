/* Each function of the C library that writes to a stream, or has it write what it holds back, writes a file of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static char text[6001];
static wchar_t wide[6001];

static int v_narrow(FILE *f, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int n = f == stdout ? vprintf(format, values) : vfprintf(f, format, values);
    va_end(values);
    return n;
}
static int v_wide(FILE *f, const wchar_t *format, ...) {
    va_list values;
    va_start(values, format);
    int n = f == stdout ? vwprintf(format, values) : vfwprintf(f, format, values);
    va_end(values);
    return n;
}

/* Writes to `name` between the opening and the end of a way. */
#define WAY(name, mode, ...) \
    do { \
        FILE *f = fopen(name ".way", mode); \
        if (!f) return 1; \
        __VA_ARGS__; \
        fclose(f); \
    } while (0)
/* With `stdout` standing for the file. */
#define AS_STDOUT(name, ...) \
    WAY(name, "w", FILE *own = stdout; stdout = f; __VA_ARGS__; fflush(stdout); stdout = own)
/* Written once, then held back when the way comes. */
#define HELD(name, mode, ...) WAY(name, mode, fwrite(text, 1, 3000, f); fputs("held back", f); __VA_ARGS__)
#define EACH(...) \
    for (int i = 0; i < 6000; i++) __VA_ARGS__

/* A buffer of the program's own: below 128 bytes the C library writes what would find room in it. */
static int small_buffer(size_t bytes) {
    static const size_t pieces[] = {1, 64, 5, 99, 100, 127, 200, 64, 64};
    char name[40], room[256];
    snprintf(name, sizeof name, "buffer_of_%zu.way", bytes);
    FILE *f = fopen(name, "w");
    if (!f || setvbuf(f, room, _IOFBF, bytes)) return 0;
    for (size_t i = 0; i < 2 * sizeof pieces / sizeof *pieces; i++) {
        size_t n = pieces[i / 2];
        if (fwrite(text, 1, n, f) != n) return 0;
        if (i % 2) fflush(f);
        else fputc('-', f);
        fdatasync(fileno(f));
    }
    return fclose(f) == 0;
}

int main(void) {
    static const size_t buffers[] = {16, 64, 65, 100, 127, 128, 129, 200};
    struct passwd user = {"name", "x", 1, 1, "a longer text", "/name/home", "/bin/sh"};
    struct group group = {.gr_name = "name", .gr_passwd = "x", .gr_gid = 7};
    char *line = NULL, room[9000];
    size_t size = 0;
    for (int i = 0; i < 6000; i++) wide[i] = text[i] = (char)('a' + i % 26);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (!small_buffer(buffers[i])) return 4;

    WAY("fputc", "w", EACH(fputc(text[i], f)));
    WAY("putc_unlocked", "w", EACH(putc_unlocked(text[i], f)));
    WAY("fputc_unlocked", "w", EACH((fputc_unlocked)(text[i], f)));
    WAY("fputs_unlocked", "w", fputs_unlocked(text, f));
    WAY("fwrite_unlocked", "w", (fwrite_unlocked)(text, 1, 6000, f));
    WAY("putw", "w", EACH(putw(i, f)));
    WAY("fprintf", "w", fprintf(f, "%s %d", text, 7));
    WAY("vfprintf", "w", v_narrow(f, "%s %d", text, 7));
    WAY("putpwent", "w", EACH(if (i % 40 == 0) putpwent(&user, f)));
    WAY("putgrent", "w", EACH(if (i % 40 == 0) putgrent(&group, f)));
    AS_STDOUT("puts", puts(text));
    AS_STDOUT("printf", printf("%s %d", text, 7));
    AS_STDOUT("vprintf", v_narrow(stdout, "%s %d", text, 7));
    AS_STDOUT("putchar", EACH(putchar(text[i])));
    AS_STDOUT("putchar_unlocked", EACH((putchar_unlocked)(text[i])));

    WAY("fputwc", "w", EACH(fputwc(wide[i], f)));
    WAY("fputws", "w", fputws(wide, f); fflush(f); fputws(L"and more", f));
    WAY("putwc_unlocked", "w", EACH(putwc_unlocked(wide[i], f)));
    WAY("fwprintf", "w", fwprintf(f, L"%ls %d", wide, 7));
    WAY("vfwprintf", "a", fputws(wide, f); fflush(f); v_wide(f, L"%ls %d", wide, 7));
    AS_STDOUT("wprintf", wprintf(L"%ls %d", wide, 7));
    AS_STDOUT("vwprintf", v_wide(stdout, L"%ls %d", wide, 7));
    AS_STDOUT("putwchar", EACH(putwchar(wide[i])));
    WAY("wide_in_place", "w+", fputws(wide, f); fseek(f, 100, SEEK_SET); fgetwc(f); fseek(f, 0, SEEK_CUR); fputws(L"here", f));

    HELD("fflush_unlocked", "w", fflush_unlocked(f); fsync(fileno(f)));
    HELD("fgetc", "w+", fgetc(f));
    HELD("getc_unlocked", "w+", getc_unlocked(f));
    HELD("fgets", "w+", if (fgets(room, 9, f)) return 2);
    HELD("fread", "w+", if (fread(room, 1, 9, f)) return 2);
    HELD("getline", "w+", if (getline(&line, &size, f) >= 0) return 2);
    HELD("ungetc", "w+", fseek(f, 0, SEEK_SET); fgetc(f); ungetc('x', f); fseek(f, 10, SEEK_SET); fputs("x", f));
    HELD("setvbuf", "w", setvbuf(f, room, _IOFBF, sizeof room); fputs(text, f); fflush(f); setvbuf(f, NULL, _IONBF, 0));
    HELD("freopen", "w", if (!(f = freopen("reopened.way", "w", f))) return 3; fputs("first", f); if (!(f = freopen("reopened.way", "w", f))) return 3; fputs(text, f));
    HELD("freopen_without_a_path", "w", if (!(f = freopen(NULL, "w", f))) return 3; fputs("anew", f));

    FILE *left = fopen("fcloseall.way", "w"), *wide_left = fopen("wide_fcloseall.way", "w");
    fputs("closed by all", left);
    fputws(L"this one, too", wide_left);
    return fcloseall();
}
