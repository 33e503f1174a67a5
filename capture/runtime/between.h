/* Fences between threads, of C11 and C++. What is stored relaxed after one that releases tells of what came before it, to
 * whoever looks at it relaxed before one that acquires. Neither is an instruction of a fence, but for one of sequential
 * consistency: the store is recorded as one that releases, the first to each word after a fence, and at the fence that
 * acquires there is a load that acquires for each word that was looked at. */

/* Keeps a word, in place of the oldest; whether it was not there. */
static inline int keep_relaxed(struct relaxed *r, uint64_t address, unsigned log2size) {
    uint64_t word = address << 2 | log2size;
    for (unsigned i = 0; i < r->count; i++)
        if (r->words[i] == word) return 0;
    r->words[r->next] = word;
    r->next = (r->next + 1) % MOST_RELAXED;
    r->count += r->count < MOST_RELAXED;
    return 1;
}

/* Whether a relaxed store releases what came before a fence. The next one to its word says nothing more of that. */
static inline int releases_by_fence(struct buffer *b, uint64_t address, unsigned log2size) {
    return b->has_released && keep_relaxed(&b->stores, address, log2size);
}

static void acquire_by_fence(struct buffer *b, uint32_t location) {
    struct relaxed seen = b->loads;
    b->loads = (struct relaxed){0};
    if (!meets()) return;
    for (unsigned i = 0; i < seen.count; i++)
        emit(b, LOAD_ACQUIRE, seen.words[i] & 3, seen.words[i] >> 2, location, 0, next_stamp());
}

EXPORT void __tsan_atomic_thread_fence(int order) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    struct buffer *b = begin();
    if (!b) return;
    if (order == __ATOMIC_SEQ_CST) emit(b, MFENCE, 0, 0, PC, 0, 0);
    if (order != __ATOMIC_RELEASE) acquire_by_fence(b, PC);
    if (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST) {
        b->stores = (struct relaxed){0};
        b->has_released = 1;
    }
}
EXPORT void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
