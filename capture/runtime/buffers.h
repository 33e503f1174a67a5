/* The threads' buffers: where they come from, and how they are handed over. */

/* Whether there is another thread to meet; hosts have a place in order for every access. */
static inline int meets(void) {
    return !by_host && !reading && atomic_load_explicit(&threads, memory_order_relaxed) > 1;
}

/* Before an access that keeps its order among those of other threads and gives none to what is around it. */
static inline void turn(struct buffer *b, uint64_t address, uint32_t location, uint32_t stamp, int stores) {
    emit(b, TURN, 0, address, location, (uint64_t)stores, stamp);
}

/* Every access goes the slow way where each has a place among those of all hosts, or is perhaps left out. */
static uint64_t bytes_of_code(void) { return by_host || is_region_asked() ? 0 : (uint64_t)(_end - __ehdr_start); }

/* A hook runs before the read that it tells of, and the thread may have waited in between: whoever stored what was read was
 * first. So the place of such a read is that of the next record, which goes the slow way. */
static void look(struct buffer *b, struct look l) {
    b->looked = l;
    b->code_bytes = 0;
}
static void forget_look(struct buffer *b) {
    b->looked.address = 0;
    b->wider_words = 0;
    b->code_bytes = bytes_of_code();
}
static void look_again(struct buffer *b);
static void tell_look(struct buffer *b) {
    struct look l = b->looked;
    if (by_host) look_again(b);
    forget_look(b);
    if (!by_host) turn(b, l.address, l.location, next_stamp(), 0);
}

/* One record of packed bytes: what decoding needs. Returns where the next begins, NULL when it is not whole. */
struct unpacked {
    enum kind kind;
    unsigned log2size;
    uint64_t address, value;
    uint32_t location, stamp, work;
    /* Of a run: the words that follow, and which of the next of them are not zero, with a bit above them. */
    unsigned words, bits;
};

static const uint8_t *take_number(const uint8_t *at, const uint8_t *end, uint64_t *v) {
    *v = 0;
    for (unsigned shift = 0; at && at < end && shift < 70; shift += 7) {
        *v |= (uint64_t)(*at & 0x7F) << shift;
        if (!(*at++ & 0x80)) return at;
    }
    return NULL;
}

static int64_t unzigzag(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }

/* The number of n bytes. */
static const uint8_t *take_bytes(const uint8_t *at, const uint8_t *end, unsigned n, uint64_t *v) {
    *v = 0;
    if (!at || end - at < n) return NULL;
    for (unsigned i = 0; i < n; i++) *v |= (uint64_t)at[i] << 8 * i;
    return at + n;
}

static void place_unpacked(struct buffer *b, uint64_t what, uint64_t address, struct unpacked *r) {
    struct site *here = site_of(b, (uint32_t)what);
    r->kind = what >> 32 & 31;
    r->log2size = what >> 37 & 3;
    r->location = b->location = (uint32_t)what;
    r->address = here->address = address;
    b->last = here;
}

static const uint8_t *next_word(struct buffer *b, const uint8_t *at, const uint8_t *end, struct unpacked *r) {
    uint64_t bits = r->bits;
    if (bits <= 1) at = take_bytes(at, end, 1, &bits), bits |= 256;
    at = take_bytes(at, end, bits & 1 ? 8 : 0, &r->value);
    r->bits = (unsigned)bits >> 1;
    r->words--;
    r->work = 0;
    r->address = b->last->address += 8;
    return at;
}

