/* A small persistent key-value store with threads: a hash table in a mapped file, an undo log for each thread, a lock
 * for each bucket. Every change is flushed by hand, as programs for persistent memory do, and each fence says what it is
 * for: most only order what persists, the last one of a change waits until the change is durable.
 *
 *   coreplane cc -O2 -pthread kv.c -o kv
 *   coreplane record --out kv.cpt -- ./kv FILE [THREADS [OPERATIONS [TEXT]]]
 *   coreplane crash intel trace:kv.cpt --check './kv --check {image} {acknowledged}'
 *
 * Keys are random, or the words of a text, one after the other: a few of them come again and again.
 *
 * With -DBUG the log's entry is not ordered before the count that makes it valid. */
#include <coreplane.h>
#include <cpuid.h>
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BUCKETS = 1024, SLOTS = 7, VALUE = 48, MAX_THREADS = 64, KEYS = 3000 };

/* One cache line. */
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

/* The entry counts when `valid` is 1. */
struct log {
    uint64_t valid;
    char pad[56];
    uint64_t place;
    char pad2[56];
    struct slot old;
};

struct store {
    struct bucket buckets[BUCKETS];
    struct log logs[MAX_THREADS];
};

static struct store *store;
static pthread_mutex_t locks[BUCKETS];
static uint64_t operations;
/* Each thread counts its own: a word that all count in would hand them on one by one, here and in every replay. */
static _Thread_local uint64_t acknowledged;
static unsigned threads;
/* Of a text, the key of each word. */
static uint32_t *words;
static uint64_t word_count;

static int has_clwb(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 24 & 1);
}

/* clwb keeps the line in the cache; processors without it throw it out. */
__attribute__((target("clwb"))) static void flush(const void *p, size_t n) {
    static int clwb = -1;
    if (clwb < 0) clwb = has_clwb();
    for (uintptr_t line = (uintptr_t)p & ~63ull; line < (uintptr_t)p + n; line += 64) {
        if (clwb) _mm_clwb((void *)line);
        else _mm_clflush((void *)line);
    }
}

/* Persists before whatever is stored next. */
static void before_the_next(const void *p, size_t n) {
    flush(p, n);
    coreplane_order_here();
}

/* Is persistent when this returns. */
static void durable(const void *p, size_t n) {
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

static void change(struct log *log, struct slot *s, const char *value) {
    log->place = (uint64_t)((char *)s - (char *)store);
    log->old = *s;
#ifdef BUG
    flush(&log->place, sizeof log->place);
    flush(&log->old, sizeof log->old);
#else
    flush(&log->place, sizeof log->place);
    before_the_next(&log->old, sizeof log->old);
#endif
    log->valid = 1;
    before_the_next(&log->valid, sizeof log->valid);
    memcpy(s->value, value, VALUE);
    s->version++;
    before_the_next(s, sizeof *s);
    log->valid = 0;
    durable(&log->valid, sizeof log->valid);
}

static int add(struct bucket *b, uint64_t key, const char *value) {
    unsigned i = (unsigned)__builtin_ctzll(~b->used);
    if (i >= SLOTS) return 0;
    b->slots[i].key = key;
    memcpy(b->slots[i].value, value, VALUE);
    b->slots[i].version = 1;
    before_the_next(&b->slots[i], sizeof b->slots[i]);
    b->used |= 1ull << i;
    durable(&b->used, sizeof b->used);
    return 1;
}

static void put(unsigned thread, uint64_t key, const char *value) {
    struct bucket *b = &store->buckets[mix(key) % BUCKETS];
    pthread_mutex_lock(&locks[b - store->buckets]);
    struct slot *s = find(b, key);
    int done = 1;
    if (s) change(&store->logs[thread], s, value);
    else done = add(b, key, value);
    pthread_mutex_unlock(&locks[b - store->buckets]);
    if (done) coreplane_mark_here(++acknowledged);
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
        uint64_t key = words ? words[(n * threads + thread) % word_count] : random % KEYS;
        if (random >> 32 & 3) {
            memset(value, (int)(n & 0xFF), VALUE);
            put(thread, key, value);
        } else {
            found += (uint64_t)get(key, value);
        }
    }
    return (void *)(uintptr_t)found;
}

/* Numbers the words of a text; 0 when there are none. */
static int read_words(const char *path) {
    FILE *file = fopen(path, "r");
    char word[64];
    if (!file) return 0;
    for (uint64_t room = 0; fscanf(file, "%63s", word) == 1; word_count++) {
        if (word_count == room) {
            room = room ? 2 * room : 1024;
            words = realloc(words, room * sizeof *words);
            if (!words) abort();
        }
        uint64_t hash = 0;
        for (const char *c = word; *c; c++) hash = mix(hash ^ (unsigned char)*c);
        words[word_count] = (uint32_t)(hash % KEYS);
    }
    fclose(file);
    return word_count > 0;
}

static int map(const char *path, int flags, int sharing) {
    int fd = open(path, flags, 0644);
    if (fd < 0 || ((flags & O_CREAT) && ftruncate(fd, sizeof *store))) return 0;
    store = mmap(NULL, sizeof *store, PROT_READ | PROT_WRITE, sharing, fd, 0);
    close(fd);
    return store != MAP_FAILED;
}

/* Recovery on a copy of the file, then what must hold. */
static int check(const char *path, uint64_t wanted) {
    if (!map(path, O_RDONLY, MAP_PRIVATE)) {
        perror(path);
        return 2;
    }
    for (struct log *log = store->logs; log < store->logs + MAX_THREADS; log++) {
        if (!log->valid) continue;
        if (log->place >= sizeof store->buckets || log->place % sizeof(struct slot)) {
            printf("the log of thread %td names no slot\n", log - store->logs);
            return 1;
        }
        memcpy((char *)store + log->place, &log->old, sizeof log->old);
    }
    uint64_t changes = 0;
    for (struct bucket *b = store->buckets; b < store->buckets + BUCKETS; b++) {
        for (unsigned i = 0; i < SLOTS; i++) {
            const struct slot *s = &b->slots[i];
            if (!(b->used >> i & 1)) continue;
            int whole = s->version > 0 && !memcmp(s->value, s->value + 1, VALUE - 1);
            if (!whole || s->key >= KEYS || mix(s->key) % BUCKETS != (uint64_t)(b - store->buckets)) {
                printf("bucket %td, slot %u is no whole entry\n", b - store->buckets, i);
                return 1;
            }
            changes += s->version;
        }
    }
    if (changes < wanted) {
        printf("%llu changes were acknowledged, %llu are there\n", (unsigned long long)wanted, (unsigned long long)changes);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "--check")) return check(argv[2], argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
    if (argc < 2) {
        fprintf(stderr, "usage: %s FILE [THREADS [OPERATIONS [TEXT]]] | --check FILE [ACKNOWLEDGED]\n", argv[0]);
        return 2;
    }
    threads = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    if (threads < 1 || threads > MAX_THREADS) {
        fprintf(stderr, "1 to %d threads\n", MAX_THREADS);
        return 2;
    }
    if (argc > 4 && !read_words(argv[4])) {
        fprintf(stderr, "%s: no words there\n", argv[4]);
        return 1;
    }
    operations = (argc > 3 ? strtoull(argv[3], NULL, 10) : 8000) / threads;
    if (!map(argv[1], O_RDWR | O_CREAT | O_TRUNC, MAP_SHARED)) {
        perror(argv[1]);
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
