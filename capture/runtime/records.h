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

static inline int has_value(enum kind k) { return (1u << k & 0x1BF9E036u) != 0; }
static inline int has_stamp(enum kind k) { return (1u << k & 0xA27F838u) != 0; }
static inline int is_store(enum kind k) { return (1u << k & 0x36u) != 0; }

static inline uint32_t next_stamp(void) { return atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1; }

static void hand_over(struct buffer *b);
/* Where mapped files lie that have a copy to compare with (shadow.h). */
static uint64_t shadowed_from, shadowed_bytes;
static void shadow(struct buffer *b, uint64_t address, unsigned size);

/* Where each process is a host, what comes before a record (hosts.h); 0 where there is to be no record. */
#ifdef BY_HOST
static int take_turn(struct buffer *b, uint64_t what, uint64_t address, uint64_t value, uint32_t stamp);
/* Where a part of the program is recorded, whether there is to be a record (regions.h). */
static inline int is_region_asked(void);
static int in_region(struct buffer *b, enum kind k, uint64_t address, uint64_t *work);
/* Whether the process stands still at the next hook (pauses.h). */
static int is_to_pause;
static void stand_still(void);
/* One more process that others need not wait for, or one less. */
static void rest(int n);
#else
static inline int is_region_asked(void) { return 0; }
#endif

/* A record is foretold when its location, kind, size and instructions are those that followed the record before the
 * last time. Then its head has bit 7, and tells how many bytes follow: of the address's difference from the one that
 * the site had the last time, and nine times those of the value. Other records have their kind and size, then a byte
 * that says how many bytes of difference follow (bits 0 to 3), whether it is from the last record's address (bit 4),
 * whether instructions are counted (bit 5), whether the location's difference has four bytes and not two (bit 6), and
 * whether it is a run (bit 7); then that difference, and value, stamp and instructions in variable length. A run
 * has no value there: its length follows, then for each eight words a byte that tells which are not zero, and those.
 * Each word is a record, without instructions but the first. */
enum {
    FORETOLD = 0x80, FROM_LAST = 0x10, COUNTED = 0x20, FAR = 0x40, RUN = 0x80,
    MOST_FORETOLD_WORK = (1 << 24) - 1, LONGEST_RUN = 32
};

static inline struct site *site_of(struct buffer *b, uint64_t location) {
    return (struct site *)((char *)b->sites + (location * 2 & (SITES - 1) * sizeof(struct site)));
}

/* What a record is: its location, then kind and size as in its head. */
static inline uint64_t what_is(enum kind k, unsigned log2size, uint64_t location) {
    return location | (uint64_t)(k | log2size << 5) << 32;
}
static inline uint64_t foretelling(uint64_t what, uint64_t work) { return what | work << 40; }

/* Bytes that differ from zero, of a number below 2^63. */
static inline unsigned bytes_of(uint64_t v) { return (63 - (unsigned)__builtin_clzll(v * 2 | 1) + 7) / 8; }

/* Appends a record that is foretold, if its address is not too far away. Its numbers are written whole: what is too much
 * of them is written over. */
static inline int put_foretold(struct buffer *b, uint64_t what, uint64_t address, uint64_t value, int valued) {
    struct site *here = site_of(b, (uint32_t)what);
    uint64_t step = zigzag((int64_t)(address - here->address));
    if (__builtin_expect((int64_t)step < 0, 0)) return 0;
    uint8_t *at = b->at;
    unsigned n = bytes_of(step), m = valued ? (63 - (unsigned)__builtin_clzll(value | 1)) / 8 + 1 : 0;
    *at = (uint8_t)(FORETOLD + n + 9 * m);
    __builtin_memcpy(at + 1, &step, 8);
    at += 1 + n;
    if (valued) __builtin_memcpy(at, &value, 8);
    here->address = address;
    b->last = here;
    b->location = (uint32_t)what;
    b->count++;
    b->at = at + m;
    return 1;
}

/* Appends a record if it is foretold. */
static inline int append_foretold(struct buffer *b, uint64_t what, uint64_t address, uint64_t value, int valued, uint64_t work) {
    if (__builtin_expect(foretelling(what, work) != b->last->next, 0)) return 0;
    if (__builtin_expect(work > MOST_FORETOLD_WORK, 0)) return 0;
    return put_foretold(b, what, address, value, valued);
}

