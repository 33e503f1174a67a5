/* Plain loads and stores: the compiler calls a hook before each. */

/* A pending store stays pending: for the copy of a structure the compiler announces the write first, then the
 * read, then copies. So a load may be recorded before the store that precedes it, as x86-TSO allows. */
static void settle_if_made(struct buffer *b);

static __attribute__((noinline)) void read_slowly(uint64_t address, unsigned size, const void *pc) {
    struct buffer *b = current();
    if (!b) return;
    if (by_host) settle_if_made(b);
    if (is_to_pause && !b->pending_size) stand_still();
    if (size <= 8 && (address & 63) + size <= 64) emit(b, LOAD, (unsigned)__builtin_ctz(size), address, place(pc), 0, 0);
    else pieces(b, LOAD, address, size, place(pc));
}

/* Where a hook goes on with a load that was not foretold. */
static __attribute__((noinline)) void load_unforeseen(struct buffer *b, uint64_t what, uint64_t address, uint64_t work) {
    append(b, LOAD, what, address, 0, 0, work);
    if (__builtin_expect(b->at > b->limit, 0)) hand_over(b);
}

/* Calls come last only, here and below: a hook that calls nothing saves no registers. */
static inline __attribute__((always_inline)) void on_read(uint64_t address, unsigned size, const void *pc) {
    struct buffer *b = self;
    uint64_t location = (uintptr_t)pc - (uintptr_t)__ehdr_start;
    if (__builtin_expect(!b || location >= b->code_bytes || size > 8 || address % size, 0)) {
        read_slowly(address, size, pc);
        return;
    }
    uint64_t what = what_is(LOAD, (unsigned)__builtin_ctz(size), location), work = take_whole_work();
    if (__builtin_expect(!append_foretold(b, what, address, 0, 0, work), 0)) load_unforeseen(b, what, address, work);
    else if (__builtin_expect(b->at > b->limit, 0)) hand_over(b);
}

static __attribute__((noinline)) void write_slowly(uint64_t address, unsigned size, const void *pc) {
    struct buffer *b = begin();
    if (b) pend(b, STORE, address, size, place(pc));
}

/* Looks up the pending store, if it is an ordinary one. */
static inline int value_of_pending(const struct buffer *b, uint64_t *value) {
    uint64_t address = b->pending;
    unsigned above = 64 - 8 * b->pending_size;
    if (__builtin_expect(b->pending_head == MANIFOLD || address - shadowed_from < shadowed_bytes || !peek(address & ~7ull, 8, value), 0)) return 0;
    *value = *value >> (address & 7) * 8 << above >> above;
    return 1;
}
static inline uint64_t what_is_pending(const struct buffer *b) { return b->pending_location | (uint64_t)b->pending_head << 32; }

static inline void pend_aligned(struct buffer *b, uint64_t address, unsigned size, uint64_t location) {
    b->pending = address;
    b->pending_location = (uint32_t)location;
    b->pending_kind = STORE;
    b->pending_head = STORE | (uint32_t)__builtin_ctz(size) << 5;
    b->pending_work = take_work();
    b->pending_size = size;
    if (__builtin_expect(b->at > b->limit, 0)) hand_over(b);
}

static __attribute__((noinline)) void write_after_unforeseen(struct buffer *b, uint64_t address, unsigned size, uint64_t location, uint64_t value) {
    append(b, STORE, what_is_pending(b), b->pending, value, 0, b->pending_work);
    pend_aligned(b, address, size, location);
}

static inline __attribute__((always_inline)) void on_write(uint64_t address, unsigned size, const void *pc) {
    struct buffer *b = self;
    uint64_t location = (uintptr_t)pc - (uintptr_t)__ehdr_start, value;
    if (__builtin_expect(!b || location >= b->code_bytes || size > 8 || address % size || (b->pending_size && !value_of_pending(b, &value)), 0))
        write_slowly(address, size, pc);
    else if (b->pending_size && !append_foretold(b, what_is_pending(b), b->pending, value, 1, b->pending_work))
        write_after_unforeseen(b, address, size, location, value);
    else
        pend_aligned(b, address, size, location);
}

/* Programs wait for volatile variables. */
static inline void volatile_turn(uint64_t address, const void *pc, int stores) {
    if (by_host) looks_for = !stores;
    struct buffer *b = meets() ? begin() : NULL;
    if (b) turn(b, address, place(pc), next_stamp(), stores);
}
static inline void volatile_read(uint64_t address, unsigned size, const void *pc) {
    if (by_host) volatile_turn(address, pc, 0);
    struct buffer *b = meets() ? begin() : NULL;
    on_read(address, size, pc);
    if (b) look(b, (struct look){.address = address, .location = place(pc)});
}

/* One of each, by all the names that the compilers know. */
#define SAME(other, one) EXPORT void other(void *p) __attribute__((alias(#one)));
#define ACCESS(n) \
    EXPORT void __tsan_read##n(void *p) { on_read((uint64_t)p, n, __builtin_return_address(0)); } \
    EXPORT void __tsan_write##n(void *p) { on_write((uint64_t)p, n, __builtin_return_address(0)); } \
    EXPORT void __tsan_read_write##n(void *p) { \
        on_read((uint64_t)p, n, __builtin_return_address(0)); \
        on_write((uint64_t)p, n, __builtin_return_address(0)); \
    } \
    EXPORT void __tsan_volatile_read##n(void *p) { \
        volatile_read((uint64_t)p, n, __builtin_return_address(0)); \
    } \
    EXPORT void __tsan_volatile_write##n(void *p) { \
        volatile_turn((uint64_t)p, __builtin_return_address(0), 1); \
        on_write((uint64_t)p, n, __builtin_return_address(0)); \
    } \
    SAME(__tsan_unaligned_read##n, __tsan_read##n) \
    SAME(__tsan_unaligned_write##n, __tsan_write##n) \
    SAME(__tsan_unaligned_volatile_read##n, __tsan_volatile_read##n) \
    SAME(__tsan_unaligned_volatile_write##n, __tsan_volatile_write##n) \
    SAME(__tsan_unaligned_read_write##n, __tsan_read_write##n)
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

EXPORT void __tsan_init(void) {}
static void enter_function(const void *from, uintptr_t stack);
static void leave_function(void);
EXPORT void __tsan_func_entry(void *pc) {
    if (by_host) enter_function(pc, (uintptr_t)__builtin_frame_address(0));
}
EXPORT void __tsan_func_exit(void) {
    if (by_host) leave_function();
}
EXPORT void __tsan_ignore_thread_begin(void) {}
EXPORT void __tsan_ignore_thread_end(void) {}
EXPORT void __tsan_vptr_read(void **p) { on_read((uint64_t)p, 8, __builtin_return_address(0)); }
EXPORT void __tsan_vptr_update(void **p, void *v) { (void)v; on_write((uint64_t)p, 8, __builtin_return_address(0)); }
