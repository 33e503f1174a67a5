/* Start and end of the recorded program. */

static void in_child(void) {
    /* The child of a fork records nothing: the file belongs to the parent. */
    atomic_store(&recording, 0);
    self = NULL;
}

static void before_fork(void) {
    if (atomic_load(&recording)) write_text("note", "forked");
}

static void finish(void) {
    if (!atomic_load(&recording)) return;
    for (struct buffer *b = atomic_load(&all_buffers); b; b = b->next) {
        if (b == self) {
            settle(b);
            emit(b, END, 0, 0, 0, 0, next_stamp());
        }
        hand_over(b);
    }
    uint8_t block[HEADER];
    write_block(block, BLOCK_END, 0, 0, 0);
    atomic_store(&recording, 0);
}

static void describe_program(void) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) {
        path[n] = 0;
        write_text("program", path);
    }
    const Elf64_Ehdr *elf = (const void *)__executable_start;
    text_base = (uintptr_t)__executable_start;
    char bias[20];
    uintptr_t v = elf && elf->e_type == ET_EXEC ? text_base : 0;
    int at = 19;
    bias[at] = 0;
    do bias[--at] = "0123456789abcdef"[v % 16]; while (v /= 16);
    write_text("bias", bias + at);
}

__attribute__((constructor(101))) static void start(void) {
    const char *path = getenv("COREPLANE_TRACE");
    if (!path || !*path) return;
    trace_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (trace_fd < 0) {
        static const char text[] = "coreplane: the trace cannot be created\n";
        (void)!write(2, text, sizeof text - 1);
        return;
    }
    static const uint8_t head[16] = {'C', 'O', 'R', 'E', 'P', 'L', 'N', 'T', 2};
    if (write(trace_fd, head, 16) != 16) return;
    unsetenv("COREPLANE_TRACE");
    pthread_key_create(&at_thread_end, end_thread);
    pthread_atfork(before_fork, NULL, in_child);
    atomic_store(&recording, 1);
    describe_program();
    atexit(finish);
}
