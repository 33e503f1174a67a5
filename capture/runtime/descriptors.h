/* The trace's descriptor is not the program's: it neither closes nor replaces it. And programs that replace
 * themselves. */

static void gives_locks_back(int fd, uint32_t location);
LIBRARY(close)
INSTEAD int close(int fd) {
    struct buffer *b = begin();
    if (atomic_load_explicit(&recording, memory_order_relaxed) && fd == trace_fd && fd >= 0) {
        errno = EBADF;
        return -1;
    }
    gives_locks_back(fd, PC);
    look_at_descriptor(b, fd, PC);
    return REAL(close)(fd);
}

static int is_ours(int fd) { return atomic_load(&recording) && trace_fd >= 0 && fd == trace_fd; }

LIBRARY(close_range)
INSTEAD int close_range(unsigned from, unsigned to, int flags) {
    begin();
    int fd = trace_fd;
    if (!atomic_load(&recording) || fd < 0 || (unsigned)fd < from || (unsigned)fd > to) return REAL(close_range)(from, to, flags);
    int failed = (unsigned)fd > from ? REAL(close_range)(from, (unsigned)fd - 1, flags) : 0;
    return failed || (unsigned)fd == to ? failed : REAL(close_range)((unsigned)fd + 1, to, flags);
}
#if __GLIBC_PREREQ(2, 34)
INSTEAD void closefrom(int from) { close_range(from < 0 ? 0 : (unsigned)from, ~0u, 0); }
#endif

/* The program wants our number: the trace gets another one. */
static void make_way(int fd) {
    if (!is_ours(fd) || raw_pid() != owner) return;
    take(&trace_lock);
    int other = raw_fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
    if (other < 0) other = raw_fcntl(fd, F_DUPFD_CLOEXEC, 50);
    trace_fd = other;
    give(&trace_lock);
}
LIBRARY(dup2)
INSTEAD int dup2(int old, int new) {
    begin();
    make_way(new);
    return REAL(dup2)(old, new);
}
LIBRARY(dup3)
INSTEAD int dup3(int old, int new, int flags) {
    begin();
    make_way(new);
    return REAL(dup3)(old, new, flags);
}

/* What is recorded is kept; the end is missing, and says so. */
static void before_exec(uint32_t location) {
    struct buffer *b = begin();
    if (!b || b->outer) return;
    /* The child of a vfork: it goes on as another program, in whose place the parent waits. */
    if (raw_pid() != owner) return starts_a_program(b, location);
    take_side(b);
    write_out(b);
    write_text("becomes", "1");
}
static void after_exec(void) {
    struct buffer *b = begin();
    if (b && !b->outer && raw_pid() == owner) write_text("becomes", "0");
}
#define EXECS(name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        before_exec(PC); \
        int failed = REAL(name) arguments; \
        after_exec(); \
        return failed; \
    }
EXECS(execve, (const char *path, char *const a[], char *const e[]), (path, a, e))
EXECS(execv, (const char *path, char *const a[]), (path, a))
EXECS(execvp, (const char *path, char *const a[]), (path, a))
EXECS(execvpe, (const char *path, char *const a[], char *const e[]), (path, a, e))
EXECS(fexecve, (int fd, char *const a[], char *const e[]), (fd, a, e))

/* Arguments on the stack, as an array. */
#define EXECS_LIST(name, call, environment) \
    INSTEAD int name(const char *path, const char *first, ...) { \
        va_list rest; \
        size_t n = 1; \
        va_start(rest, first); \
        while (va_arg(rest, const char *)) n++; \
        va_end(rest); \
        char *list[n + 1], **e; \
        va_start(rest, first); \
        list[0] = (char *)first; \
        for (size_t i = 1; i <= n; i++) list[i] = va_arg(rest, char *); \
        e = environment; \
        va_end(rest); \
        before_exec(PC); \
        int failed = call; \
        after_exec(); \
        return failed; \
    }
EXECS_LIST(execl, REAL(execve)(path, list, e), environ)
EXECS_LIST(execle, REAL(execve)(path, list, e), va_arg(rest, char **))
EXECS_LIST(execlp, REAL(execvpe)(path, list, e), environ)
