/* Hosts that meet: on a machine with few cores one process often ends before the next one begins, or always runs between the same
 * two waits, and a mistake that takes two of them shows only now and then. So each stands still now and then between two accesses, until
 * the others have done some, or until it is plain that they wait too: they are known to, or nothing moves for some twenty milliseconds. The first accesses often, later ones less and less: a long run
 * takes a fraction of a second more. What comes of it is one of the orders in which the program may run anyway. */

/* The counters of places, of processes, of pieces of anonymous memory, and of processes that have ended or wait for something. */
static struct { atomic_uint places, processes, memories, resting; } *among_hosts;

/* How many accesses to shared memory there were, and how many pauses are left out, since nobody moved in the last ones. */
static struct { uint64_t accesses, random; unsigned vain, left_out; } pauses;

static uint64_t draw(void) {
    /* Another sequence in each process and each recording. */
    if (!pauses.random) pauses.random = (uint64_t)raw_pid() * 0x9E3779B97F4A7C15ull | 1;
    pauses.random ^= pauses.random << 13, pauses.random ^= pauses.random >> 7;
    return pauses.random ^= pauses.random << 17;
}

static void rest(int n) {
    if (by_host) atomic_fetch_add(&among_hosts->resting, (unsigned)n);
}

/* After an access to shared memory. */
static void consider_pause(void) {
    enum { OFTEN = 4, EARLY = 512 };
    uint64_t n = ++pauses.accesses, of = n < EARLY ? OFTEN : OFTEN * n / EARLY;
    if (atomic_load_explicit(&among_hosts->processes, memory_order_relaxed) > 1 && (draw() >> 20) % of == 0) is_to_pause = 1;
}

static __attribute__((noinline)) void stand_still(void) {
    /* Some who could go on may have to wait long for a core. */
    enum { LOOKS = 6, MOST_LOOKS = 300, MOST_VAIN = 6 };
    static const struct timespec A_LITTLE = {.tv_nsec = 20000};
    is_to_pause = 0;
    if (pauses.left_out) {
        pauses.left_out--;
        return;
    }
    uint32_t from = atomic_load(&among_hosts->places), wanted = 1u << (draw() >> 20) % 8;
    unsigned moved = 0;
    for (int i = 0; i < MOST_LOOKS && moved < wanted; i++) {
        unsigned awake = atomic_load(&among_hosts->processes) - atomic_load(&among_hosts->resting);
        if (i >= LOOKS && (moved || awake < 2)) break;
        raw(SYS_nanosleep, (long)&A_LITTLE, 0, 0, 0, 0, 0);
        moved = atomic_load(&among_hosts->places) - from;
    }
    pauses.vain = moved ? 0 : pauses.vain < MOST_VAIN ? pauses.vain + 1 : MOST_VAIN;
    pauses.left_out = (1u << pauses.vain) - 1;
}
