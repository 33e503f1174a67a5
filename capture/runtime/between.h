/* Fences between threads, of C11 and C++. What is stored relaxed after one that releases tells of what came before it, to
 * whoever looks at it relaxed before one that acquires. Neither is an instruction of a fence, but for one of sequential
 * consistency: the store is recorded as one that releases, the first to each word after a fence, and at the fence that
 * acquires there is a load that acquires for each word that was looked at when it had been told something. */

/* Whether a store that releases was made to a word, or to another one of the same place here: a load that comes before it has nothing
 * to acquire. It is set before the store, so that whoever sees the one sees the other. */
static uint8_t told_words[1 << 16];
static inline uint8_t *told_at(uint64_t address) { return &told_words[(address >> 3 ^ address >> 19) % sizeof told_words]; }
static inline void note_told(uint64_t address) { __atomic_store_n(told_at(address), 1, __ATOMIC_RELAXED); }
/* Another process's stores, where each is a host, are not known here. */
static inline int was_told(uint64_t address) { return by_host || __atomic_load_n(told_at(address), __ATOMIC_RELAXED); }

/* Keeps a word, in place of the oldest; whether it was not there. The youngest are most often asked for. */
static inline int keep_relaxed(struct relaxed *r, uint64_t address, unsigned log2size) {
    uint64_t word = address << 2 | log2size;
    for (unsigned i = 1; i <= r->count; i++)
        if (r->words[(r->next - i) % MOST_RELAXED] == word) return 0;
    r->forgot |= r->count == MOST_RELAXED;
    r->words[r->next] = word;
    r->next = (r->next + 1) % MOST_RELAXED;
    r->count += r->count < MOST_RELAXED;
    return 1;
}

/* Whether a relaxed store releases what came before a fence. The next one to its word says nothing more of that. */
static inline int releases_by_fence(struct buffer *b, uint64_t address, unsigned log2size) {
    return b->has_released && keep_relaxed(&b->stores, address, log2size);
}

static void tell_forgotten(void) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&told))
        write_text("note", "a fence that acquires came after relaxed loads of more than 32 words: what the first of them were told is not acquired");
}

static void acquire_by_fence(struct buffer *b, uint32_t location) {
    if (!b->loads.count || !meets()) return;
    struct relaxed seen = b->loads;
    b->loads.count = b->loads.next = b->loads.forgot = 0;
    if (seen.forgot) tell_forgotten();
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
        b->stores.count = b->stores.next = b->stores.forgot = 0;
        b->has_released = 1;
    }
}
EXPORT void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
