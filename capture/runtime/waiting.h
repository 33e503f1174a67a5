/* More that threads wait at: conditions, locks with a time limit, barriers, what C11 and C++ have of their own, OpenMP. */

/* Of the two functions of one name, the one that programs of today get. */
#define LIBRARY_OF(name, version) \
    static inline __typeof__(&name) real_##name(void) { \
        static __typeof__(&name) found; \
        if (!found) found = (__typeof__(&name))dlvsym(RTLD_NEXT, #name, version); \
        if (!found) found = (__typeof__(&name))library_function(#name); \
        return found; \
    }
/* Code without hooks waits here, that of the C++ library: a wait has a place all the same. */
#define WAITS_FOR_CONDITION(name, parameters, arguments) \
    INSTEAD int name parameters { \
        uint32_t at = PC; \
        if (!at) at = place((const void *)name); \
        sync_event(UNLOCK, lock, 0, at); \
        int failed = REAL(name) arguments; \
        locked(lock, at); \
        return failed; \
    }
LIBRARY_OF(pthread_cond_wait, "GLIBC_2.3.2")
WAITS_FOR_CONDITION(pthread_cond_wait, (pthread_cond_t *c, pthread_mutex_t *lock), (c, lock))
LIBRARY_OF(pthread_cond_timedwait, "GLIBC_2.3.2")
WAITS_FOR_CONDITION(pthread_cond_timedwait, (pthread_cond_t *c, pthread_mutex_t *lock, const struct timespec *until), (c, lock, until))
LIBRARY(pthread_cond_clockwait)
WAITS_FOR_CONDITION(pthread_cond_clockwait, (pthread_cond_t *c, pthread_mutex_t *lock, clockid_t clock, const struct timespec *until),
                    (c, lock, clock, until))

#define TAKES_LOCK(name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        begin(); \
        int failed = REAL(name) arguments; \
        if (!failed) locked((const void *)lock, PC); \
        return failed; \
    }
#define UNTIL const struct timespec *until
TAKES_LOCK(pthread_mutex_timedlock, (pthread_mutex_t *lock, UNTIL), (lock, until))
TAKES_LOCK(pthread_mutex_clocklock, (pthread_mutex_t *lock, clockid_t clock, UNTIL), (lock, clock, until))
TAKES_LOCK(pthread_rwlock_tryrdlock, (pthread_rwlock_t *lock), (lock))
TAKES_LOCK(pthread_rwlock_trywrlock, (pthread_rwlock_t *lock), (lock))
TAKES_LOCK(pthread_rwlock_timedrdlock, (pthread_rwlock_t *lock, UNTIL), (lock, until))
TAKES_LOCK(pthread_rwlock_timedwrlock, (pthread_rwlock_t *lock, UNTIL), (lock, until))
TAKES_LOCK(pthread_rwlock_clockrdlock, (pthread_rwlock_t *lock, clockid_t clock, UNTIL), (lock, clock, until))
TAKES_LOCK(pthread_rwlock_clockwrlock, (pthread_rwlock_t *lock, clockid_t clock, UNTIL), (lock, clock, until))
TAKES_LOCK(pthread_spin_trylock, (pthread_spinlock_t *lock), (lock))

/* C11. The library's own calls of POSIX functions do not come here. */
int mtx_lock(void *), mtx_trylock(void *), mtx_timedlock(void *, UNTIL), mtx_unlock(void *);
int cnd_wait(void *, void *), cnd_timedwait(void *, void *, UNTIL);
int thrd_create(pthread_t *, int (*)(void *), void *), thrd_join(pthread_t, int *);
TAKES_LOCK(mtx_lock, (void *lock), (lock))
TAKES_LOCK(mtx_trylock, (void *lock), (lock))
TAKES_LOCK(mtx_timedlock, (void *lock, UNTIL), (lock, until))
LIBRARY(mtx_unlock)
INSTEAD int mtx_unlock(void *lock) {
    sync_event(UNLOCK, lock, 0, PC);
    int failed = REAL(mtx_unlock)(lock);
    changed(lock, sizeof(pthread_mutex_t), PC);
    return failed;
}
LIBRARY(cnd_wait)
WAITS_FOR_CONDITION(cnd_wait, (void *c, void *lock), (c, lock))
LIBRARY(cnd_timedwait)
WAITS_FOR_CONDITION(cnd_timedwait, (void *c, void *lock, UNTIL), (c, lock, until))

struct c11_birth {
    int (*run)(void *);
    void *argument;
    atomic_uint thread;
};
static int c11_newborn(void *p) {
    struct c11_birth *birth = p;
    int (*run)(void *) = birth->run;
    void *argument = birth->argument;
    struct buffer *b = begin();
    atomic_store(&birth->thread, b ? b->thread + 1 : UINT32_MAX);
    return run(argument);
}
LIBRARY(thrd_create)
INSTEAD int thrd_create(pthread_t *thread, int (*run)(void *), void *argument) {
    if (!begin()) return REAL(thrd_create)(thread, run, argument);
    struct c11_birth birth = {.run = run, .argument = argument};
    int failed = REAL(thrd_create)(thread, c11_newborn, &birth);
    if (!failed) born_as(*thread, &birth.thread, PC);
    return failed;
}
LIBRARY(thrd_join)
INSTEAD int thrd_join(pthread_t thread, int *result) {
    begin();
    int failed = REAL(thrd_join)(thread, result);
    if (!failed) joined(thread, PC);
    return failed;
}

