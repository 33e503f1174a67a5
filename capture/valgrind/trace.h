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

static int open_trace(const HChar *path) {
    static const uint8_t head[16] = {'C', 'O', 'R', 'E', 'P', 'L', 'N', 'T', 3};
    trace_fd = VG_(fd_open)(path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC, 0666);
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
