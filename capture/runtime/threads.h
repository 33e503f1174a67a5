/* Threads and locks. */

static void sync_event(enum kind k, const void *address, uint64_t value, uint32_t location) {
    struct buffer *b = begin();
    if (b) emit(b, k, 0, (uint64_t)address, location, value, next_stamp());
}

/* Of a lock that lies in a file, what it is while somebody has it is told as well. */
static void locked(const void *lock, uint32_t location) {
    sync_event(LOCK, lock, 0, location);
    changed(lock, sizeof(pthread_mutex_t), location);
}

#define LOCKS(name, type) \
    int __real_##name(type *); \
    int __wrap_##name(type *lock) { \
        begin(); \
        int failed = __real_##name(lock); \
        if (!failed) locked(lock, PC); \
        return failed; \
    }
#define UNLOCKS(name, type) \
    int __real_##name(type *); \
    int __wrap_##name(type *lock) { \
        sync_event(UNLOCK, lock, 0, PC); \
        int failed = __real_##name(lock); \
        changed(lock, sizeof *lock, PC); \
        return failed; \
    }
LOCKS(pthread_mutex_lock, pthread_mutex_t)
LOCKS(pthread_mutex_trylock, pthread_mutex_t)
UNLOCKS(pthread_mutex_unlock, pthread_mutex_t)
LOCKS(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCKS(pthread_rwlock_wrlock, pthread_rwlock_t)
UNLOCKS(pthread_rwlock_unlock, pthread_rwlock_t)

int __real_pthread_spin_lock(pthread_spinlock_t *);
int __wrap_pthread_spin_lock(pthread_spinlock_t *lock) {
    begin();
    int failed = __real_pthread_spin_lock(lock);
    if (!failed) locked((const void *)lock, PC);
    return failed;
}
int __real_pthread_spin_unlock(pthread_spinlock_t *);
int __wrap_pthread_spin_unlock(pthread_spinlock_t *lock) {
    sync_event(UNLOCK, (const void *)lock, 0, PC);
    int failed = __real_pthread_spin_unlock(lock);
    changed((const void *)lock, sizeof *lock, PC);
    return failed;
}

/* Locks in files: what the thread library leaves of them is known to come from here. */
#define SETS_UP(name, type) \
    int __real_pthread_##name##_init(pthread_##name##_t *, const type *); \
    int __real_pthread_##name##_destroy(pthread_##name##_t *); \
    int __wrap_pthread_##name##_init(pthread_##name##_t *lock, const type *how) { \
        struct buffer *b = begin(); \
        int failed = __real_pthread_##name##_init(lock, how); \
        if (b) compare(b, (uint64_t)lock, sizeof *lock, PC, NULL); \
        compared(lock, sizeof *lock); \
        return failed; \
    } \
    int __wrap_pthread_##name##_destroy(pthread_##name##_t *lock) { \
        struct buffer *b = begin(); \
        int failed = __real_pthread_##name##_destroy(lock); \
        if (b) compare(b, (uint64_t)lock, sizeof *lock, PC, NULL); \
        compared(lock, sizeof *lock); \
        return failed; \
    }
SETS_UP(mutex, pthread_mutexattr_t)
SETS_UP(rwlock, pthread_rwlockattr_t)
SETS_UP(cond, pthread_condattr_t)

LIBRARY(pthread_tryjoin_np)
LIBRARY(pthread_timedjoin_np)

struct birth {
    void *(*run)(void *);
    void *argument;
    atomic_uint thread;
};

static void *newborn(void *p) {
    struct birth *birth = p;
    void *(*run)(void *) = birth->run;
    void *argument = birth->argument;
    struct buffer *b = begin();
    atomic_store(&birth->thread, b ? b->thread + 1 : UINT32_MAX);
    return run(argument);
}

/* The threads' own names, to find a thread's number when it is joined: the newest of a name first, since names come
 * again. */
enum { NAMES = 4096 };
static struct {
    pthread_t name;
    uint32_t next;
} born[MOST_THREADS + 1];
static uint32_t newest[NAMES];
static atomic_flag born_lock = ATOMIC_FLAG_INIT;

static uint32_t *chain_of(pthread_t name) { return &newest[((uintptr_t)name >> 12 ^ (uintptr_t)name >> 24) % NAMES]; }

static void remember_thread(pthread_t name, uint32_t id) {
    take(&born_lock);
    born[id].name = name;
    born[id].next = *chain_of(name);
    *chain_of(name) = id;
    give(&born_lock);
}

static void joined(pthread_t name, uint32_t location) {
    take(&born_lock);
    uint32_t *link = chain_of(name);
    while (*link && !pthread_equal(born[*link].name, name)) link = &born[*link].next;
    uint32_t id = *link;
    if (id) *link = born[id].next;
    give(&born_lock);
    if (id) sync_event(JOIN, 0, id - 1, location);
}

/* Waits until a thread that was made has told its number. */
static void born_as(pthread_t name, atomic_uint *number, uint32_t location) {
    uint32_t id;
    while ((id = atomic_load(number)) == 0) raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    if (id > MOST_THREADS) return;
    remember_thread(name, id);
    sync_event(CREATE, 0, id - 1, location);
}

/* C++ threads are made and joined within the C++ library: those calls come here too. */
INSTEAD int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    if (!begin()) return REAL(pthread_create)(thread, attributes, run, argument);
    struct birth birth = {.run = run, .argument = argument};
    int failed = REAL(pthread_create)(thread, attributes, newborn, &birth);
    if (failed) return failed;
    born_as(*thread, &birth.thread, PC);
    return 0;
}

#define JOINS(name, parameters, arguments) \
    INSTEAD int name parameters { \
        begin(); \
        int failed = REAL(name) arguments; \
        if (!failed) joined(thread, PC); \
        return failed; \
    }
JOINS(pthread_join, (pthread_t thread, void **result), (thread, result))
JOINS(pthread_tryjoin_np, (pthread_t thread, void **result), (thread, result))
JOINS(pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *until), (thread, result, until))

void __real_pthread_exit(void *) __attribute__((noreturn));
void __attribute__((noreturn)) __wrap_pthread_exit(void *result) {
    begin();
    exits = 1;
    __real_pthread_exit(result);
}
