/* Atomic operations on sixteen bytes: two records in a row, since no more than eight bytes persist as a whole. */

typedef unsigned __int128 pair;

static inline int exchange_pair(volatile pair *p, pair *expected, pair v) {
    uint64_t low = (uint64_t)*expected, high = (uint64_t)(*expected >> 64);
    _Bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*p), "+a"(low), "+d"(high)
                     : "b"((uint64_t)v), "c"((uint64_t)(v >> 64))
                     : "memory");
    *expected = (pair)high << 64 | low;
    return done;
}
/* One access where there is AVX, as in libatomic; a locked operation would have to write to what is read. */
static inline pair load_pair(const volatile pair *p) {
    pair v;
    __asm__ volatile("movdqa %1, %%xmm0; movdqa %%xmm0, %0" : "=m"(v) : "m"(*p) : "xmm0", "memory");
    return v;
}
static inline pair put_pair(volatile pair *p, pair v) {
    pair old = load_pair(p);
    while (!exchange_pair(p, &old, v)) {}
    return old;
}

/* Both halves have stamps that no other operation on them comes between. */
static inline void pair_done(struct buffer *b, stamp_lock *lock, enum kind k, uint64_t p, uint32_t location, pair v) {
    uint32_t first = next_stamp(), second = stamp_and_unlock(lock);
    emit(b, k, 3, p, location, (uint64_t)v, first);
    emit(b, k, 3, p + 8, location, (uint64_t)(v >> 64), second);
    atomic_done(b);
}

static inline void note_told_pair(uint64_t p) { note_told(p), note_told(p + 8); }

EXPORT pair __tsan_atomic128_load(const volatile pair *p, int order) {
    (void)order;
    struct buffer *b = begin();
    if (!b) return load_pair(p);
    stamp_lock *lock = lock_stamp(b, (uint64_t)p);
    pair v = load_pair(p);
    pair_done(b, lock, LOAD_ACQUIRE, (uint64_t)p, PC, 0);
    return v;
}

static pair store_pair(volatile pair *p, pair v, uint32_t location) {
    struct buffer *b = begin();
    if (!b) return put_pair(p, v);
    stamp_lock *lock = lock_stamp(b, (uint64_t)p);
    note_told_pair((uint64_t)p);
    pair old = put_pair(p, v);
    pair_done(b, lock, RMW, (uint64_t)p, location, v);
    return old;
}
EXPORT void __tsan_atomic128_store(volatile pair *p, pair v, int order) {
    (void)order;
    store_pair(p, v, PC);
}
EXPORT pair __tsan_atomic128_exchange(volatile pair *p, pair v, int order) {
    (void)order;
    return store_pair(p, v, PC);
}

#define FETCH_PAIR(name, new_value) \
    EXPORT pair __tsan_atomic128_##name(volatile pair *p, pair v, int order) { \
        (void)order; \
        struct buffer *b = begin(); \
        stamp_lock *lock = b ? lock_stamp(b, (uint64_t)p) : NULL; \
        note_told_pair((uint64_t)p); \
        pair old = load_pair(p); \
        while (!exchange_pair(p, &old, new_value)) {} \
        if (b) pair_done(b, lock, RMW, (uint64_t)p, PC, new_value); \
        return old; \
    }
FETCH_PAIR(fetch_add, old + v)
FETCH_PAIR(fetch_sub, old - v)
FETCH_PAIR(fetch_and, old & v)
FETCH_PAIR(fetch_or, old | v)
FETCH_PAIR(fetch_xor, old ^ v)
FETCH_PAIR(fetch_nand, ~(old & v))

static pair exchange_pair_if(volatile pair *p, pair expected, pair v, uint32_t location) {
    pair old = expected;
    struct buffer *b = begin();
    if (!b) {
        exchange_pair(p, &old, v);
        return old;
    }
    stamp_lock *lock = lock_stamp(b, (uint64_t)p);
    note_told_pair((uint64_t)p);
    int done = exchange_pair(p, &old, v);
    pair_done(b, lock, RMW, (uint64_t)p, location, done ? v : old);
    return old;
}
EXPORT pair __tsan_atomic128_compare_exchange_val(volatile pair *p, pair expected, pair v, int o, int f) {
    (void)o, (void)f;
    return exchange_pair_if(p, expected, v, PC);
}
#define EXCHANGE_PAIR(name) \
    EXPORT int __tsan_atomic128_compare_exchange_##name(volatile pair *p, pair *expected, pair v, int o, int f) { \
        (void)o, (void)f; \
        pair wanted = *expected; \
        *expected = exchange_pair_if(p, wanted, v, PC); \
        return *expected == wanted; \
    }
EXCHANGE_PAIR(strong)
EXCHANGE_PAIR(weak)