/* The next record of bytes that `b` packed, with its table as it was then. */
static const uint8_t *unpack(struct buffer *b, const uint8_t *at, const uint8_t *end, struct unpacked *r) {
    if (r->words) return next_word(b, at, end, r);
    if (at >= end) return NULL;
    unsigned head = *at++;
    uint64_t what = head, step, v = 0;
    struct site *last = b->last;
    *r = (struct unpacked){0};
    if (head & FORETOLD) {
        what = last->next;
        r->work = (uint32_t)(what >> 40);
        at = take_bytes(take_bytes(at, end, (head - FORETOLD) % 9, &step), end, (head - FORETOLD) / 9, &r->value);
        place_unpacked(b, what, site_of(b, (uint32_t)what)->address + (uint64_t)unzigzag(step), r);
        return at;
    }
    unsigned how = at < end ? *at++ : 0;
    at = take_bytes(take_bytes(at, end, how & 15, &step), end, how & FAR ? 4 : 2, &v);
    what = what << 32 | (uint32_t)(b->location + (uint32_t)unzigzag(v));
    if (has_value(head & 31) && !(how & RUN)) at = take_number(at, end, &r->value);
    if (has_stamp(head & 31)) at = take_number(at, end, &v), r->stamp = (uint32_t)v;
    if (how & COUNTED) at = take_number(at, end, &v), r->work = (uint32_t)v;
    last->next = foretelling(what, r->work);
    place_unpacked(b, what, (how & FROM_LAST ? last : site_of(b, (uint32_t)what))->address + (uint64_t)unzigzag(step), r);
    if (!at || !(how & RUN)) return at;
    at = take_bytes(at, end, 1, &v);
    r->words = (unsigned)v;
    /* The first word comes with what was said of it. */
    r->address = b->last->address -= 8;
    struct unpacked first = *r;
    at = next_word(b, at, end, r);
    r->work = first.work;
    return at;
}

/* Where the next record or run begins: all that can be said without the table. NULL when it is not whole. */
static const uint8_t *skip(const uint8_t *at, const uint8_t *end, uint32_t *count) {
    uint64_t v, words = 1;
    if (at >= end) return NULL;
    unsigned head = *at++;
    *count += 1;
    if (head & FORETOLD) {
        unsigned n = (head - FORETOLD) % 9 + (head - FORETOLD) / 9;
        return end - at < n ? NULL : at + n;
    }
    if (at >= end) return NULL;
    unsigned how = *at++, numbers = 0u + (has_value(head & 31) && !(how & RUN)) + has_stamp(head & 31) + ((how & COUNTED) != 0);
    at = take_bytes(take_bytes(at, end, how & 15, &v), end, how & FAR ? 4 : 2, &v);
    while (numbers--) at = take_number(at, end, &v);
    if (!at || !(how & RUN)) return at;
    at = take_bytes(at, end, 1, &words);
    *count += (uint32_t)words - 1;
    for (uint64_t i = 0; at && i < words; i += 8) {
        at = take_bytes(at, end, 1, &v);
        unsigned n = 8 * (unsigned)__builtin_popcountll(v);
        if (!at || end - at < n) return NULL;
        at += n;
    }
    return at;
}

/* Where the whole records of a buffer end, and how many they are: its thread may have been stopped in any instruction. */
static uint32_t whole_records(const struct buffer *b, const uint8_t **end) {
    const uint8_t *at = b->bytes + HEADER, *stop_at = *(uint8_t *const volatile *)&b->at, *next;
    uint32_t count = 0, more = 0;
    while ((next = skip(at, stop_at, &more))) at = next, count = more;
    *end = at;
    return count;
}

static uint8_t *full(struct buffer *b) { return b->bytes + HEADER + CAPACITY - LONGEST; }

static void begin_block(struct buffer *b) {
    b->at = b->bytes + HEADER;
    b->limit = full(b);
    b->count = 0;
}

/* Nothing is foretold: the block can be read without those before it. */
static void forget(struct buffer *b) {
    begin_block(b);
    raw(SYS_madvise, (long)b->sites, sizeof b->sites, MADV_DONTNEED, 0, 0, 0);
    b->last = b->sites;
    b->location = 0;
    b->first = 1;
}

static void write_records(struct buffer *b, const uint8_t *end, uint32_t count) {
    uint32_t kind = b->first ? BLOCK_FIRST : BLOCK_NEXT;
    if (count) write_block(b->bytes, kind, b->thread, count, (uint32_t)(end - b->bytes - HEADER));
}

/* What a signal handler did while it interrupted a hook follows the hook's record, with stamps of now. */
static void take_side(struct buffer *b) {
    struct buffer *s = b->side;
    if (!s || !s->count) return;
    uint64_t signals = block_signals();
    struct unpacked r = {0};
    settle(s);
    const uint8_t *at = s->bytes + HEADER, *end = s->at, *next;
    forget(s);
    while ((next = unpack(s, at, end, &r))) {
        emit_after(b, r.work, r.kind, r.log2size, r.address, r.location, r.value, has_stamp(r.kind) ? next_stamp() : 0);
        at = next;
    }
    forget(s);
    if (s->overflowed) {
        s->overflowed = 0;
        write_text("note", "a signal handler that interrupted the recorder did more than could be kept");
    }
    restore_signals(signals);
}

