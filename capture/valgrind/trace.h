/* The trace's file, and the buffers of threads that fill it. */

static int trace_fd = -1;
/* 0 in a child of fork, and once a block could not be written. */
static int recording;
/* Records in blocks that were written. */
static ULong records_written;

static void stop(const char *why) {
    if (recording) VG_(umsg)("coreplane: recording stopped: %s\n", why);
    recording = 0;
}

/* Why the trace could not be opened. */
static UWord trace_error;

/* The trace's descriptor where this program had another's place, in which the tool opened it: there it has a number beyond those that
 * programs get. -1 where there is none. */
static int inherited_trace(const HChar *path) {
    enum { AROUND = 64 };
    struct stat own, s;
    int found = -1;
    if (raw_stat(AT_FDCWD, path, &own, 0)) return -1;
    for (int fd = VG_(fd_hard_limit) - AROUND; fd < VG_(fd_hard_limit) + AROUND; fd++)
        if (fd > 2 && !raw_fstat(fd, &s) && s.st_dev == own.st_dev && s.st_ino == own.st_ino) found = fd;
    return found;
}

/* It goes to the program that this one becomes, which may be another user's. */
static void leave_trace_open(int open) {
    if (trace_fd >= 0) raw_fcntl(trace_fd, F_SETFD, open ? 0 : FD_CLOEXEC);
}

static int open_trace(const HChar *path) {
    static const uint8_t head[16] = {'C', 'O', 'R', 'E', 'P', 'L', 'N', 'T', 3};
    int inherited = inherited_trace(path);
    SysRes opened = VG_(open)(path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC, 0666);
    trace_error = sr_isError(opened) ? sr_Err(opened) : 0;
    trace_fd = sr_isError(opened) ? inherited : (int)sr_Res(opened);
    if (sr_isError(opened) && inherited >= 0) raw(SYS_ftruncate, inherited, 0, 0, 0, 0, 0);
    else if (inherited >= 0) raw_close(inherited);
    /* To where the program can neither close nor replace it. */
    if (trace_fd >= 0) trace_fd = VG_(safe_fd)(trace_fd);
    return recording = trace_fd >= 0 && VG_(write)(trace_fd, head, sizeof head) == sizeof head;
}

/* Writes a block whose contents lie behind HEADER free bytes. */
static void write_block(uint8_t *block, uint32_t kind, uint32_t thread, uint32_t count, uint32_t n) {
    put_block_head(block, kind, thread, count, n);
    if (recording && VG_(write)(trace_fd, block, (Int)(HEADER + n)) != (Int)(HEADER + n))
        stop(is_at_limit(trace_fd) ? AT_LIMIT : "no room for the trace");
}

static void write_text(const char *key, const char *value) {
    static uint8_t block[HEADER + 4400];
    size_t k = strlen(key), v = strnlen(value, 4300);
    VG_(memcpy)(block + HEADER, key, k);
    block[HEADER + k] = '\n';
    VG_(memcpy)(block + HEADER + k + 1, value, v);
    write_block(block, BLOCK_TEXT, 0, 0, (uint32_t)(k + 1 + v));
}

static void begin_block(struct buffer *b) {
    b->at = b->bytes + HEADER;
    b->limit = b->bytes + HEADER + CAPACITY - LONGEST;
    b->count = 0;
}

/* Nothing is foretold: the block can be read without those before it. */
static void forget(struct buffer *b) {
    begin_block(b);
    VG_(memset)(b->sites, 0, sizeof b->sites);
    b->last = b->sites;
    b->location = 0;
    b->first = 1;
}

/* What locations are (places.h): told before records that have them, so that a program that is ended leaves places with its records. */
static void tell_places(void);

static void write_out(struct buffer *b) {
    if (b->count) {
        tell_places();
        records_written += b->count;
        write_block(b->bytes, b->first ? BLOCK_FIRST : BLOCK_NEXT, b->thread, b->count, (uint32_t)(b->at - b->bytes - HEADER));
        b->first = 0;
    }
    begin_block(b);
}

static void hand_over(struct buffer *b) {
    if (b->at > b->limit) write_out(b);
}

/* Memory is as the program left it: nothing is kept to compare with. */
static inline void shadow(struct buffer *b, uint64_t address, unsigned size) { (void)b, (void)address, (void)size; }

static struct buffer *free_buffers;

static struct buffer *new_buffer(void) {
    struct buffer *b = free_buffers;
    if (b) free_buffers = b->next_free;
    else b = VG_(am_shadow_alloc)(sizeof *b);
    if (!b || threads >= MOST_THREADS) {
        stop(b ? "more than 65,535 threads" : "no memory for a buffer");
        return NULL;
    }
    b->thread = threads++;
    forget(b);
    return b;
}
