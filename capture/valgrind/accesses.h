/* What instrumented code calls. `what` is a record as records.h has it: location, kind and size, and above them the
 * instructions since the block's last record. */

/* The memory whose plain loads and stores are recorded, where not all is: a range, or files. */
static uint64_t kept_from, kept_bytes;
static int keeps_files;
/* Whether that was asked for. */
static int filtered;

/* What no access may pass over: another thread ran, so that the next record is to come after it in the order of all; not all
 * of memory is recorded. */
enum { IN_TURN = 1, FILTER = 2 };
static uint64_t special;

static inline int is_kept(uint64_t address) {
    if (!(special & FILTER)) return 1;
    if (!keeps_files && !outside) return address - kept_from < kept_bytes;
    return address - shadowed_from < shadowed_bytes && find_mapping(self, address) != NULL;
}

static inline enum kind kind_of(uint64_t what) { return what >> 32 & 31; }
static inline unsigned log2size_of(uint64_t what) { return what >> 37 & 3; }

/* Turns are Valgrind's, and no synchronisation of the program: where one ends or begins is told apart from what the program does, as
 * an order of the recording. All of them are kept at one place, which is no memory: MEETINGS of the hooks' runtime and of replays. */
#define ALL_TURNS (1ull << 61)
/* Whether a turn has ended. Before that there is nothing to come after. */
static int turned;

static void tell_turn(struct buffer *b, uint32_t location, uint64_t ends) { emit_after(b, 0, TURN, 0, ALL_TURNS, location, ends, next_stamp()); }

/* The thread that runs gives way. One of which nothing was recorded meanwhile has nothing to be waited for. */
static void end_turn(void) {
    if (!self || threads < 2 || special & IN_TURN) return;
    turned = 1;
    tell_turn(self, 0, 1);
}

/* What the thread does comes after other threads' turns. */
static void come_after(struct buffer *b, uint32_t location) {
    if (!turned || !(special & IN_TURN)) return;
    special &= ~(uint64_t)IN_TURN;
    tell_turn(b, location, 0);
}

/* Takes a place in the order, before records that cannot have one. */
static void take_turn(struct buffer *b, uint64_t address, uint32_t location) {
    come_after(b, location);
    if (!(special & IN_TURN)) return;
    special &= ~(uint64_t)IN_TURN;
    emit_after(b, 0, LOAD_ACQUIRE, 0, address, location, 0, next_stamp());
}

/* The first record of all: every load of this architecture acquires, and every store releases. */
static void emit_first(struct buffer *b, uint64_t what, uint64_t address, uint64_t value, uint32_t work) {
    enum kind kind = kind_of(what), stronger = kind == LOAD ? LOAD_ACQUIRE : kind == STORE ? STORE_RELEASE : kind;
    if (stronger == kind && !has_stamp(kind)) take_turn(b, address, (uint32_t)what);
    special &= ~(uint64_t)IN_TURN;
    emit_after(b, work, stronger, log2size_of(what), address, (uint32_t)what, value, has_stamp(stronger) ? next_stamp() : 0);
}

static inline __attribute__((always_inline)) uint64_t work_of(uint64_t what) {
    uint64_t work = outside ? 0 : what >> 40;
    if (own_work) work += take_whole_work();
    return work;
}
#define WHAT(what) ((what) & ((1ull << 40) - 1))

/* What does not go the fast way. */
static __attribute__((noinline)) void access_slowly(uint64_t what, uint64_t address, uint64_t value) {
    uint64_t work = work_of(what);
    what = WHAT(what);
    if (!is_kept(address)) {
        own_work = work;
        return;
    }
    come_after(self, (uint32_t)what);
    if (special & IN_TURN) emit_first(self, what, address, value, (uint32_t)work);
    else emit_what(self, what, address, value, 0, work);
}