static void write_out(struct buffer *b) {
    uint64_t signals = block_signals();
    take(&b->handing);
    int written = atomic_load_explicit(&recording, memory_order_relaxed) == 1;
    if (written) write_records(b, b->at, b->count);
    b->handed += b->count;
    b->first &= !written || !b->count;
    /* What follows cannot lean on a block that is not there. What a check reads is told of each block by itself. */
    if (written && !reading) begin_block(b);
    else forget(b);
    give(&b->handing);
    restore_signals(signals);
}

/* The buffer is full, or a signal handler left something beside it. */
static __attribute__((noinline)) void hand_over(struct buffer *b) {
    if (b->outer) {
        b->overflowed = 1;
        forget(b);
        return;
    }
    if (b->at > full(b)) write_out(b);
    b->limit = full(b);
    take_side(b);
}

/* Writes what another thread, or an interrupted one, has recorded. It may go on meanwhile. */
static void hand_over_for(struct buffer *b) {
    const uint8_t *end;
    uint32_t count = whole_records(b, &end);
    write_records(b, end, count);
}

/* The thread was stopped in the midst of a record, perhaps, and does not go on with it. */
static void leave_record(struct buffer *b) {
    const uint8_t *end;
    b->count = whole_records(b, &end);
    b->at = (uint8_t *)end;
    write_out(b);
    forget(b);
    struct buffer *own = b;
    if (b->held) atomic_compare_exchange_strong(b->held, &own, NULL);
    b->held = NULL;
    b->busy = 0;
}

static atomic_flag free_lock = ATOMIC_FLAG_INIT;
static struct buffer *free_buffers;

static struct buffer *free_buffer(void) {
    /* A signal handler may find the lock taken by its own thread: it gets a fresh one. */
    if (atomic_flag_test_and_set_explicit(&free_lock, memory_order_acquire)) return NULL;
    struct buffer *b = free_buffers;
    if (b) free_buffers = b->next_free;
    give(&free_lock);
    return b;
}

static struct buffer *fresh_buffer(void) {
    struct buffer *b = raw_memory(sizeof *b);
    if (!b) {
        stop("no memory for a buffer");
        return NULL;
    }
    give(&b->handing);
    b->code_bytes = bytes_of_code();
    forget(b);
    return b;
}

static __attribute__((noinline)) struct buffer *new_buffer(void) {
    if (ended || atomic_load_explicit(&recording, memory_order_relaxed) != 1 || raw_pid() != owner) return NULL;
    uint64_t signals = block_signals();
    struct buffer *b = free_buffer();
    int known = b != NULL;
    if (!b) b = fresh_buffer();
    if (b) {
        b->thread = atomic_fetch_add(&threads, 1);
        if (b->thread >= MOST_THREADS) stop("more than 65,535 threads");
        b->endings = 0;
        forget_look(b);
        b->depth = 0;
        b->loads.count = b->loads.next = b->stores.count = b->stores.next = 0;
        b->has_released = 0;
        if (!known) {
            b->next = atomic_load(&all_buffers);
            while (!atomic_compare_exchange_weak(&all_buffers, &b->next, b)) {}
        }
        self = b;
        pthread_setspecific(at_thread_end, b);
        emit(b, START, 0, 0, 0, 0, next_stamp());
    }
    restore_signals(signals);
    return b;
}

/* The thread ends: by itself, cancelled, or with the destructors of its values still to run. The last of their rounds
 * ends its records. */
static void end_thread(void *p) {
    struct buffer *b = p;
    if (++b->endings < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(at_thread_end, b) == 0) return;
    uint64_t signals = block_signals();
    /* Cancelled in the midst of a hook, perhaps. */
    leave_record(b);
    if (by_host && b->looked.address) tell_look(b);
    settle(b);
    emit(b, END, 0, 0, 0, 0, next_stamp());
    take_side(b);
    write_out(b);
    forget(b);
    self = NULL;
    ended = 1;
    take(&free_lock);
    b->next_free = free_buffers;
    free_buffers = b;
    give(&free_lock);
    restore_signals(signals);
}
