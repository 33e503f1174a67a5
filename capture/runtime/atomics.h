/* Atomic operations: carried out here, stamped in their order. A store of sequential consistency is an exchange, as
 * compilers make it on x86: a locked operation, which waits for flushes. */

/* Held while an atomic operation and its stamp are made, so that stamps are in the order of the operations. */
static stamp_lock stamp_locks[256];

static inline int takes_stamp(stamp_lock *lock, struct buffer *b) {
    struct buffer *nobody = NULL;
    return atomic_compare_exchange_strong_explicit(lock, &nobody, b, memory_order_acquire, memory_order_relaxed);
}

static inline stamp_lock *lock_stamp(struct buffer *b, uint64_t address) {
    stamp_lock *lock = &stamp_locks[(address >> 3 ^ address >> 11) % 256];
    /* A signal handler does not wait for what it interrupted. */
    if (__builtin_expect(b->outer && b->outer->held == lock, 0)) return NULL;
    b->held = lock;
    for (int tries = 1; !takes_stamp(lock, b); tries++) {
        if (tries % 1024) __builtin_ia32_pause();
        else raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    }
    return lock;
}
static inline uint32_t stamp_and_unlock(stamp_lock *lock) {
    uint32_t stamp = next_stamp();
    if (lock) atomic_store_explicit(lock, NULL, memory_order_release);
    return stamp;
}
/* Its record is there, and the copy of a mapped file has what it left: who compares need no longer wait. */
static inline void atomic_done(struct buffer *b) { b->held = NULL; }

/* What a locked operation found: of hosts, it tells which store it saw. */
static inline void note_old(struct buffer *b, unsigned log2size, uint64_t address, uint32_t location, uint64_t old, uint32_t stamp) {
    if (by_host) emit(b, LOAD_ACQUIRE, log2size, address, location, old, stamp);
}

/* The thread's last relaxed load: one that finds the same again needs no place in order. */
static THREAD_LOCAL struct {
    const volatile void *at;
    uint64_t value;
} last_seen;

#define LOG2(n) (n == 8 ? 0 : n == 16 ? 1 : n == 32 ? 2 : 3)

#define RMW_BODY(n, type, operation, new_value) \
    struct buffer *b = begin(); \
    if (!b) { operation; return old; } \
    stamp_lock *lock = lock_stamp(b, (uint64_t)p); \
    note_told((uint64_t)p); \
    operation; \
    uint32_t stamp = stamp_and_unlock(lock); \
    note_old(b, LOG2(n), (uint64_t)p, PC, old, stamp); \
    emit(b, RMW, LOG2(n), (uint64_t)p, PC, (type)(new_value), stamp); \
    atomic_done(b); \
    return old;

#define FETCH(n, type, name, builtin, new_value) \
    EXPORT type __tsan_atomic##n##_##name(volatile type *p, type v, int order) { \
        (void)order; \
        type old; \
        RMW_BODY(n, type, old = builtin(p, v, __ATOMIC_SEQ_CST), new_value) \
    }

