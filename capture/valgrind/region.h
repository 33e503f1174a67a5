/* The region that is recorded (runtime/region.h), where Valgrind executes the program. Instructions are counted a block at a time: a
 * region begins and ends at the first block after its edge. */

#define FORMAT VG_(snprintf)
/* How many instructions there are until the next edge; what instrumented code counts down. */
static Long left_of_region;

#include "../runtime/region.h"

static ULong now(void) { return region.edge - (ULong)left_of_region; }

static uint64_t all_records(void) {
    uint64_t all = records_written;
    for (UInt tid = 1; tid < VG_N_THREADS; tid++)
        if (of_tid[tid].b) all += of_tid[tid].b->count;
    return all;
}

static void say_bound(int bound) {
    unsaid = bound == 1 && !self;
    if (self) emit(self, REGION, 0, 0, 0, (uint64_t)bound, 0);
}

static void stage_changed(int bound) {
    if (bound >= 0) say_bound(bound);
    if (region.stage == OUTSIDE) {
        outside = 1;
        special |= FILTER;
        return;
    }
    if (!outside) return;
    outside = 0;
    if (!filtered) special &= ~(uint64_t)FILTER;
    own_work = 0;
    for (UInt tid = 1; tid < VG_N_THREADS; tid++) of_tid[tid].work = 0;
}

/* At an edge, perhaps several of them: a block may be longer than a window. */
static void on_edge(void) {
    if (!recording) return;
    while (left_of_region < 0) {
        ULong at = now();
        turn_region(at);
        left_of_region = (Long)(region.edge - at);
    }
}

static void start_region(void) {
    begin_region();
    left_of_region = (Long)region.edge;
}

static void said_region(enum bound bound) { say_region(bound, now()); }

static void finish_region(void) { tell_region(now()); }

static Bool read_region_option(const HChar *argument) {
    if VG_BINT_CLO (argument, "--skip", region.skip, 0, 1ll << 60) {}
    else if VG_BINT_CLO (argument, "--count", region.count, 1, 1ll << 60) {}
    else if VG_BINT_CLO (argument, "--warm-up", region.warm_up, 1, 1ll << 60) {}
    else if VG_BINT_CLO (argument, "--every", region.every, 2, 1ll << 60) {}
    else if VG_BINT_CLO (argument, "--window", region.window, 1, 1ll << 60) {}
    else if VG_BOOL_CLO (argument, "--region", region.said) {}
    else return False;
    region.asked = 1;
    return True;
}
