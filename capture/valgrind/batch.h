/* Plain accesses that one call records: those that nothing between interrupts, of a stretch of code that is left only at its end.
 * What is known of them when code is translated stands in a batch; addresses and what stores leave are put into words beside the
 * program's registers (Valgrind keeps room there for what tools know of registers). */

enum { MOST_OF_BATCH = 8, WORDS_OF_BATCH = 1 + 2 * MOST_OF_BATCH, BATCH_OFFSET = sizeof(VexGuestAMD64State) };

struct batch {
    struct batch *next;
    UWord key;
    unsigned n;
    /* As for accessed(); all bits where it is a store; the instruction. */
    uint64_t what[MOST_OF_BATCH], valued[MOST_OF_BATCH];
    Addr code[MOST_OF_BATCH];
};

/* Those that there are: code that is translated anew has the same. */
static VgHashTable *batches;

static Word batches_differ(const void *a, const void *b) {
    const struct batch *x = a, *y = b;
    SizeT bytes = x->n * sizeof *x->what;
    return x->n != y->n || VG_(memcmp)(x->what, y->what, bytes) || VG_(memcmp)(x->code, y->code, bytes);
}

static const struct batch *kept_batch(const struct batch *made) {
    struct batch *known = VG_(HT_gen_lookup)(batches, made, batches_differ);
    if (known) return known;
    known = VG_(malloc)("coreplane", sizeof *known);
    *known = *made;
    VG_(HT_add_node)(batches, known);
    return known;
}

/* The first n of them, one after the other. */
static __attribute__((noinline)) void batch_slowly(const struct batch *d, const uint64_t *words, unsigned n) {
    for (unsigned i = 0; i < n; i++) access_slowly(d->what[i], words[1 + i], words[1 + MOST_OF_BATCH + i] & d->valued[i]);
}

static inline __attribute__((always_inline)) void batch_of(uint8_t *registers, const struct batch *d, unsigned n) {
    uint64_t *words = (uint64_t *)(registers + BATCH_OFFSET), work = own_work;
    struct buffer *b = self;
    words[0] = 0;
    if (__builtin_expect((special | work >> MOST_WORK_BITS) != 0, 0)) {
        batch_slowly(d, words, n);
        return;
    }
    own_work = 0;
    uint8_t *at = b->at;
    struct site *last = b->last;
    unsigned counted = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t what = d->what[i] + (i ? 0 : work << 40), address = words[1 + i], value = words[1 + MOST_OF_BATCH + i] & d->valued[i];
        struct site *here = site_of(b, (uint32_t)what);
        uint64_t step = zigzag((int64_t)(address - here->address));
        if (__builtin_expect((what ^ last->next) | step >> 63, 0)) {
            b->at = at;
            b->last = last;
            if (i) b->location = (uint32_t)d->what[i - 1];
            b->count += i - counted;
            counted = i + 1;
            emit_what(b, WHAT(what), address, value, 0, what >> 40);
            at = b->at;
            last = b->last;
            continue;
        }
        at = foretold_at(at, step, value, d->valued[i] & 1);
        here->address = address;
        last = here;
    }
    b->at = at;
    b->last = last;
    b->location = (uint32_t)d->what[n - 1];
    b->count += n - counted;
    if (__builtin_expect(at > b->limit, 0)) write_out(b);
}

#define BATCH(n) \
    static void on_batch##n(uint8_t *registers, const struct batch *d) { batch_of(registers, d, n); }
BATCH(2) BATCH(3) BATCH(4) BATCH(5) BATCH(6) BATCH(7) BATCH(8)

/* A signal comes, or the end: where an access of a batch faulted, those before it were made. */
static void finish_batch(ThreadId tid) {
    uint64_t words[WORDS_OF_BATCH];
    if (tid == VG_INVALID_THREADID || tid != running) return;
    VG_(get_shadow_regs_area)(tid, (UChar *)words, 1, 0, sizeof words);
    const struct batch *d = (const struct batch *)words[0];
    if (!d) return;
    Addr at = VG_(get_IP)(tid);
    unsigned n = 0;
    while (n < d->n && d->code[n] != at) n++;
    batch_slowly(d, words, n);
    words[0] = 0;
    VG_(set_shadow_regs_area)(tid, 1, 0, sizeof *words, (const UChar *)words);
}

static void signal_comes(ThreadId tid, Int number, Bool other_stack) {
    (void)number, (void)other_stack;
    finish_batch(tid);
}
