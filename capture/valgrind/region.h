/* Which instructions' loads and stores of ordinary memory are recorded: all, those of a region, or those of windows. What is
 * done to files, fences and locked operations are recorded always, so that files come out as they were left.
 *
 * Instructions are counted a block at a time: a region begins and ends at the first block after its edge. */

#define NO_EDGE (1ull << 62)

static struct region {
    /* As it was asked for: where it begins, how long it is; or windows of a length, one each so many instructions. */
    ULong skip, count, every, window;
    /* Whether the program says where it begins and ends (coreplane.h). */
    Bool said;
    /* Whether any of that was asked for. */
    int counts;
    /* The instruction of the next edge, and how many there are until then. */
    ULong edge;
    Long left;
    /* Where the open one began, and how many records there were. */
    ULong from, records;
    /* Windows that have ended, and sums of their records each million instructions, and of the squares. */
    ULong windows, instructions, sum;
    double squares;
} region;

static ULong now(void) { return region.edge - (ULong)region.left; }

static void set_edge(ULong at, ULong edge) {
    region.edge = edge;
    region.left = (Long)(edge - at);
}

static ULong all_records(void) {
    ULong all = records_written;
    for (UInt tid = 1; tid < VG_N_THREADS; tid++)
        if (of_tid[tid].b) all += of_tid[tid].b->count;
    return all;
}

/* The least number whose square is not less. */
static ULong root(double square) {
    ULong low = 0, high = 1ull << 31;
    while (low < high) {
        ULong middle = (low + high) / 2;
        if ((double)middle * (double)middle < square) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void open_region(ULong at) {
    outside = 0;
    if (!filtered) special &= ~(uint64_t)FILTER;
    own_work = 0;
    for (UInt tid = 1; tid < VG_N_THREADS; tid++) of_tid[tid].work = 0;
    region.from = at;
    region.records = all_records();
}

static void close_region(ULong at) {
    ULong instructions = at - region.from, rate = 0;
    outside = 1;
    special |= FILTER;
    if (instructions) rate = (all_records() - region.records) * 1000000 / instructions;
    region.windows++;
    region.instructions += instructions;
    region.sum += rate;
    region.squares += (double)rate * (double)rate;
}

static void turn_region(void) {
    ULong at = now();
    if (outside) {
        open_region(at);
        set_edge(at, region.every ? region.edge + region.window : region.count ? region.edge + region.count : NO_EDGE);
    } else {
        close_region(at);
        set_edge(at, region.every ? region.edge + region.every - region.window : NO_EDGE);
    }
}

/* At an edge, perhaps several of them: a block may be longer than a window. */
static void on_edge(void) {
    if (!recording) return;
    while (region.left < 0) turn_region();
}

static void begin_region(void) {
    if (!region.counts) return;
    outside = 1;
    special |= FILTER;
    write_text("lacks", "plain loads and stores of ordinary memory outside of its region");
    set_edge(0, region.said ? NO_EDGE : region.skip);
    if (!region.said && !region.skip) turn_region();
}

/* What the program says: 1 where a region begins. */
static void said_region(int begins) {
    if (!region.said || outside != begins) return;
    if (begins) open_region(now());
    else close_region(now());
}

/* What a person should know of how much was recorded, and of how far windows stand for the rest. */
static void tell_region(void) {
    HChar text[400];
    if (!region.counts) return;
    ULong at = now(), n;
    if (!outside) close_region(at);
    n = region.windows;
    if (!n) {
        VG_(snprintf)(text, sizeof text, "the region never began: the program executed %llu instructions", at);
    } else if (n == 1) {
        VG_(snprintf)(text, sizeof text, "region: %llu of %llu instructions, from %llu on", region.instructions, at, region.from);
    } else {
        ULong mean = region.sum / n;
        double variance = (region.squares - (double)region.sum * (double)region.sum / (double)n) / (double)(n - 1);
        ULong error = root(variance > 0 ? variance / (double)n : 0);
        VG_(snprintf)(text, sizeof text,
                      "%llu windows: %llu of %llu instructions; %llu.%03llu records an instruction, standard error of sampling %llu.%llu %%", n,
                      region.instructions, at, mean / 1000000, mean / 1000 % 1000, mean ? error * 100 / mean : 0,
                      mean ? error * 1000 / mean % 10 : 0);
    }
    write_text("note", text);
}

static Bool read_region_option(const HChar *argument) {
    if VG_BINT_CLO (argument, "--skip", region.skip, 0, 1ll << 60) {}
    else if VG_BINT_CLO (argument, "--count", region.count, 1, 1ll << 60) {}
    else if VG_BINT_CLO (argument, "--every", region.every, 2, 1ll << 60) {}
    else if VG_BINT_CLO (argument, "--window", region.window, 1, 1ll << 60) {}
    else if VG_BOOL_CLO (argument, "--region", region.said) {}
    else return False;
    region.counts = 1;
    return True;
}