/* Of a tenth of all records, which are not foretold: where a loop ends or a branch goes the other way. */
static __attribute__((noinline)) void append_load(struct buffer *b, uint64_t what, uint64_t address, uint64_t work) {
    append(b, LOAD, what, address, 0, 0, work);
}
static __attribute__((noinline)) void append_store(struct buffer *b, uint64_t what, uint64_t address, uint64_t value, uint64_t work) {
    append(b, STORE, what, address, value, 0, work);
}

/* A record with the instructions of former blocks, whatever they were: as it was foretold, or else whole. */
static inline __attribute__((always_inline)) void accessed(uint64_t what, uint64_t address, uint64_t value, int valued) {
    enum { MOST_WORK_BITS = 23 };
    struct buffer *b = self;
    uint64_t work = own_work;
    if (__builtin_expect(special | work >> MOST_WORK_BITS, 0)) {
        access_slowly(what, address, value);
        return;
    }
    own_work = 0;
    if (__builtin_expect((what + (work << 40)) ^ b->last->next, 0) || __builtin_expect(!put_foretold(b, what, address, value, valued), 0)) {
        work += what >> 40;
        if (valued) append_store(b, WHAT(what), address, value, work);
        else append_load(b, WHAT(what), address, work);
    }
    if (__builtin_expect(b->at > b->limit, 0)) write_out(b);
}

static void on_load(uint64_t what, uint64_t address) { accessed(what, address, 0, 0); }
static void on_loads(uint64_t what, uint64_t address, uint64_t next, uint64_t next_address) {
    accessed(what, address, 0, 0);
    accessed(next, next_address, 0, 0);
}
/* After the store: its value is in memory. */
static void on_store1(uint64_t what, uint64_t address) { accessed(what, address, *(uint8_t *)address, 1); }
static void on_store2(uint64_t what, uint64_t address) { accessed(what, address, *(uint16_t *)address, 1); }
static void on_store4(uint64_t what, uint64_t address) { accessed(what, address, *(uint32_t *)address, 1); }
static void on_store8(uint64_t what, uint64_t address) { accessed(what, address, *(uint64_t *)address, 1); }

/* An access that is wider than a word, or that no single record can hold. */
static void on_wide(uint64_t what, uint64_t address, uint64_t size) {
    uint64_t work = work_of(what);
    own_work = work;
    if (!is_kept(address)) return;
    take_turn(self, address, (uint32_t)what);
    pieces(self, kind_of(what), address, size, (uint32_t)what);
}

static int is_word(unsigned size) { return size <= 8 && (size & (size - 1)) == 0; }

/* A store by the C library: of one to a file the place is its caller's. */
static void on_system_store(uint64_t what, uint64_t address, uint64_t size) {
    uint64_t value;
    if (address - shadowed_from < shadowed_bytes && find_mapping(self, address)) {
        uint32_t caller = storing_caller();
        if (caller) what = what >> 32 << 32 | caller;
    }
    if (!is_word((unsigned)size)) {
        on_wide(what, address, size);
        return;
    }
    peek(address, (unsigned)size, &value);
    accessed(what, address, value, 1);
}

/* A locked operation, after it: what it left. Recorded wherever it is, since it orders. */
static void on_locked(uint64_t what, uint64_t address) {
    uint64_t value, work = work_of(what);
    come_after(self, (uint32_t)what);
    special &= ~(uint64_t)IN_TURN;
    peek(address, 1u << log2size_of(what), &value);
    emit_after(self, (uint32_t)work, kind_of(what), log2size_of(what), address, (uint32_t)what, value, next_stamp());
}

static void on_flush(uint64_t what, uint64_t address) {
    uint64_t work = work_of(what);
    if (!is_kept(address)) {
        own_work = work;
        return;
    }
    take_turn(self, address, (uint32_t)what);
    emit_after(self, (uint32_t)work, kind_of(what), 0, address, (uint32_t)what, 0, 0);
}

static void on_fence(uint64_t what) {
    uint64_t work = work_of(what);
    come_after(self, (uint32_t)what);
    emit_after(self, (uint32_t)work, kind_of(what), 0, 0, (uint32_t)what, 0, 0);
}
