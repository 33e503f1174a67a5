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
static inline int is_store(enum kind k) { return (1u << k & 0x36u) != 0; }

static inline uint32_t next_stamp(void) { return atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1; }

static void hand_over(struct buffer *b);
/* Where mapped files lie that have a copy to compare with (shadow.h). */
static uint64_t shadowed_from, shadowed_bytes;
static void shadow(struct buffer *b, uint64_t address, unsigned size);

static inline void emit_after(struct buffer *b, uint32_t work, enum kind k, unsigned log2size, uint64_t address,
                              uint32_t location, uint64_t value, uint32_t stamp) {
    uint8_t *at = b->at;
    *at++ = (uint8_t)(k | log2size << 5 | (work != 0) << 7);
    at = put(at, zigzag((int64_t)(address - b->address)));
    at = put(at, zigzag((int32_t)(location - b->location)));
    if (has_value(k)) at = put(at, value);
    if (has_stamp(k)) at = put(at, stamp);
    if (work) at = put(at, work);
    b->at = at;
    b->address = address;
    b->location = location;
    b->count++;
    if (__builtin_expect(at > b->limit, 0)) hand_over(b);
    if (is_store(k) && __builtin_expect(address - shadowed_from < shadowed_bytes, 0)) shadow(b, address, 1u << log2size);
}

/* With the instructions since the last record. */
static inline void emit(struct buffer *b, enum kind k, unsigned log2size, uint64_t address, uint32_t location,
                        uint64_t value, uint32_t stamp) {
    emit_after(b, take_work(), k, log2size, address, location, value, stamp);
}

/* A store to memory that was gone before its value was read: said where a file may have been there. */
static void lost(struct buffer *b, uint64_t address, unsigned size, uint32_t location);

/* An access of any size and place, in pieces that do not cross a cache line. Their values are at `from`. */
static void pieces_from(struct buffer *b, enum kind k, uint64_t address, uint64_t from, uint64_t size, uint32_t location) {
    uint64_t end = address + size, value = 0;
    while (address < end) {
        uint64_t left = end - address, to_edge = 8 - address % 8;
        unsigned log2size = 63 - (unsigned)__builtin_clzll(left < to_edge ? left : to_edge);
        if (k == LOAD || peek(from, 1u << log2size, &value)) emit(b, k, log2size, address, location, value, 0);
        else lost(b, address, 1u << log2size, location);
        address += 1u << log2size;
        from += 1u << log2size;
    }
}

static void pieces(struct buffer *b, enum kind k, uint64_t address, uint64_t size, uint32_t location) {
    pieces_from(b, k, address, address, size, location);
}

/* A store stays pending until its copy has its value too: who compares sees one or the other. */
static inline void settle(struct buffer *b) {
    if (b->pending_size) {
        uint64_t address = b->pending, value;
        unsigned size = b->pending_size;
        enum kind k = b->pending_kind;
        if (__builtin_expect(size <= 8 && (size & (size - 1)) == 0 && (address & 63) + size <= 64, 1)) {
            if (__builtin_expect(peek(address, size, &value), 1))
                emit_after(b, b->pending_work, k, (unsigned)__builtin_ctz(size), address, b->pending_location, value, 0);
            else lost(b, address, size, b->pending_location);
        } else {
            /* What came after the store belongs to later records. */
            uint64_t later = coreplane_work;
            coreplane_work = b->pending_work;
            pieces(b, k, address, size, b->pending_location);
            coreplane_work += later;
        }
        b->pending_size = 0;
    }
}

static inline void pend(struct buffer *b, enum kind k, uint64_t address, uint32_t size, uint32_t location) {
    b->pending = address;
    b->pending_location = location;
    b->pending_kind = k;
    b->pending_work = take_work();
    b->pending_size = size;
}

static struct buffer *new_buffer(void);

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
