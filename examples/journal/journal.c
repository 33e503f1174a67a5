/* A journal in a mapped file: entries are appended, a count says how many there are.
 *
 *   journal FILE N          appends N entries; each is acknowledged
 *   journal --check FILE A  ends with 0 when every entry up to the count is whole and A at least are there
 *
 * Built with -DMSYNC, msync makes durable; with -DPMEM, libpmem does; otherwise clwb and sfence. With -DBUG the entry is
 * not durable before the count is written. */
#include <coreplane.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef PMEM
#include <libpmem.h>
#elif !defined MSYNC
#include <immintrin.h>
#endif

enum { ENTRIES = 1000 };

struct entry {
    uint64_t value, check;
    char pad[48];
};

struct journal {
    uint64_t count;
    char pad[4088];
    struct entry entries[ENTRIES];
};

static struct journal *open_journal(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(struct journal)) != 0 || fsync(fd) != 0) return NULL;
    struct journal *j = mmap(NULL, sizeof *j, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return j == MAP_FAILED ? NULL : j;
}

/* What was stored there is durable when this returns. */
static void persist(void *address, size_t bytes) {
#ifdef PMEM
    pmem_persist(address, bytes);
#elif defined MSYNC
    uintptr_t page = (uintptr_t)address & ~4095ul;
    msync((void *)page, (uintptr_t)address + bytes - page, MS_SYNC);
#else
    for (size_t at = 0; at < bytes; at += 64) _mm_clflush((char *)address + at);
    _mm_sfence();
#endif
}

static int append(struct journal *j, uint64_t value) {
    struct entry *e = &j->entries[j->count];
    e->value = value;
    e->check = ~value;
#ifndef BUG
    persist(e, sizeof *e);
#endif
    j->count++;
    persist(&j->count, sizeof j->count);
#ifdef BUG
    persist(e, sizeof *e);
#endif
    coreplane_mark_here(j->count);
    return 0;
}

static int check(const struct journal *j, uint64_t acknowledged) {
    if (j->count < acknowledged || j->count > ENTRIES) {
        printf("%lu entries, %lu were acknowledged\n", (unsigned long)j->count, (unsigned long)acknowledged);
        return 1;
    }
    for (uint64_t n = 0; n < j->count; n++) {
        if (j->entries[n].check != ~j->entries[n].value || j->entries[n].value != n * n) {
            printf("entry %lu of %lu is damaged\n", (unsigned long)n, (unsigned long)j->count);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    int checks = argc == 4 && strcmp(argv[1], "--check") == 0;
    if (argc != 3 && !checks) {
        fprintf(stderr, "usage: journal FILE N | journal --check FILE ACKNOWLEDGED\n");
        return 2;
    }
    struct journal *j = open_journal(argv[checks ? 2 : 1]);
    if (j == NULL) return 2;
    if (checks) return check(j, strtoull(argv[3], NULL, 10));
    for (uint64_t n = 0; n < strtoull(argv[2], NULL, 10) && j->count < ENTRIES; n++) append(j, n * n);
    return 0;
}