/* What comes before the value. Without a branch as far as can be: which way it would go is hard to foretell too. */
static inline uint8_t *put_head(struct buffer *b, uint64_t what, uint64_t address, unsigned how) {
    uint64_t step = zigzag((int64_t)(address - site_of(b, (uint32_t)what)->address)), near = zigzag((int64_t)(address - b->last->address));
    uint64_t place = zigzag((int32_t)((uint32_t)what - b->location));
    uint8_t *at = b->at;
    how |= (unsigned)(near < step) * FROM_LAST;
    step = near < step ? near : step;
    unsigned n = (unsigned)(step != 0) + (63 - (unsigned)__builtin_clzll(step | 1)) / 8, far = place > 0xFFFF;
    *at = (uint8_t)(what >> 32);
    at[1] = (uint8_t)(how | n | far * FAR);
    __builtin_memcpy(at + 2, &step, 8);
    __builtin_memcpy(at + 2 + n, &place, 4);
    return at + 4 + n + far * 2;
}

static inline void appended(struct buffer *b, uint8_t *at, uint64_t what, uint64_t address, uint64_t work, uint32_t count) {
    struct site *here = site_of(b, (uint32_t)what);
    b->last->next = foretelling(what, work);
    here->address = address;
    b->last = here;
    b->location = (uint32_t)what;
    b->count += count;
    b->at = at;
}

static inline __attribute__((always_inline)) void append(struct buffer *b, enum kind k, uint64_t what, uint64_t address, uint64_t value, uint32_t stamp, uint64_t work) {
    if (work > UINT32_MAX) work = UINT32_MAX;
    uint8_t *at = put_head(b, what, address, (unsigned)(work != 0) * COUNTED);
    if (has_value(k)) at = put(at, value);
    if (has_stamp(k)) at = put(at, stamp);
    if (work >= 0x80) at = put(at, work);
    else *at = (uint8_t)work, at += work != 0;
    appended(b, at, what, address, work, 1);
}

/* Words that lie one after the other, as many as can be read at `from`; returns how many. */
static unsigned append_run(struct buffer *b, uint64_t what, uint64_t address, uint64_t from, unsigned n, uint32_t work) {
    uint8_t *at = put_head(b, what, address, RUN | (work ? COUNTED : 0)), *length, *there = NULL;
    unsigned i = 0;
    uint64_t word;
    if (work) at = put(at, work);
    length = at++;
    for (; i < n && peek(from + 8 * i, 8, &word); i++) {
        if (i % 8 == 0) {
            there = at++;
            *there = 0;
        }
        *there |= (uint8_t)((word != 0) << i % 8);
        __builtin_memcpy(at, &word, 8);
        at += 8 * (word != 0);
    }
    if (!i) return 0;
    *length = (uint8_t)i;
    appended(b, at, what, address + 8 * (i - 1), work, i);
    return i;
}

static __attribute__((noinline)) void emit_what(struct buffer *b, uint64_t what, uint64_t address, uint64_t value, uint32_t stamp, uint64_t work) {
    enum kind k = (enum kind)(what >> 32 & 31);
#ifdef BY_HOST
    if (__builtin_expect(by_host, 0) && !take_turn(b, what, address, value, stamp)) return;
    if (__builtin_expect(is_region_asked(), 0) && !in_region(b, k, address, &work)) return;
#endif
    if (has_stamp(k) || !append_foretold(b, what, address, value, has_value(k), work)) append(b, k, what, address, value, stamp, work);
    if (__builtin_expect(b->at > b->limit, 0)) hand_over(b);
    if (is_store(k) && __builtin_expect(address - shadowed_from < shadowed_bytes, 0)) shadow(b, address, 1u << (what >> 37 & 3));
}

static inline void emit_after(struct buffer *b, uint32_t work, enum kind k, unsigned log2size, uint64_t address,
                              uint32_t location, uint64_t value, uint32_t stamp) {
    emit_what(b, what_is(k, log2size, location), address, value, stamp, work);
}

/* With the instructions since the last record. */
static inline void emit(struct buffer *b, enum kind k, unsigned log2size, uint64_t address, uint32_t location,
                        uint64_t value, uint32_t stamp) {
    emit_after(b, take_work(), k, log2size, address, location, value, stamp);
}

/* A store to memory that was gone before its value was read: said where a file may have been there. */
static void lost(struct buffer *b, uint64_t address, unsigned size, uint32_t location);

/* Whole words at an aligned address, which are recorded together if the recorder has no copy of them. Returns how many
 * there were to be read at `from`. */
