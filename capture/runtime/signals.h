/* Signal handlers of the program run through ours: they may interrupt a hook, whose records must stay whole, and a fault
 * may be the runtime's own (peek.h). */

LIBRARY(sigaction)
LIBRARY(abort)
static struct sigaction actions[65];
/* The code of the runtime (the build gives it a section of its own). */
extern const char __start_coreplane_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_coreplane_text[] __attribute__((weak, visibility("hidden")));

/* A signal handler that runs. */
struct frame {
    struct frame *outer;
    struct buffer *interrupted;
    /* A store whose hook has run; perhaps it has not been made yet. */
    uint64_t pending;
    uint32_t pending_size, pending_kind, pending_location, pending_work;
    /* It was not made: it is what the signal tells of. */
    int faulted;
    /* A read of a volatile variable, likewise. */
    struct look looked;
};

static int in_hook(const struct buffer *b, const ucontext_t *context) {
    const char *at = (const char *)context->uc_mcontext.gregs[REG_RIP];
    return b->busy || b->held || (at >= __start_coreplane_text && at < __stop_coreplane_text);
}

static struct buffer *side_of(struct buffer *b) {
    if (!b->side) {
        struct buffer *s = fresh_buffer();
        if (!s) return b;
        s->thread = b->thread;
        s->outer = b;
        b->side = s;
    }
    return b->side;
}

static void enter_handler(struct frame *f, const ucontext_t *context) {
    struct buffer *b = self;
    f->interrupted = b;
    f->pending_size = 0;
    f->faulted = 0;
    f->looked.address = 0;
    if (!b) return;
    f->outer = b->frames;
    b->frames = f;
    if (in_hook(b, context)) {
        self = side_of(b);
        return;
    }
    f->pending = b->pending, f->pending_size = b->pending_size, f->pending_kind = b->pending_kind;
    f->pending_location = b->pending_location, f->pending_work = b->pending_work;
    b->pending_size = 0;
    f->looked = b->looked;
    if (b->looked.address) forget_look(b);
}

/* Whether the pending store is what the processor could not do. Of an address that there cannot be it does not tell which. */
static int faults(const struct frame *f, int number, const siginfo_t *info) {
    if ((number != SIGSEGV && number != SIGBUS) || info->si_code <= 0 || !f->pending_size) return 0;
    uint64_t at = (uintptr_t)info->si_addr, first = f->pending;
    return at - first < f->pending_size || (uint64_t)((int64_t)(first << 16) >> 16) != first;
}

static void leave_handler(struct frame *f) {
    struct buffer *b = f->interrupted;
    if (!b || ended) return;
    begin();
    b->frames = f->outer;
    if (self != b) {
        self = b;
        /* The next record brings in what the handler did. */
        if (b->side->count) b->limit = b->bytes;
        return;
    }
    if (f->pending_size) {
        pend(b, f->pending_kind, f->pending, f->pending_size, f->pending_location);
        b->pending_work += f->pending_work;
    }
    if (f->looked.address) look(b, f->looked);
}

/* What is recorded is kept when a signal ends the program: all but the end. */
static void keep_what_is_recorded(void) {
    int one = 1;
    if (raw_pid() != owner || !atomic_compare_exchange_strong(&recording, &one, 2)) return;
    for (struct buffer *b = atomic_load(&all_buffers); b; b = b->next) {
        if (atomic_flag_test_and_set(&b->handing)) continue;
        hand_over_for(b);
        give(&b->handing);
    }
}

/* Those by which programs are asked to end, or end when nobody listens. One that is ignored stays so, for programs that this one becomes, too. */
static int is_request(int number) {
    return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT || number == SIGPIPE || number == SIGALRM;
}

static void end_by(int number, const siginfo_t *info) {
    static const struct sigaction standard = {.sa_handler = SIG_DFL};
    keep_what_is_recorded();
    atomic_store(&recording, 0);
    REAL(sigaction)(number, &standard, NULL);
    /* A fault happens again; what a terminal or a timer asks for does not. */
    if (info->si_code <= 0 || is_request(number)) raw(SYS_tgkill, raw_pid(), raw(SYS_gettid, 0, 0, 0, 0, 0, 0), number, 0, 0, 0);
}

static int watched(int number, const siginfo_t *info, ucontext_t *context);

/* One that a thread sent, perhaps. */
static char all_signals;
static void signal_arrived(void);

