/* The region that is recorded (region.h), of a program with hooks. Where there is one no access goes the fast way of accesses.h: each
 * asks here, and its instructions are counted. */

int __real_vsnprintf(char *, size_t, const char *, va_list);
static __attribute__((format(printf, 3, 4))) void format_text(char *text, size_t room, const char *format, ...) {
    va_list values;
    va_start(values, format);
    __real_vsnprintf(text, room, format, values);
    va_end(values);
}
#define FORMAT format_text

#include "region.h"

static inline int is_region_asked(void) { return region.asked; }

/* Instructions and records of all threads, as far as they have told. */
static _Atomic uint64_t all_executed, all_kept;
/* A thread tells when it has executed so many. */
static _Atomic uint64_t told_after = 1;
/* Whether plain accesses are left out. */
static atomic_int outside;
/* A region began before there was a thread. */
static atomic_int unsaid;
/* Held while the stage changes. */
static atomic_flag region_lock = ATOMIC_FLAG_INIT;

/* What the thread that changes the stage has executed since its last record, under the lock: it comes before the bound. */
static uint64_t *before_bound;

static uint64_t all_records(void) { return all_kept; }

static void say_bound(int bound) {
    uint64_t work = before_bound && !outside ? *before_bound : 0;
    unsaid = bound == 1 && !self;
    if (self) emit_after(self, counted_work(work), REGION, 0, 0, 0, (uint64_t)bound, 0);
}

static void stage_changed(int bound) {
    if (bound >= 0) say_bound(bound);
    if (before_bound) *before_bound = 0;
    outside = region.stage == OUTSIDE;
}

static void turn_at(uint64_t at, uint64_t *work) {
    uint64_t signals = block_signals();
    take(&region_lock);
    before_bound = work;
    while (region.edge <= at) turn_region(at);
    before_bound = NULL;
    give(&region_lock);
    restore_signals(signals);
}

/* The last `work` of it stands in no record yet. */
static void tell_executed(struct buffer *b, uint64_t *work) {
    all_kept += b->kept;
    uint64_t at = atomic_fetch_add(&all_executed, b->executed) + b->executed;
    b->kept = b->executed = 0;
    if (at >= region.edge) turn_at(at, work);
    told_after = (region.edge - at) / 8 < 4096 ? (region.edge - at) / 8 + 1 : 4096;
}

static int is_of_file(struct buffer *b, uint64_t address);

/* Whether there is to be a record; instructions outside of the region are not told. */
static int in_region(struct buffer *b, enum kind k, uint64_t address, uint64_t *work) {
    if (k == REGION) return 1;
    if (unsaid && k != START) say_bound(1);
    b->executed += *work;
    if (b->executed >= told_after) tell_executed(b, work);
    b->kept += !outside;
    if (!outside) return 1;
    *work = 0;
    return k > CLFLUSH || (k >= LOAD_ACQUIRE && k <= RMW) || is_of_file(b, address);
}

static uint64_t instructions_now(struct buffer *b) {
    if (b) tell_executed(b, NULL);
    return all_executed;
}

static void said_region(enum bound bound) {
    struct buffer *b = region.said ? begin() : NULL;
    if (!b) return;
    uint64_t signals = block_signals(), before = instructions_now(b), work = take_whole_work(), at = before + work;
    take(&region_lock);
    before_bound = &work;
    say_region(bound, at);
    before_bound = NULL;
    give(&region_lock);
    /* Where nothing changed the thread's next record tells it. */
    all_executed += at - before - work;
    own_work += work;
    restore_signals(signals);
}
EXPORT void coreplane_region_warms(void) { said_region(WARMS); }
EXPORT void coreplane_region_begins(void) { said_region(BEGINS); }
EXPORT void coreplane_region_ends(void) { said_region(ENDS); }

/* SIGUSR2, which the program has no handler for. */
static void on_region_signal(int number) {
    (void)number;
    said_region(TURNS);
}

static void finish_region(struct buffer *b) {
    if (region.asked) tell_region(instructions_now(b));
}

/* The number behind a word of what was asked for; 0 where it is not there. */
static uint64_t asked_number(const char *asked, const char *word) {
    uint64_t number = 0;
    for (size_t n = strlen(word); *asked; asked++) {
        if (strncmp(asked, word, n)) continue;
        for (asked += n; *asked >= '0' && *asked <= '9'; asked++) number = number * 10 + (uint64_t)(*asked - '0');
        break;
    }
    return number;
}

static void take_region_signal(void);

/* What is asked for, in the words of the Valgrind tool. */
static void start_region(void) {
    const char *asked = getenv("COREPLANE_REGION");
    if (!asked || !*asked || by_host) return;
    region.skip = asked_number(asked, "--skip=");
    region.count = asked_number(asked, "--count=");
    region.warm_up = asked_number(asked, "--warm-up=");
    region.every = asked_number(asked, "--every=");
    region.window = asked_number(asked, "--window=");
    region.said = strstr(asked, "--region") != NULL;
    region.asked = 1;
    begin_region();
    if (strstr(asked, "--region-signal")) take_region_signal();
}
