/* A ledger of records in persistent memory. `./ledger FILE` appends; `./ledger --check FILE` recovers: every record
   that is marked valid must be whole. -DBUG leaves the flush of the record's value out. */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORDS = 24, BYTES = 1 << 14 };

struct record {
    uint64_t value, square;
    uint64_t padding[6];
    uint64_t valid;
    uint64_t rest[7];
};

static void persist(void *address) {
    _mm_clflush(address);
    _mm_sfence();
}

static int append(struct record *records) {
    for (uint64_t n = 1; n <= RECORDS; n++) {
        struct record *r = &records[n];
        r->value = n;
        r->square = n * n;
#ifndef BUG
        persist(r);
#endif
        r->valid = 1;
        persist(&r->valid);
    }
    return 0;
}

static int check(const struct record *records) {
    for (uint64_t n = 1; n <= RECORDS; n++) {
        const struct record *r = &records[n];
        if (r->valid && (r->value != n || r->square != n * n)) {
            printf("record %d is marked valid and is not whole\n", (int)n);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    int checks = argc == 3 && !strcmp(argv[1], "--check");
    if (argc != 2 && !checks) return 2;
    int fd = open(argv[argc - 1], checks ? O_RDWR : O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || (!checks && ftruncate(fd, BYTES))) return 3;
    struct record *records = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (records == MAP_FAILED) return 4;
    return checks ? check(records) : append(records);
}