LIBRARY(pthread_barrier_wait)
INSTEAD int pthread_barrier_wait(pthread_barrier_t *barrier) {
    gives(meeting_at(barrier), PC);
    int last = REAL(pthread_barrier_wait)(barrier);
    changed(barrier, sizeof *barrier, PC);
    takes(meeting_at(barrier), PC);
    return last;
}

/* What is done once: whoever finds it done comes after it. */
static THREAD_LOCAL struct once {
    void (*run)(void);
    const void *what;
} under_way;
static void run_once(void) {
    struct once once = under_way;
    once.run();
    gives(meeting_at(once.what), place((const void *)run_once));
}
void call_once(void *, void (*)(void));
#define ONCE(type, name, what_type, before, after) \
    LIBRARY(name) \
    INSTEAD type name(what_type *what, void (*run)(void)) { \
        struct once outer = under_way; \
        under_way = (struct once){run, what}; \
        before REAL(name)(what, run_once); \
        under_way = outer; \
        takes(meeting_at(what), PC); \
        after; \
    }
ONCE(int, pthread_once, pthread_once_t, int failed =, return failed)
ONCE(void, call_once, void, , )

/* The guard of a variable that C++ makes when it is met first: compiled code looks at it by itself. */
void __cxa_guard_release(uint8_t *);
LIBRARY(__cxa_guard_release)
INSTEAD void __cxa_guard_release(uint8_t *guard) {
    struct buffer *b = meets() ? begin() : NULL;
    if (b) emit(b, STORE_RELEASE, 0, (uint64_t)guard, PC, 1, next_stamp());
    REAL(__cxa_guard_release)(guard);
}

/* What goes through sockets and counters of events. */
#define SENDS(type, name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        gives(meeting_through(fd), PC); \
        return REAL(name) arguments; \
    }
SENDS(ssize_t, send, (int fd, const void *from, size_t n, int flags), (fd, from, n, flags))
SENDS(ssize_t, sendto, (int fd, const void *from, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t length), (fd, from, n, flags, to, length))
SENDS(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
int eventfd_write(int, uint64_t), eventfd_read(int, uint64_t *);
SENDS(int, eventfd_write, (int fd, uint64_t n), (fd, n))
LIBRARY(eventfd_read)
INSTEAD int eventfd_read(int fd, uint64_t *to) {
    struct buffer *b = before_write((uint64_t)to, 8, PC);
    int failed = REAL(eventfd_read)(fd, to);
    after_write(b, (uint64_t)to, failed ? 0 : 8, PC);
    if (!failed) takes(meeting_through(fd), PC);
    return failed;
}

/* GCC's OpenMP: a team begins after its master and ends before it goes on. */
struct team {
    void (*run)(void *);
    void *argument;
};
static void in_team(void *p) {
    struct team *team = p;
    takes(meeting_at(team), place((const void *)in_team));
    team->run(team->argument);
    gives(meeting_at(team), place((const void *)in_team));
}
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned), GOMP_barrier(void);
void GOMP_critical_start(void), GOMP_critical_end(void), GOMP_critical_name_start(void **), GOMP_critical_name_end(void **);
LIBRARY(GOMP_parallel)
INSTEAD void GOMP_parallel(void (*run)(void *), void *argument, unsigned n, unsigned flags) {
    struct team team = {run, argument};
    struct buffer *b = begin();
    if (!b || by_host) {
        REAL(GOMP_parallel)(run, argument, n, flags);
        return;
    }
    /* The first team is there before its threads are. */
    emit(b, STORE_RELEASE, 3, meeting_at(&team), PC, 0, next_stamp());
    REAL(GOMP_parallel)(in_team, &team, n, flags);
    takes(meeting_at(&team), PC);
}
static char all_barriers, all_criticals;
LIBRARY(GOMP_barrier)
INSTEAD void GOMP_barrier(void) {
    gives(meeting_at(&all_barriers), PC);
    REAL(GOMP_barrier)();
    takes(meeting_at(&all_barriers), PC);
}
#define CRITICAL(start, end, parameters, arguments, what) \
    LIBRARY(start) \
    INSTEAD void start parameters { \
        begin(); \
        REAL(start) arguments; \
        sync_event(LOCK, what, 0, PC); \
    } \
    LIBRARY(end) \
    INSTEAD void end parameters { \
        sync_event(UNLOCK, what, 0, PC); \
        REAL(end) arguments; \
    }
CRITICAL(GOMP_critical_start, GOMP_critical_end, (void), (), &all_criticals)
CRITICAL(GOMP_critical_name_start, GOMP_critical_name_end, (void **name), (name), name)
