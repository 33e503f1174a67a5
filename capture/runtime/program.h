/* Start and end of the recorded program. */

LIBRARY(_exit)
LIBRARY(_Exit)

static void begin_again(const struct buffer *old);
static void number_child(void);
/* The folder of the traces, where each process has one; NULL where one process has. */
static const char *each_process;

static void in_child(void) {
    /* The child of a fork records nothing, since the file belongs to the parent, unless it is a host of its own or each process has a trace. */
    int recorded = atomic_exchange(&recording, 0) == 1;
    const struct buffer *old = self;
    self = NULL;
    if ((by_host || each_process) && recorded) begin_again(old);
}

static void before_fork(void) {
    if (!by_host && !each_process) {
        if (atomic_load(&recording)) write_text("note", "forked");
        return;
    }
    begin();
    if (by_host && atomic_load(&recording) == 1) number_child();
}

static void last_look_at_files(struct buffer *b);
static void start_region(void);
static void finish_region(struct buffer *b);
static void flush_streams(uint32_t location);

/* Ends the recording. Other threads may go on meanwhile: what they have recorded whole is kept. */
static void finish(void) {
    int one = 1;
    if (raw_pid() != owner || atomic_load(&recording) != 1) return;
    /* From a signal handler: what it interrupted does not go on. */
    if (self && self->outer) jump();
    struct buffer *b = begin();
    if (b) {
        last_look_at_files(b);
        emit(b, END, 0, 0, 0, 0, next_stamp());
    }
    finish_region(b);
    if (!atomic_compare_exchange_strong(&recording, &one, 2)) return;
    for (struct buffer *o = atomic_load(&all_buffers); o; o = o->next) {
        take(&o->handing);
        hand_over_for(o);
        o->at = o->bytes + HEADER;
        give(&o->handing);
    }
    uint8_t block[HEADER];
    write_block(block, BLOCK_END, 0, 0, 0);
    rest(1);
}

static void ignore_open_files(void);
static void measure_vectors(void);

static int make_trace(void) {
    trace_fd = open_trace(O_CREAT | O_TRUNC);
    struct stat s;
    if (trace_fd < 0 || raw_fstat(trace_fd, &s)) {
        static const char text[] = "coreplane: the trace cannot be created: ";
        const char *why = trace_fd < 0 ? strerror(-trace_fd) : "it is gone";
        raw_write(2, text, sizeof text - 1);
        raw_write(2, trace_path, strlen(trace_path));
        raw_write(2, ": ", 2);
        raw_write(2, why, strlen(why));
        raw_write(2, "\n", 1);
        return 0;
    }
    trace_device = s.st_dev;
    trace_inode = s.st_ino;
    static const uint8_t head[16] = {'C', 'O', 'R', 'E', 'P', 'L', 'N', 'T', 3};
    return raw_write(trace_fd, head, 16) == 16;
}

static int join_hosts(void);
static unsigned next_host(void);
static void name_host_trace(unsigned number);
static void say_host(unsigned number, unsigned from);

/* The path of this process's own trace: its number, which stays the same when it becomes another program. Beside it lies the program's name. */
static void name_own_trace(void) {
    enum { SHORT = 64 };
    size_t n = strlen(each_process);
    __real_memcpy(trace_path, each_process, n);
    n += (size_t)numbered(trace_path + n, "/", (uint64_t)raw_pid());
    __real_memcpy(trace_path + n, ".name", sizeof ".name");
    int fd = raw_open(trace_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0) raw_write(fd, program_invocation_short_name, strnlen(program_invocation_short_name, SHORT)), raw_close(fd);
    trace_path[n] = 0;
}

/* Makes the trace, where one is asked for. */
static int is_recorded(void) {
    if (join_hosts()) {
        name_host_trace(host_number = next_host());
        return make_trace();
    }
    each_process = getenv("COREPLANE_EACH");
    if (each_process && *each_process && strlen(each_process) < sizeof trace_path - 40) {
        name_own_trace();
        return make_trace();
    }
    each_process = NULL;
    const char *path = getenv("COREPLANE_TRACE");
    if (!path || !*path || strlen(path) >= sizeof trace_path) return 0;
    __real_memcpy(trace_path, path, strlen(path) + 1);
    if (!make_trace()) return 0;
    unsetenv("COREPLANE_TRACE");
    return 1;
}

/* When the first object of the process announces itself (objects.h). */
static void start(void) {
    static int started;
    if (started++) return;
    if (!is_recorded() && !is_check()) return;
    owner = raw_pid();
    measure_vectors();
    pthread_key_create(&at_thread_end, end_thread);
    pthread_atfork(before_fork, NULL, in_child);
    atomic_store(&recording, 1);
    if (by_host) say_host(host_number, host_number);
    else if (each_process) say_host((unsigned)owner, (unsigned)owner);
    ignore_open_files();
    start_region();
    dl_iterate_phdr(count_library, &libraries_at_start);
    watch_fatal_signals();
    if (watching) take_signal(SIGTRAP);
    at_quick_exit(finish);
}

/* After the program's own destructors. */
__attribute__((destructor(101))) static void end(void) {
    if (raw_pid() == owner && atomic_load(&recording) == 1) {
        flush_streams(0);
        note_libraries();
    }
    finish();
}

INSTEAD void _exit(int code) {
    finish();
    REAL(_exit)(code);
    __builtin_unreachable();
}
INSTEAD void _Exit(int code) {
    finish();
    REAL(_Exit)(code);
    __builtin_unreachable();
}