static unsigned run_of_words(struct buffer *b, enum kind k, uint64_t address, uint64_t from, uint64_t bytes, uint32_t location) {
    unsigned n = bytes / 8 < LONGEST_RUN ? (unsigned)(bytes / 8) : LONGEST_RUN;
    if (is_region_asked() || (is_store(k) && address < shadowed_from + shadowed_bytes && address + bytes > shadowed_from)) return 0;
    uint32_t work = take_work();
    n = append_run(b, what_is(k, 3, location), address, from, n, work);
    if (!n) own_work += work;
    if (b->at > b->limit) hand_over(b);
    return n;
}

/* An access of any size and place, in pieces that do not cross a cache line. Their values are at `from`. */
static void pieces_from(struct buffer *b, enum kind k, uint64_t address, uint64_t from, uint64_t size, uint32_t location) {
    uint64_t end = address + size, value = 0;
    /* Nobody asks what a check stores, and to look at it would count as reading. */
    if (reading && k != LOAD) return;
    while (address < end) {
        uint64_t left = end - address, to_edge = 8 - address % 8;
        unsigned log2size = 63 - (unsigned)__builtin_clzll(left < to_edge ? left : to_edge), words;
        if (k != LOAD && left >= 16 && to_edge == 8 && (words = run_of_words(b, k, address, from, left, location))) {
            address += 8 * words;
            from += 8 * words;
            continue;
        }
        if (k == LOAD || peek(from, 1u << log2size, &value)) emit(b, k, log2size, address, location, value, 0);
        else lost(b, address, 1u << log2size, location);
        address += 1u << log2size;
        from += 1u << log2size;
    }
}

static void pieces(struct buffer *b, enum kind k, uint64_t address, uint64_t size, uint32_t location) {
    pieces_from(b, k, address, address, size, location);
}

/* What is recorded of a store that is aligned: its value is part of one word. */
enum { MANIFOLD = 0xFF };
static inline uint32_t head_of_store(enum kind k, uint64_t address, uint32_t size) {
    int one = size <= 8 && (size & (size - 1)) == 0 && (address & (size - 1)) == 0;
    return one ? k | (uint32_t)__builtin_ctz(size | 16) << 5 : MANIFOLD;
}

/* A store stays pending until its copy has its value too: who compares sees one or the other. */
static __attribute__((noinline)) void settle_pending(struct buffer *b) {
    uint64_t address = b->pending, value;
    unsigned size = b->pending_size;
    enum kind k = b->pending_kind;
    if (__builtin_expect(size <= 8 && (size & (size - 1)) == 0 && (address & 63) + size <= 64, 1)) {
        if (__builtin_expect(peek(address, size, &value), 1))
            emit_after(b, b->pending_work, k, (unsigned)__builtin_ctz(size), address, b->pending_location, value, 0);
        else lost(b, address, size, b->pending_location);
    } else {
        /* What came after the store belongs to later records. */
        uint64_t later = own_work;
        own_work = b->pending_work;
        pieces(b, k, address, size, b->pending_location);
        own_work += later;
    }
    b->pending_size = 0;
}
static inline void settle(struct buffer *b) {
    if (b->pending_size) settle_pending(b);
}

static inline void pend(struct buffer *b, enum kind k, uint64_t address, uint32_t size, uint32_t location) {
    b->pending = address;
    b->pending_location = location;
    b->pending_kind = k;
    b->pending_head = head_of_store(k, address, size);
    b->pending_work = take_work();
    b->pending_size = size;
#ifdef BY_HOST
    if (by_host && size <= 8 && (size & (size - 1)) == 0) peek(address, size, &b->pending_was);
#endif
}

static struct buffer *new_buffer(void);
/* The place of a volatile read that is made now (buffers.h). */
#ifdef BY_HOST
static void tell_look(struct buffer *b);
#else
static inline void tell_look(struct buffer *b) { (void)b; }
#endif

/* The thread's buffer; none while not recording. */
static inline struct buffer *current(void) {
    struct buffer *b = self;
    if (__builtin_expect(!b, 0)) return new_buffer();
    if (__builtin_expect(b->looked.address != 0, 0)) tell_look(b);
    return b;
}

/* The same, with nothing pending. */
static inline struct buffer *begin(void) {
    struct buffer *b = current();
    if (b) settle(b);
#ifdef BY_HOST
    if (__builtin_expect(is_to_pause, 0)) stand_still();
#endif
    return b;
}
