/* Cancellation. A thread that is cancelled at any instruction is so in the midst of a hook, perhaps, which does not go on:
 * what the unwinder and cleanup handlers record must not follow half a record. So the signal by which the library cancels
 * comes here first. */

LIBRARY(pthread_create)
LIBRARY(pthread_join)
LIBRARY(pthread_cancel)
LIBRARY(pthread_setcancelstate)
LIBRARY(pthread_setcanceltype)

enum { CANCELS = 32 };
/* A handler as the kernel has it. */
static struct kernel_action {
    void (*handler)(int, siginfo_t *, void *);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
} library_cancels;

/* Whether the thread ends by itself already: then it is not cancelled. */
static THREAD_LOCAL int exits;

static void on_cancel(int number, siginfo_t *info, void *context) {
    int state, type;
    REAL(pthread_setcancelstate)(PTHREAD_CANCEL_DISABLE, &state);
    REAL(pthread_setcanceltype)(PTHREAD_CANCEL_DEFERRED, &type);
    int here = state == PTHREAD_CANCEL_ENABLE && type == PTHREAD_CANCEL_ASYNCHRONOUS && info->si_code == SI_TKILL;
    if (here && !exits) leave_all(1);
    REAL(pthread_setcanceltype)(type, NULL);
    REAL(pthread_setcancelstate)(state, NULL);
    library_cancels.handler(number, info, context);
}

/* A thread that does nothing until it may end. */
static void *idle(void *may_end) {
    while (!atomic_load((atomic_int *)may_end)) raw(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
    return NULL;
}

/* The library takes the signal when it cancels for the first time. */
static void let_library_take_signal(void) {
    pthread_t thread;
    atomic_int may_end = 0;
    if (REAL(pthread_create)(&thread, NULL, idle, &may_end)) return;
    REAL(pthread_cancel)(thread);
    atomic_store(&may_end, 1);
    REAL(pthread_join)(thread, NULL);
}

static atomic_flag cancel_lock = ATOMIC_FLAG_INIT;

static void see_cancellations(void) {
    static int are_seen;
    uint64_t signals = block_signals();
    take(&cancel_lock);
    if (!are_seen) {
        are_seen = 1;
        let_library_take_signal();
        if (!raw(SYS_rt_sigaction, CANCELS, 0, (long)&library_cancels, 8, 0, 0) && (uintptr_t)library_cancels.handler > 1) {
            struct kernel_action ours = library_cancels;
            ours.handler = on_cancel;
            raw(SYS_rt_sigaction, CANCELS, (long)&ours, 0, 8, 0, 0);
        }
    }
    give(&cancel_lock);
    restore_signals(signals);
}

INSTEAD int pthread_cancel(pthread_t thread) {
    if (atomic_load(&recording)) see_cancellations();
    return REAL(pthread_cancel)(thread);
}
