/* Which instructions' loads and stores of ordinary memory are recorded: all, those of a region, or those of windows. What is
 * done to files, fences and locked operations are recorded always, so that files come out as they were left.
 *
 * A region has its edges after so many instructions, or where the program or a signal says so. Before it may come a warm-up, which is
 * recorded and, since the region's bounds are recorded too, simulated but not counted. For the runtime, and for the Valgrind tool. */

#define NO_EDGE (1ull << 62)

enum stage { OUTSIDE, WARMING, INSIDE };
/* What a program or a signal says: TURNS ends a region or begins one. */
enum bound { WARMS, BEGINS, ENDS, TURNS };

static struct region {
    /* As it was asked for: where it begins, how long it is, what comes before it; or windows of a length, one each so many instructions,
     * of which the next one begins at `skip`. */
    uint64_t skip, count, warm_up, every, window;
    /* Whether the program or a signal says where it begins and ends. */
    int said;
    /* Whether any of that was asked for. */
    int asked;
    enum stage stage;
    /* The instruction of the next edge. */
    uint64_t edge;
    /* Where the open one began, and how many records there were; where the first one did. */
    uint64_t from, records, first;
    /* Windows that have ended, and sums of their records each million instructions, and of the squares. */
    uint64_t windows, instructions, sum;
    double squares;
} region;

static uint64_t all_records(void);
/* Makes the recorder do what the stage asks for, after a record of the region's bound, or of none (-1): bounds are numbered from 1 on,
 * so that the odd ones begin it and threads keep their order. */
static void stage_changed(int bound);

static void close_window(uint64_t at) {
    uint64_t instructions = at - region.from, rate = instructions ? (all_records() - region.records) * 1000000 / instructions : 0;
    region.windows++;
    region.instructions += instructions;
    region.sum += rate;
    region.squares += (double)rate * (double)rate;
}

static void enter_stage(enum stage stage, uint64_t at) {
    int was_inside = region.stage == INSIDE, is_inside = stage == INSIDE;
    if (was_inside) close_window(at);
    region.stage = stage;
    stage_changed(was_inside == is_inside ? -1 : (int)(2 * region.windows) + is_inside);
    region.from = at;
    region.records = all_records();
    if (is_inside && !region.windows) region.first = at;
}

/* Where what comes before the region or the next window begins. */
static uint64_t warm_up_edge(void) { return region.skip < region.warm_up ? 0 : region.skip - region.warm_up; }

/* At its next edge. */
static void turn_region(uint64_t at) {
    if (region.stage == INSIDE) {
        region.skip += region.every;
        region.edge = region.every ? warm_up_edge() : NO_EDGE;
        enter_stage(OUTSIDE, at);
    } else if (region.stage == OUTSIDE && region.edge < region.skip) {
        region.edge = region.skip;
        enter_stage(WARMING, at);
    } else {
        uint64_t instructions = region.every ? region.window : region.count;
        region.edge = instructions ? region.edge + instructions : NO_EDGE;
        enter_stage(INSIDE, at);
    }
}

static void begin_region(void) {
    if (!region.asked) return;
    write_text("lacks", "plain loads and stores of ordinary memory outside of its region");
    stage_changed(-1);
    region.edge = region.said ? NO_EDGE : warm_up_edge();
    while (!region.edge) turn_region(0);
}

static void say_region(enum bound bound, uint64_t at) {
    if (!region.said) return;
    if (bound == TURNS) bound = region.stage == INSIDE ? ENDS : BEGINS;
    if (bound == WARMS && region.stage == OUTSIDE) enter_stage(WARMING, at);
    else if (bound == BEGINS && region.stage != INSIDE) enter_stage(INSIDE, at);
    else if (bound == ENDS && region.stage != OUTSIDE) enter_stage(OUTSIDE, at);
}

/* The least number whose square is not less. */
static uint64_t root(double square) {
    uint64_t low = 0, high = 1ull << 31;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if ((double)middle * (double)middle < square) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* What a person should know of how much was recorded, and of how far windows stand for the rest. */
static void tell_region(uint64_t at) {
    char text[400];
    if (!region.asked) return;
    if (region.stage == INSIDE) close_window(at);
    unsigned long long n = region.windows, inside = region.instructions, all = at;
    if (!n) {
        FORMAT(text, sizeof text, "the region never began: the program executed %llu instructions", all);
    } else if (n == 1) {
        FORMAT(text, sizeof text, "region: %llu of %llu instructions, from %llu on", inside, all, (unsigned long long)region.first);
    } else {
        unsigned long long mean = region.sum / n;
        double variance = (region.squares - (double)region.sum * (double)region.sum / (double)n) / (double)(n - 1);
        unsigned long long error = root(variance > 0 ? variance / (double)n : 0);
        FORMAT(text, sizeof text,
               "%llu windows: %llu of %llu instructions; %llu.%03llu records an instruction, standard error of sampling %llu.%llu %%", n, inside,
               all, mean / 1000000, mean / 1000 % 1000, mean ? error * 100 / mean : 0, mean ? error * 1000 / mean % 10 : 0);
    }
    write_text("note", text);
}
