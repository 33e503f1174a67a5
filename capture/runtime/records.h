/* Records: packed into the buffer of their thread. */

static inline uint8_t *put(uint8_t *at, uint64_t v) {
    while (v >= 0x80) {
        *at++ = (uint8_t)v | 0x80;
        v >>= 7;
    }
    *at++ = (uint8_t)v;
    return at;
}

static inline uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }

static inline int has_value(enum kind k) { return (1u << k & 0x3F9E036u) != 0; }
static inline int has_stamp(enum kind k) { return (1u << k & 0x227F838u) != 0; }

static inline uint32_t next_stamp(void) { return atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1; }

static inline uint32_t place(const void *pc) {
    uintptr_t offset = (uintptr_t)pc - text_base;
    return offset < UINT32_MAX ? (uint32_t)offset : 0;
}

static inline void emit(struct buffer *b, enum kind k, unsigned log2size, uint64_t address, uint32_t location,
                        uint64_t value, uint32_t stamp) {
    uint8_t *at = b->at;
    *at++ = (uint8_t)(k | log2size << 5);
    at = put(at, zigzag((int64_t)(address - b->address)));
    at = put(at, zigzag((int32_t)(location - b->location)));
    if (has_value(k)) at = put(at, value);
    if (has_stamp(k)) at = put(at, stamp);
    b->at = at;
    b->address = address;
    b->location = location;
    b->count++;
    if (__builtin_expect(at > b->bytes + HEADER + CAPACITY - LONGEST, 0)) hand_over(b);
}

static inline uint64_t value_at(uint64_t address, unsigned size) {
    uint64_t v = 0;
    switch (size) {
    case 1: v = *(const volatile uint8_t *)address; break;
    case 2: { uint16_t w; __builtin_memcpy(&w, (const void *)address, 2); v = w; break; }
    case 4: { uint32_t w; __builtin_memcpy(&w, (const void *)address, 4); v = w; break; }
    default: __builtin_memcpy(&v, (const void *)address, 8);
    }
    return v;
}

/* An access of any size and place, in pieces that do not cross a cache line. */
static void pieces(struct buffer *b, enum kind k, uint64_t address, uint64_t size, uint32_t location) {
    uint64_t end = address + size;
    while (address < end) {
        uint64_t left = end - address, to_edge = 8 - address % 8;
        unsigned log2size = 63 - (unsigned)__builtin_clzll(left < to_edge ? left : to_edge);
        emit(b, k, log2size, address, location, k == LOAD ? 0 : value_at(address, 1u << log2size), 0);
        address += 1u << log2size;
    }
}

static inline void settle(struct buffer *b) {
    if (b->pending_size) {
        uint64_t address = b->pending;
        unsigned size = b->pending_size;
        enum kind k = b->pending_kind;
        b->pending_size = 0;
        if (__builtin_expect(size <= 8 && (size & (size - 1)) == 0 && (address & 63) + size <= 64, 1))
            emit(b, k, (unsigned)__builtin_ctz(size), address, b->pending_location, value_at(address, size), 0);
        else
            pieces(b, k, address, size, b->pending_location);
    }
}

static struct buffer *new_buffer(void) {
    if (!atomic_load_explicit(&recording, memory_order_relaxed)) return NULL;
    struct buffer *b = __real_mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) {
        stop("no memory for a buffer");
        return NULL;
    }
    b->thread = atomic_fetch_add(&threads, 1);
    b->at = b->bytes + HEADER;
    b->next = atomic_load(&all_buffers);
    while (!atomic_compare_exchange_weak(&all_buffers, &b->next, b)) {}
    self = b;
    pthread_setspecific(at_thread_end, b);
    emit(b, START, 0, 0, 0, 0, next_stamp());
    return b;
}

/* The thread's buffer; none while not recording. */
static inline struct buffer *current(void) {
    struct buffer *b = self;
    return __builtin_expect(!b, 0) ? new_buffer() : b;
}

/* The same, with nothing pending. */
static inline struct buffer *begin(void) {
    struct buffer *b = current();
    if (b) settle(b);
    return b;
}

static void end_thread(void *p) {
    struct buffer *b = p;
    settle(b);
    emit(b, END, 0, 0, 0, 0, next_stamp());
    hand_over(b);
    self = NULL;
}

#define PC place(__builtin_return_address(0))
#define EXPORT __attribute__((visibility("default")))
