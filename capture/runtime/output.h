/* Blocks of the trace: one system call each, on a descriptor that is surely ours. */

static int trace_fd = -1;
static char trace_path[4096];
static uint64_t trace_device, trace_inode;
static atomic_flag trace_lock = ATOMIC_FLAG_INIT;

static void stop(const char *why) {
    if (atomic_exchange(&recording, 0)) {
        static const char prefix[] = "coreplane: recording stopped: ";
        raw_write(2, prefix, sizeof prefix - 1);
        raw_write(2, why, strlen(why));
        raw_write(2, "\n", 1);
    }
}

/* Far from the numbers that the program gets, where it neither expects nor closes one. */
static int move_up(int fd) {
    static const int places[] = {100000, 4000, 1000, 200, 50};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        int high = raw_fcntl(fd, F_DUPFD_CLOEXEC, places[i]);
        if (high < 0) continue;
        raw_close(fd);
        return high;
    }
    return fd;
}

static int is_trace(int fd) {
    struct stat s;
    return raw_fstat(fd, &s) == 0 && s.st_dev == trace_device && s.st_ino == trace_inode;
}

static int open_trace(int flags) {
    int fd = raw_open(trace_path, O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666);
    return fd < 0 ? fd : move_up(fd);
}

/* The descriptor, opened again where the program closed or replaced it in a way that we do not see. */
static int safe_fd(void) {
    if (!is_trace(trace_fd)) {
        trace_fd = open_trace(0);
        if (trace_fd >= 0 && !is_trace(trace_fd)) {
            raw_close(trace_fd);
            trace_fd = -1;
        }
    }
    return trace_fd;
}

static void note_block(const uint8_t *contents, uint32_t kind, uint32_t n);

/* Writes a block whose contents lie behind HEADER free bytes. */
static void write_block(uint8_t *block, uint32_t kind, uint32_t thread, uint32_t count, uint32_t n) {
    if (reading) {
        note_block(block + HEADER, kind, n);
        return;
    }
    put_block_head(block, kind, thread, count, n);
    /* No cancellation, and no handler that writes too, while the lock is held. */
    uint64_t signals = block_signals();
    take(&trace_lock);
    if (atomic_load_explicit(&recording, memory_order_relaxed)) {
        int fd = safe_fd();
        long done = fd < 0 ? -EBADF : raw_write(fd, block, HEADER + n);
        if (done != (long)(HEADER + n))
            stop(fd < 0 ? "its file is gone" : is_at_limit(fd) ? AT_LIMIT : done < 0 ? strerror((int)-done) : "no room for the trace");
        if (kind == BLOCK_END) atomic_store(&recording, 0);
    }
    give(&trace_lock);
    restore_signals(signals);
}

static void write_text(const char *key, const char *value) {
    uint8_t block[HEADER + 4400];
    size_t k = strlen(key), v = strnlen(value, 4300);
    __real_memcpy(block + HEADER, key, k);
    block[HEADER + k] = '\n';
    __real_memcpy(block + HEADER + k + 1, value, v);
    write_block(block, BLOCK_TEXT, 0, 0, (uint32_t)(k + 1 + v));
}
