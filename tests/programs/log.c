/* An append-only log in a mapped file: entries, then a counter of them. `order` stores the counter first; `bare` flushes
 * nothing; `more` goes on with the file of an earlier run. `check FILE [ACKNOWLEDGED]` is its recovery. */
#include <coreplane.h>
#include <fcntl.h>
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES = 80, BYTES = 8192 };
struct log { uint64_t count; char pad[56]; struct { uint64_t value; char pad[56]; } entry[ENTRIES]; };

static int bare;

static void persist(const void *p, size_t n) {
    if (bare) return;
    for (uintptr_t line = (uintptr_t)p & ~63ull; line < (uintptr_t)p + n; line += 64) _mm_clflush((void *)line);
    _mm_sfence();
}

static int check(const char *path, uint64_t least) {
    int fd = open(path, O_RDONLY);
    static union { struct log log; char bytes[BYTES]; } u;
    if (fd < 0 || read(fd, &u, sizeof u) != sizeof u) { perror(path); return 2; }
    if (u.log.count < least) { printf("%lu entries of %lu acknowledged\n", u.log.count, least); return 1; }
    for (uint64_t i = 0; i < u.log.count; i++)
        if (u.log.entry[i].value != i + 7) { printf("entry %lu is %lu\n", i, u.log.entry[i].value); return 1; }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "check")) return check(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
    int order = argc > 2 && !strcmp(argv[2], "order");
    bare = argc > 2 && !strcmp(argv[2], "bare");
    int more = argc > 2 && !strcmp(argv[2], "more");
    int fd = open(argv[1], O_RDWR | O_CREAT | (more ? 0 : O_TRUNC), 0644);
    if (fd < 0 || (!more && ftruncate(fd, BYTES))) return 1;
    struct log *log = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t first = log->count;
    for (uint64_t i = first; i < first + ENTRIES / 2; i++) {
        if (order) { log->count = i + 1; persist(&log->count, 8); }
        log->entry[i].value = i + 7;
        persist(&log->entry[i], 8);
        if (!order) { log->count = i + 1; persist(&log->count, 8); }
        coreplane_mark_here(i + 1);
    }
    return 0;
}
