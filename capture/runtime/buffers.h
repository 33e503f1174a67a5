/* The threads' buffers: where they come from, and how they are handed over. */

/* One record of packed bytes: what decoding needs. Returns where the next begins, NULL when it is not whole. */
struct unpacked {
    enum kind kind;
    unsigned log2size;
    uint64_t address, value;
    uint32_t location, stamp, work;
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

static const uint8_t *unpack(const uint8_t *at, const uint8_t *end, struct unpacked *r) {
    uint64_t v;
    if (at >= end) return NULL;
    uint8_t head = *at++;
    r->kind = head & 31;
    r->log2size = head >> 5 & 3;
    at = take_number(at, end, &v);
    r->address += (uint64_t)unzigzag(v);
    at = take_number(at, end, &v);
    r->location += (uint32_t)unzigzag(v);
    r->value = 0;
    r->stamp = 0;
    if (has_value(r->kind)) at = take_number(at, end, &r->value);
    if (has_stamp(r->kind)) at = take_number(at, end, &v), r->stamp = (uint32_t)v;
    r->work = 0;
    if (head & 0x80) at = take_number(at, end, &v), r->work = (uint32_t)v;
    return at;
}

/* Where the whole records of a buffer end, and how many they are: its thread may have been stopped in any instruction. */
static uint32_t whole_records(const struct buffer *b, const uint8_t **end, struct unpacked *last) {
    const uint8_t *at = b->bytes + HEADER, *stop_at = *(uint8_t *const volatile *)&b->at, *next;
    struct unpacked r = {0};
    uint32_t count = 0;
    *last = r;
    while ((next = unpack(at, stop_at, &r))) at = next, count++, *last = r;
    *end = at;
    return count;
}

static uint8_t *full(struct buffer *b) { return b->bytes + HEADER + CAPACITY - LONGEST; }

static void reset(struct buffer *b) {
    b->at = b->bytes + HEADER;
    b->limit = full(b);
    b->address = 0;
    b->location = b->count = 0;
}

static void write_records(struct buffer *b, const uint8_t *end, uint32_t count) {
    if (count) write_block(b->bytes, BLOCK_RAW, b->thread, count, (uint32_t)(end - b->bytes - HEADER));
}

/* What a signal handler did while it interrupted a hook follows the hook's record, with stamps of now. */
static void take_side(struct buffer *b) {
    struct buffer *s = b->side;
    if (!s || !s->count) return;
    uint64_t signals = block_signals();
    struct unpacked r = {0};
    settle(s);
    s->count = 0;
    const uint8_t *at = s->bytes + HEADER, *end = s->at, *next;
    while ((next = unpack(at, end, &r))) {
        emit_after(b, r.work, r.kind, r.log2size, r.address, r.location, r.value, has_stamp(r.kind) ? next_stamp() : 0);
        at = next;
    }
    reset(s);
    if (s->overflowed) {
        s->overflowed = 0;
        write_text("note", "a signal handler that interrupted the recorder did more than could be kept");
    }
    restore_signals(signals);
}

static void write_out(struct buffer *b) {
    uint64_t signals = block_signals();
    take(&b->handing);
    if (atomic_load_explicit(&recording, memory_order_relaxed) == 1) write_records(b, b->at, b->count);
    b->handed += b->count;
    reset(b);
    give(&b->handing);
    restore_signals(signals);
}

/* The buffer is full, or a signal handler left something beside it. */
static __attribute__((noinline)) void hand_over(struct buffer *b) {
    if (b->outer) {
        b->overflowed = 1;
        reset(b);
        return;
    }
    if (b->at > full(b)) write_out(b);
    b->limit = full(b);
    take_side(b);
}

/* Writes what another thread, or an interrupted one, has recorded. It may go on meanwhile. */
static void hand_over_for(struct buffer *b) {
    const uint8_t *end;
    struct unpacked last;
    uint32_t count = whole_records(b, &end, &last);
    write_records(b, end, count);
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
    reset(b);
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
    const uint8_t *end;
    struct unpacked last;
    /* Cancelled in the midst of a hook, perhaps. */
    b->count = whole_records(b, &end, &last);
    b->at = (uint8_t *)end;
    b->address = last.address;
    b->location = last.location;
    if (b->held) give(b->held);
    b->held = NULL;
    b->busy = 0;
    settle(b);
    emit(b, END, 0, 0, 0, 0, next_stamp());
    take_side(b);
    write_out(b);
    self = NULL;
    ended = 1;
    take(&free_lock);
    b->next_free = free_buffers;
    free_buffers = b;
    give(&free_lock);
    restore_signals(signals);
}
