/* Threads and locks. */

static void sync_event(enum kind k, const void *address, uint64_t value, uint32_t location) {
    struct buffer *b = begin();
    if (b) emit(b, k, 0, (uint64_t)address, location, value, next_stamp());
}

#define LOCKS(name, type) \
    int __real_##name(type *); \
    int __wrap_##name(type *lock) { \
        begin(); \
        int failed = __real_##name(lock); \
        if (!failed) sync_event(LOCK, lock, 0, PC); \
        return failed; \
    }
#define UNLOCKS(name, type) \
    int __real_##name(type *); \
    int __wrap_##name(type *lock) { \
        sync_event(UNLOCK, lock, 0, PC); \
        return __real_##name(lock); \
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
    if (!failed) sync_event(LOCK, (const void *)lock, 0, PC);
    return failed;
}
int __real_pthread_spin_unlock(pthread_spinlock_t *);
int __wrap_pthread_spin_unlock(pthread_spinlock_t *lock) {
    sync_event(UNLOCK, (const void *)lock, 0, PC);
    return __real_pthread_spin_unlock(lock);
}

int __real_pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *lock) {
    sync_event(UNLOCK, lock, 0, PC);
    int failed = __real_pthread_cond_wait(c, lock);
    sync_event(LOCK, lock, 0, PC);
    return failed;
}
int __real_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *lock, const struct timespec *until) {
    sync_event(UNLOCK, lock, 0, PC);
    int failed = __real_pthread_cond_timedwait(c, lock, until);
    sync_event(LOCK, lock, 0, PC);
    return failed;
}

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

static pthread_t known_threads[4096];
static atomic_uint known_ids[4096];

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    if (!begin()) return __real_pthread_create(thread, attributes, run, argument);
    struct birth *birth = malloc(sizeof *birth);
    if (!birth) return EAGAIN;
    birth->run = run;
    birth->argument = argument;
    atomic_init(&birth->thread, 0);
    int failed = __real_pthread_create(thread, attributes, newborn, birth);
    if (failed) {
        __real_free(birth);
        return failed;
    }
    uint32_t id;
    while ((id = atomic_load(&birth->thread)) == 0) sched_yield();
    __real_free(birth);
    if (id != UINT32_MAX) {
        known_threads[id % 4096] = *thread;
        atomic_store(&known_ids[id % 4096], id);
        sync_event(CREATE, 0, id - 1, PC);
    }
    return 0;
}

int __real_pthread_join(pthread_t, void **);
int __wrap_pthread_join(pthread_t thread, void **result) {
    begin();
    int failed = __real_pthread_join(thread, result);
    for (unsigned i = 0; !failed && i < 4096; i++) {
        uint32_t id = atomic_load(&known_ids[i]);
        if (id && pthread_equal(known_threads[i], thread)) {
            atomic_store(&known_ids[i], 0);
            sync_event(JOIN, 0, id - 1, PC);
            break;
        }
    }
    return failed;
}
