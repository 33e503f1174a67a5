/* What the programs of this folder share: the command line, a mapped file, flush and fence, a log, and saying no.
 *
 *   program FILE                         does the program's operations; operation n is acknowledged by mark n
 *   program --format FILE                leaves the file as an earlier run would (programs that say so)
 *   program --check FILE [ACKNOWLEDGED]  recovers: exit code 1 and a reason when that cannot be
 *
 * A program has `work` and `check`, and ends with PROGRAM. */
#ifndef TRUTH_H
#define TRUTH_H

#include <coreplane.h>
#include <fcntl.h>
#include "../programs/flushes.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, LINE = 64, ENTRIES = 6 };

/* One word in a line of its own. */
struct cell {
    uint64_t word, rest[7];
};

/* A log: `count` says how many entries are valid, and is meant to be durable after them. */
struct log {
    struct cell count, entry[ENTRIES];
};

/* What operation n writes. */
static inline uint64_t value(uint64_t n) { return 1000 + n; }

__attribute__((unused, format(printf, 1, 2), noreturn)) static void lost(const char *reason, ...) {
    va_list arguments;
    va_start(arguments, reason);
    vprintf(reason, arguments);
    va_end(arguments);
    printf("\n");
    exit(1);
}

/* The machine, not the program, fails: not what is tested here. */
__attribute__((unused)) static void need(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(3);
}

__attribute__((unused)) static int created(const char *file, size_t bytes) {
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
    need(fd >= 0, file);
    need(!ftruncate(fd, (off_t)bytes), "ftruncate");
    return fd;
}

__attribute__((unused)) static void *mapped(int fd, size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(p != MAP_FAILED, "mmap");
    return p;
}

/* A new file of zeros, durable, and its bytes. */
__attribute__((unused)) static void *fresh(const char *file, size_t bytes) {
    int fd = created(file, bytes);
    need(!fsync(fd), "fsync");
    void *p = mapped(fd, bytes);
    close(fd);
    return p;
}

__attribute__((unused, target("clwb"))) static void flush(const void *p, size_t bytes) {
    for (uintptr_t line = (uintptr_t)p & ~63ull; line < (uintptr_t)p + bytes; line += LINE) _mm_clwb((void *)line);
}

static inline void fence(void) { _mm_sfence(); }

__attribute__((unused)) static void persist(const void *p, size_t bytes) {
    flush(p, bytes);
    fence();
}

/* Appends as it should be done: entry, then count. */
__attribute__((unused)) static void append(struct log *log, uint64_t n) {
    log->entry[n - 1].word = value(n);
    persist(&log->entry[n - 1], 8);
    log->count.word = n;
    persist(&log->count, 8);
}

/* What recovery finds, zeros beyond the end; nothing of a file that does not exist. */
__attribute__((unused)) static void *found(const char *file, size_t bytes) {
    char *p = (char *)calloc(1, bytes);
    int fd = open(file, O_RDONLY);
    need(p != NULL, "calloc");
    for (size_t at = 0; fd >= 0 && at < bytes;) {
        ssize_t n = read(fd, p + at, bytes - at);
        need(n >= 0, file);
        if (n <= 0) break;
        at += (size_t)n;
    }
    if (fd >= 0) close(fd);
    return p;
}

__attribute__((unused)) static void check_log(const struct log *log, uint64_t acknowledged) {
    uint64_t count = log->count.word;
    if (count > ENTRIES) lost("the count is %lu", (unsigned long)count);
    for (uint64_t n = 1; n <= count; n++) {
        uint64_t word = log->entry[n - 1].word;
        if (word != value(n)) lost("entry %lu of %lu is %lu", (unsigned long)n, (unsigned long)count, (unsigned long)word);
    }
    if (count < acknowledged) lost("%lu entries, %lu acknowledged", (unsigned long)count, (unsigned long)acknowledged);
}

static void work(const char *file);
static void check(const char *file, uint64_t acknowledged);

static int program(int argc, char **argv, void (*format)(const char *)) {
    if (argc == 2) {
        work(argv[1]);
        return 0;
    }
    if (argc >= 3 && !strcmp(argv[1], "--check")) {
        check(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
        return 0;
    }
    if (argc == 3 && format && !strcmp(argv[1], "--format")) {
        format(argv[2]);
        return 0;
    }
    fprintf(stderr, "usage: %s [--format | --check] FILE [ACKNOWLEDGED]\n", argv[0]);
    return 2;
}

#define PROGRAM_WITH(format) \
    int main(int argc, char **argv) { return program(argc, argv, format); }
#define PROGRAM PROGRAM_WITH(NULL)
/* The programs that keep a log in the first bytes of their file. */
#define LOG_PROGRAM \
    static void check(const char *file, uint64_t acknowledged) { \
        check_log(found(file, sizeof(struct log)), acknowledged); \
    } \
    PROGRAM

#endif
