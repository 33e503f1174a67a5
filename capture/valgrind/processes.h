/* Where each process has a trace of its own: in one folder, by the kernel's number, which stays the same when it becomes another
 * program. Beside it lies the program's name. */

static void name_process(const HChar *path) {
    HChar beside[4096 + 8];
    const HChar *name = VG_(args_the_exename), *slash = VG_(strrchr)(name, '/');
    VG_(snprintf)(beside, sizeof beside, "%s.name", path);
    Int fd = VG_(fd_open)(beside, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return;
    name = slash ? slash + 1 : name;
    VG_(write)(fd, name, (Int)VG_(strlen)(name));
    VG_(close)(fd);
}

/* Which process this is, and which one it was forked from; itself where it was not. */
static void say_process(Int from) {
    HChar text[80];
    VG_(snprintf)(text, sizeof text, "%d %d %d", VG_(getpid)(), from, VG_(getpid)());
    write_text("process", text);
}

static int open_own_trace(void) {
    HChar path[4096];
    VG_(snprintf)(path, sizeof path, "%s/%d", each_process, VG_(getpid)());
    name_process(path);
    return open_trace(path);
}

static void say_lacks(void);

/* The child of a fork has one thread, and begins a trace with what is mapped already. */
static void begin_again(ThreadId tid, Int from) {
    struct buffer *b = of_tid[tid].b;
    VG_(close)(trace_fd);
    for (UInt other = 1; other < VG_N_THREADS; other++)
        if (other != tid) of_tid[other].b = NULL;
    if (!b || !open_own_trace()) {
        recording = 0;
        return;
    }
    say_process(from);
    say_lacks();
    records_written = 0;
    all_ended = NULL;
    free_buffers = NULL;
    VG_(memset)(name_heads, 0, sizeof name_heads);
    name_count = 0;
    b->thread = 0;
    threads = 1;
    forget(b);
    forget_described();
    running = tid;
    self = b;
    emit(b, START, 0, 0, 0, 0, next_stamp());
    for (struct mapping *m = mappings; m < mappings + mapping_count; m++) {
        if (!m->bytes || m->file->ignored) continue;
        if (!m->file->described) describe_again(b, m->file);
        emit(b, OPERAND, 0, m->from, 0, file_address(m->file, m->offset), 0);
        emit(b, MAP, 0, m->from, 0, m->bytes, next_stamp());
    }
}
