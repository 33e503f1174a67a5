/* More ways in which one thread lets another go on: locks of files, message queues, signals. */

/* Whoever names the same file, whatever it is otherwise. */
static uint64_t meeting_at_file(int fd) {
    struct stat s;
    if ((!meets() && !by_host) || raw_fstat(fd, &s)) return 0;
    return MEETINGS | CHANNELS | ((s.st_dev << 32 ^ s.st_ino ^ 1ull << 52) << 3 & (CHANNELS - 8));
}

/* To close a file gives its locks back. */
static atomic_int files_are_locked;
static void gives_locks_back(int fd, uint32_t location) {
    if (atomic_load_explicit(&files_are_locked, memory_order_relaxed)) gives(meeting_at_file(fd), location);
}

LIBRARY(flock)
INSTEAD int flock(int fd, int operation) {
    enum { SHARED = 1, EXCLUSIVE = 2, UNLOCKED = 8 };
    atomic_store(&files_are_locked, 1);
    if (operation & UNLOCKED) gives(meeting_at_file(fd), PC);
    begin();
    int failed = REAL(flock)(fd, operation);
    if (!failed && operation & (SHARED | EXCLUSIVE)) takes(meeting_at_file(fd), PC);
    return failed;
}

/* Locks of an open file; those of a process keep no thread of it away from another one. */
static int control(int fd, int command, void *argument, uint32_t location, int (*call)(int, int, ...)) {
    int locks = command == F_OFD_SETLK || command == F_OFD_SETLKW;
    if (!locks || !argument || !begin()) return call(fd, command, argument);
    int gives_back = ((struct flock *)argument)->l_type == F_UNLCK;
    atomic_store(&files_are_locked, 1);
    if (gives_back) gives(meeting_at_file(fd), location);
    int failed = call(fd, command, argument);
    if (!failed && !gives_back) takes(meeting_at_file(fd), location);
    return failed;
}
#define CONTROLS(name) \
    LIBRARY(name) \
    INSTEAD int name(int fd, int command, ...) { \
        va_list rest; \
        va_start(rest, command); \
        void *argument = va_arg(rest, void *); \
        va_end(rest); \
        return control(fd, command, argument, PC, REAL(name)); \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

/* Message queues: of POSIX, the descriptor of which is a file, and of System V. */
#define PUTS_MESSAGE(name, parameters, arguments, meeting) \
    int name parameters; \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        gives(meeting, PC); \
        return REAL(name) arguments; \
    }
#define GETS_MESSAGE(name, parameters, arguments, meeting, held) \
    ssize_t name parameters; \
    LIBRARY(name) \
    INSTEAD ssize_t name parameters { \
        struct buffer *b = before_write((uint64_t)to, size + held, PC); \
        ssize_t n = REAL(name) arguments; \
        after_write(b, (uint64_t)to, n >= 0 ? (uint64_t)n + held : 0, PC); \
        if (n >= 0) takes(meeting, PC); \
        return n; \
    }
PUTS_MESSAGE(mq_send, (int queue, const char *from, size_t size, unsigned priority), (queue, from, size, priority), meeting_at_file(queue))
PUTS_MESSAGE(mq_timedsend, (int queue, const char *from, size_t size, unsigned priority, UNTIL), (queue, from, size, priority, until),
             meeting_at_file(queue))
GETS_MESSAGE(mq_receive, (int queue, char *to, size_t size, unsigned *priority), (queue, to, size, priority), meeting_at_file(queue), 0)
GETS_MESSAGE(mq_timedreceive, (int queue, char *to, size_t size, unsigned *priority, UNTIL), (queue, to, size, priority, until),
             meeting_at_file(queue), 0)
#define OF_SYSTEM_V ((const void *)(((uintptr_t)queue + 1) << 4))
PUTS_MESSAGE(msgsnd, (int queue, const void *from, size_t size, int flags), (queue, from, size, flags), meeting_at(OF_SYSTEM_V))
GETS_MESSAGE(msgrcv, (int queue, void *to, size_t size, long type, int flags), (queue, to, size, type, flags), meeting_at(OF_SYSTEM_V),
             sizeof(long))

/* Signals that threads send one another and wait for: which one it was is not told, they are one. */
#define SIGNALS(name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        if (by_host) begin(); \
        gives(meeting_at(&all_signals), PC); \
        return REAL(name) arguments; \
    }
SIGNALS(kill, (pid_t process, int number), (process, number))
SIGNALS(tgkill, (pid_t process, pid_t thread, int number), (process, thread, number))
SIGNALS(pthread_kill, (pthread_t thread, int number), (thread, number))
SIGNALS(sigqueue, (pid_t process, int number, const union sigval value), (process, number, value))
SIGNALS(pthread_sigqueue, (pthread_t thread, int number, const union sigval value), (thread, number, value))

#define AWAITS_SIGNAL(name, parameters, arguments, got) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        begin(); \
        int result = REAL(name) arguments; \
        if (got) takes(meeting_at(&all_signals), PC); \
        return result; \
    }
AWAITS_SIGNAL(sigwait, (const sigset_t *of, int *number), (of, number), result == 0)
AWAITS_SIGNAL(sigwaitinfo, (const sigset_t *of, siginfo_t *info), (of, info), result > 0)
AWAITS_SIGNAL(sigtimedwait, (const sigset_t *of, siginfo_t *info, UNTIL), (of, info, until), result > 0)
AWAITS_SIGNAL(sigsuspend, (const sigset_t *mask), (mask), 1)
AWAITS_SIGNAL(pause, (void), (), 1)
