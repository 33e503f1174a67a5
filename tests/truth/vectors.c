/* Entries of 64 bytes, stored by 32-byte vectors, a copy of a struct and an inline string instruction's like: flushed and
 * fenced. Clean everywhere. */
#include "truth.h"
#include <immintrin.h>

__attribute__((target("avx2"))) static void store_vectors(struct cell *to, uint64_t word) {
    __m256i v = _mm256_set1_epi64x((long long)word);
    _mm256_storeu_si256((__m256i *)to, v);
    _mm256_stream_si256((__m256i *)to + 1, v);
}

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        if (n % 2) {
            store_vectors(&log->entry[n - 1], value(n));
        } else {
            struct cell one = log->entry[n - 2];
            one.word = value(n);
            log->entry[n - 1] = one;
        }
        persist(&log->entry[n - 1], LINE);
        log->count.word = n;
        persist(&log->count, 8);
        coreplane_mark_here(n);
    }
}

static void check(const char *file, uint64_t acknowledged) {
    const struct log *log = found(file, sizeof *log);
    check_log(log, acknowledged);
    for (uint64_t n = 1; n <= log->count.word; n++)
        if (log->entry[n - 1].rest[6] != value(n - (n % 2 == 0))) lost("the end of entry %lu", (unsigned long)n);
}

PROGRAM
