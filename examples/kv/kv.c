/* A small persistent key-value store with threads: a hash table in a mapped file, an undo log a thread, a lock a
 * bucket. Every change is flushed and fenced by hand, as programs for persistent memory do.
 *
 *   coreplane cc -O2 -pthread kv.c -o kv
 *   coreplane record --out kv.cpt -- ./kv FILE [THREADS [OPERATIONS]] */
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUCKETS = 1024, SLOTS = 7, VALUE = 48, MAX_THREADS = 64, LOG_ENTRIES = 16 };

struct slot {
    uint64_t key;
    char value[VALUE];
    uint64_t version;
};

struct bucket {
    uint64_t used;
    char pad[56];
    struct slot slots[SLOTS];
};

struct log {
    uint64_t entries;
    char pad[56];
    struct { uint64_t place; struct slot old; } entry[LOG_ENTRIES];
};

struct store {
    struct bucket buckets[BUCKETS];
    struct log logs[MAX_THREADS];
};

static struct store *store;
static pthread_mutex_t locks[BUCKETS];
static uint64_t operations;

/* clflush works on every x86-64; machines with clwb would use that. */
static void flush(const void *p, size_t n) {
    for (uintptr_t line = (uintptr_t)p & ~63ull; line < (uintptr_t)p + n; line += 64) _mm_clflush((void *)line);
}

static void persist(const void *p, size_t n) {
    flush(p, n);
    _mm_sfence();
}

static uint64_t mix(uint64_t z) {
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static struct slot *find(struct bucket *b, uint64_t key) {
    for (unsigned i = 0; i < SLOTS; i++)
        if ((b->used >> i & 1) && b->slots[i].key == key) return &b->slots[i];
    return NULL;
}

static void put(unsigned thread, uint64_t key, const char *value) {
    struct bucket *b = &store->buckets[mix(key) % BUCKETS];
    struct log *log = &store->logs[thread];
    pthread_mutex_lock(&locks[b - store->buckets]);
    struct slot *s = find(b, key);
    if (s) {
        log->entry[0].place = (uint64_t)((char *)s - (char *)store);
        log->entry[0].old = *s;
        persist(&log->entry[0], sizeof log->entry[0]);
        log->entries = 1;
        persist(&log->entries, 8);
        memcpy(s->value, value, VALUE);
        s->version++;
        persist(s, sizeof *s);
        log->entries = 0;
        persist(&log->entries, 8);
    } else {
        unsigned i = (unsigned)__builtin_ctzll(~b->used);
        if (i < SLOTS) {
            b->slots[i].key = key;
            memcpy(b->slots[i].value, value, VALUE);
            b->slots[i].version = 1;
            persist(&b->slots[i], sizeof b->slots[i]);
            b->used |= 1ull << i;
            persist(&b->used, 8);
        }
    }
    pthread_mutex_unlock(&locks[b - store->buckets]);
}

static int get(uint64_t key, char *value) {
    struct bucket *b = &store->buckets[mix(key) % BUCKETS];
    pthread_mutex_lock(&locks[b - store->buckets]);
    struct slot *s = find(b, key);
    if (s) memcpy(value, s->value, VALUE);
    pthread_mutex_unlock(&locks[b - store->buckets]);
    return s != NULL;
}

static void *work(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument;
    uint64_t found = 0;
    char value[VALUE];
    for (uint64_t n = 0; n < operations; n++) {
        uint64_t random = mix(n * MAX_THREADS + thread + 1);
        uint64_t key = random % 3000;
        if (random >> 32 & 3) {
            memset(value, (int)(n & 0xFF), VALUE);
            put(thread, key, value);
        } else {
            found += (uint64_t)get(key, value);
        }
    }
    return (void *)(uintptr_t)found;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE [THREADS [OPERATIONS]]\n", argv[0]);
        return 2;
    }
    unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    operations = (argc > 3 ? strtoull(argv[3], NULL, 10) : 8000) / threads;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof *store) || threads < 1 || threads > MAX_THREADS) {
        perror(argv[1]);
        return 1;
    }
    store = mmap(NULL, sizeof *store, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (store == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    for (unsigned i = 0; i < BUCKETS; i++) pthread_mutex_init(&locks[i], NULL);
    pthread_t ids[MAX_THREADS];
    uint64_t found = 0;
    for (unsigned i = 0; i < threads; i++) pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)i);
    for (unsigned i = 0; i < threads; i++) {
        void *result;
        pthread_join(ids[i], &result);
        found += (uint64_t)(uintptr_t)result;
    }
    uint64_t keys = 0;
    for (unsigned i = 0; i < BUCKETS; i++) keys += (uint64_t)__builtin_popcountll(store->buckets[i].used);
    printf("%llu keys, %llu found\n", (unsigned long long)keys, (unsigned long long)found);
    munmap(store, sizeof *store);
    return 0;
}
