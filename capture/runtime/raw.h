/* System calls of the runtime itself: none of them is a point of cancellation, touches errno, or goes through the
 * functions that the runtime puts before the program's. A result from -4095 to -1 is an error. */

static inline long raw(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long raw_write(int fd, const void *from, size_t n) { return raw(SYS_write, fd, (long)from, (long)n, 0, 0, 0); }
static inline long raw_pread(int fd, void *to, size_t n, uint64_t at) {
    return raw(SYS_pread64, fd, (long)to, (long)n, (long)at, 0, 0);
}
static inline int raw_open(const char *path, int flags, int mode) {
    return (int)raw(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}
static inline int raw_close(int fd) { return (int)raw(SYS_close, fd, 0, 0, 0, 0, 0); }
static inline int raw_fcntl(int fd, int what, long value) { return (int)raw(SYS_fcntl, fd, what, value, 0, 0, 0); }
static inline int raw_fstat(int fd, struct stat *s) { return (int)raw(SYS_fstat, fd, (long)s, 0, 0, 0, 0); }
static inline int raw_stat(int folder, const char *path, struct stat *s, int flags) {
    return (int)raw(SYS_newfstatat, folder, (long)path, (long)s, flags, 0, 0);
}
static inline long raw_seek(int fd, int64_t offset, int whence) { return raw(SYS_lseek, fd, offset, whence, 0, 0, 0); }
static inline long raw_readlink(const char *path, char *to, size_t n) {
    return raw(SYS_readlink, (long)path, (long)to, (long)n, 0, 0, 0);
}
static inline int raw_pid(void) { return (int)raw(SYS_getpid, 0, 0, 0, 0, 0, 0); }

/* All signals, of a set as the kernel has it. */
static inline uint64_t block_signals(void) {
    uint64_t all = ~0ull, before = 0;
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&before, 8, 0, 0);
    return before;
}
static inline void restore_signals(uint64_t before) { raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, 8, 0, 0); }

/* A lock of the runtime: held shortly, or while a file is read. */
static inline void take(atomic_flag *lock) {
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}
static inline void give(atomic_flag *lock) { atomic_flag_clear_explicit(lock, memory_order_release); }

/* "/proc/self/fd/N", or "N" after another prefix. Returns the length. */
static int numbered(char *to, const char *prefix, uint64_t number) {
    char digits[24];
    int n = 0, at = 0;
    while (*prefix) to[at++] = *prefix++;
    do digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n) to[at++] = digits[--n];
    to[at] = 0;
    return at;
}

/* Whether a file is as long as the program lets any become. */
static inline int is_at_limit(int fd) {
    struct rlimit limit;
    struct stat s;
    if (raw(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0) || raw_fstat(fd, &s)) return 0;
    return limit.rlim_cur != RLIM_INFINITY && (uint64_t)s.st_size >= limit.rlim_cur;
}
#define AT_LIMIT "the limit on the size of the program's files (RLIMIT_FSIZE, ulimit -f) holds for its recording too: raise it, or have the program set none"