static void on_signal(int number, siginfo_t *info, void *context) {
    if (reading && watched(number, info, context)) return;
    if ((number == SIGSEGV || number == SIGBUS) && info->si_code > 0 && recovered(context)) return;
    struct sigaction a = actions[number];
    if (a.sa_handler == SIG_IGN && info->si_code <= 0) return;
    if (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN) {
        end_by(number, info);
        return;
    }
    if (a.sa_flags & SA_RESETHAND) actions[number].sa_handler = SIG_DFL;
    struct frame f;
    enter_handler(&f, context);
    f.faulted = faults(&f, number, info);
    if (info->si_code <= 0) signal_arrived();
    if (a.sa_flags & SA_SIGINFO) a.sa_sigaction(number, info, context);
    else a.sa_handler(number);
    leave_handler(&f);
}

/* Signals that a program dies of: ours is there even where the program has no handler. */
static int is_fatal(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGABRT || number == SIGFPE || number == SIGILL;
}

static int install(int number, const struct sigaction *wanted) {
    struct sigaction ours = *wanted;
    int own = wanted->sa_handler != SIG_DFL && wanted->sa_handler != SIG_IGN;
    if (own || is_fatal(number) || (is_request(number) && wanted->sa_handler == SIG_DFL)) {
        ours.sa_sigaction = on_signal;
        ours.sa_flags = (own ? wanted->sa_flags & ~SA_RESETHAND : SA_ONSTACK) | SA_SIGINFO;
    }
    return REAL(sigaction)(number, &ours, NULL);
}

INSTEAD int sigaction(int number, const struct sigaction *wanted, struct sigaction *before) {
    if (!atomic_load(&recording) || number < 1 || number > 64) return REAL(sigaction)(number, wanted, before);
    struct sigaction now;
    int failed = REAL(sigaction)(number, NULL, &now);
    if (failed) return failed;
    if (now.sa_sigaction == on_signal) now = actions[number];
    struct sigaction copy;
    if (wanted) {
        copy = *wanted;
        struct sigaction old = actions[number];
        /* Known before it can be called. */
        actions[number] = copy;
        failed = install(number, &copy);
        if (failed) actions[number] = old;
    }
    if (!failed && before) *before = now;
    return failed;
}

static sighandler_t set_handler(int number, sighandler_t handler, int flags) {
    struct sigaction wanted = {.sa_handler = handler, .sa_flags = flags}, before;
    if (handler == SIG_ERR) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigemptyset(&wanted.sa_mask);
    if (!(flags & SA_RESETHAND)) sigaddset(&wanted.sa_mask, number);
    return sigaction(number, &wanted, &before) ? SIG_ERR : before.sa_handler;
}
INSTEAD sighandler_t signal(int number, sighandler_t handler) { return set_handler(number, handler, SA_RESTART); }
sighandler_t __sysv_signal(int, sighandler_t);
INSTEAD sighandler_t __sysv_signal(int number, sighandler_t handler) {
    return set_handler(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

static void watch_fatal_signals(void) {
    for (int number = 1; number <= 64; number++) {
        struct sigaction now;
        if ((!is_fatal(number) && !is_request(number)) || REAL(sigaction)(number, NULL, &now)) continue;
        actions[number] = now;
        install(number, &now);
    }
}

/* A signal that nobody has a handler for is ours: a check that is watched goes step by step. */
static void take_signal(int number) {
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    actions[number].sa_handler = SIG_DFL;
    REAL(sigaction)(number, &ours, NULL);
}

/* A signal that bounds the region, until the program has a handler of its own for it. */
static void on_region_signal(int number);
static void take_region_signal(void) {
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    actions[SIGUSR2] = (struct sigaction){.sa_handler = on_region_signal};
    REAL(sigaction)(SIGUSR2, &ours, NULL);
}

/* A jump out of a handler, or the end of the thread at any instruction: neither handlers nor the hooks that are under way go on. */
static void leave_all(int in_hook) {
    struct buffer *b = self;
    if (!b) return;
    while (b->outer) b = b->outer;
    uint64_t signals = block_signals();
    if (self != b || in_hook) {
        leave_record(b);
        take_side(b);
        self = b;
    }
    settle(b);
    for (struct frame *f = b->frames; f; f = f->outer) {
        if (!f->pending_size || f->faulted) continue;
        pend(b, f->pending_kind, f->pending, f->pending_size, f->pending_location);
        settle(b);
    }
    b->frames = NULL;
    restore_signals(signals);
}
static void jump(void) { leave_all(0); }

#define JUMPS(name) \
    void __real_##name(struct __jmp_buf_tag *, int) __attribute__((noreturn)); \
    void __attribute__((noreturn)) __wrap_##name(struct __jmp_buf_tag *to, int value) { \
        jump(); \
        __real_##name(to, value); \
    }
JUMPS(longjmp)
JUMPS(_longjmp)
JUMPS(siglongjmp)
JUMPS(__longjmp_chk)
