/* A file that is saved by renaming, each time by another function of the C library's streams: what the programs share. */
#ifndef SAVED_BY_STREAMS_H
#define SAVED_BY_STREAMS_H
#include "saved_again.h"
#include <wchar.h>

/* Writes the text, and has the stream write it out. */
static FILE *write_new_text(const char *name, const char *text, uint64_t n) {
    FILE *f = fopen(name, "w+"), *own = stdout;
    need(f != NULL, name);
    switch (n) {
    case 1:
        for (int i = 0; text[i]; i++) fputwc((wchar_t)text[i], f);
        break;
    case 2: fwprintf(f, L"%s", text); break;
    case 3:
        f = freopen(name, "w", f);
        fputs(text, f);
        break;
    case 4:
        stdout = f;
        puts(text);
        stdout = own;
        break;
    case 5:
        for (int i = 0; text[i]; i++) putc_unlocked(text[i], f);
        fgetc(f);
        break;
    default: fputs_unlocked(text, f);
    }
    need(!(n == 6 ? fflush_unlocked(f) : fflush(f)), "fflush");
    return f;
}

/* Saves six times; the new file is made durable where `synced` says so. */
static void save_all(const char *file, int synced) {
    char new[512], text[41];
    snprintf(new, sizeof new, "%s.new", file);
    for (uint64_t n = 1; n <= 6; n++) {
        snprintf(text, sizeof text, "%019lu %020lu", (unsigned long)n, (unsigned long)n);
        FILE *f = write_new_text(new, text, n);
        if (synced) need(!fsync(fileno(f)), "fsync");
        fclose(f);
        need(!rename(new, file), "rename");
        sync_folder(file);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const char *text = (const char *)found(file, 41);
    unsigned long first = 0, again = 0;
    if (!acknowledged && access(file, F_OK)) return;
    if (strnlen(text, 40) != 40 || sscanf(text, "%lu %lu", &first, &again) != 2 || first != again) lost("the file is not whole");
    if (first < acknowledged) lost("the file is older than what was acknowledged");
}
#endif