#define ATOMIC(n, type) \
    EXPORT type __tsan_atomic##n##_load(const volatile type *p, int order) { \
        struct buffer *b = begin(); \
        int relaxed = order == __ATOMIC_RELAXED; \
        if (!b || (relaxed && !meets())) { \
            looks_for = 1; \
            if (b) emit(b, LOAD, LOG2(n), (uint64_t)p, PC, 0, 0); \
            return __atomic_load_n(p, __ATOMIC_SEQ_CST); \
        } \
        stamp_lock *lock = lock_stamp(b, (uint64_t)p); \
        type v = __atomic_load_n(p, __ATOMIC_SEQ_CST); \
        uint32_t stamp = stamp_and_unlock(lock); \
        if (relaxed) { \
            if (last_seen.at != p || last_seen.value != v) turn(b, (uint64_t)p, PC, stamp, 0); \
            last_seen.at = p, last_seen.value = v; \
            if (was_told((uint64_t)p)) keep_relaxed(&b->loads, (uint64_t)p, LOG2(n)); \
            emit(b, LOAD, LOG2(n), (uint64_t)p, PC, 0, 0); \
        } else \
            emit(b, LOAD_ACQUIRE, LOG2(n), (uint64_t)p, PC, v, stamp); \
        atomic_done(b); \
        return v; \
    } \
    EXPORT void __tsan_atomic##n##_store(volatile type *p, type v, int order) { \
        struct buffer *b = begin(); \
        if (!b) { \
            __atomic_store_n(p, v, __ATOMIC_SEQ_CST); \
            return; \
        } \
        int relaxed = order == __ATOMIC_RELAXED; \
        if (relaxed && !meets() && !b->has_released) { \
            pend(b, STORE, (uint64_t)p, n / 8, PC); \
            __atomic_store_n(p, v, __ATOMIC_SEQ_CST); \
            emit(b, STORE, LOG2(n), (uint64_t)p, PC, v, 0); \
            b->pending_size = 0; \
            return; \
        } \
        stamp_lock *lock = lock_stamp(b, (uint64_t)p); \
        if (!relaxed || b->has_released) note_told((uint64_t)p); \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST); \
        int releases = !relaxed || releases_by_fence(b, (uint64_t)p, LOG2(n)); \
        uint32_t first = relaxed && releases ? next_stamp() : 0, stamp = stamp_and_unlock(lock); \
        if (relaxed && meets()) turn(b, (uint64_t)p, PC, first ? first : stamp, 1); \
        enum kind kind = !releases ? STORE : order == __ATOMIC_SEQ_CST ? RMW : STORE_RELEASE; \
        emit(b, kind, LOG2(n), (uint64_t)p, PC, v, releases ? stamp : 0); \
        atomic_done(b); \
    } \
    FETCH(n, type, exchange, __atomic_exchange_n, v) \
    FETCH(n, type, fetch_add, __atomic_fetch_add, old + v) \
    FETCH(n, type, fetch_sub, __atomic_fetch_sub, old - v) \
    FETCH(n, type, fetch_and, __atomic_fetch_and, old & v) \
    FETCH(n, type, fetch_or, __atomic_fetch_or, old | v) \
    FETCH(n, type, fetch_xor, __atomic_fetch_xor, old ^ v) \
    FETCH(n, type, fetch_nand, __atomic_fetch_nand, ~(old & v)) \
    static type exchange_if##n(volatile type *p, type expected, type v, uint32_t location) { \
        struct buffer *b = begin(); \
        type old = expected; \
        if (!b) { \
            __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
            return old; \
        } \
        stamp_lock *lock = lock_stamp(b, (uint64_t)p); \
        note_told((uint64_t)p); \
        int done = __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        uint32_t stamp = stamp_and_unlock(lock); \
        note_old(b, LOG2(n), (uint64_t)p, location, old, stamp); \
        if (done || !by_host) emit(b, RMW, LOG2(n), (uint64_t)p, location, done ? v : old, stamp); \
        atomic_done(b); \
        return old; \
    } \
    EXPORT type __tsan_atomic##n##_compare_exchange_val(volatile type *p, type expected, type v, int o, int f) { \
        (void)o, (void)f; \
        return exchange_if##n(p, expected, v, PC); \
    } \
    EXPORT int __tsan_atomic##n##_compare_exchange_strong(volatile type *p, type *expected, type v, int o, int f) { \
        (void)o, (void)f; \
        type wanted = *expected; \
        *expected = exchange_if##n(p, wanted, v, PC); \
        return *expected == wanted; \
    } \
    EXPORT int __tsan_atomic##n##_compare_exchange_weak(volatile type *p, type *expected, type v, int o, int f) { \
        (void)o, (void)f; \
        type wanted = *expected; \
        *expected = exchange_if##n(p, wanted, v, PC); \
        return *expected == wanted; \
    }
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
