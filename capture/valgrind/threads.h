/* Threads, by Valgrind's numbers, which come again. */

static struct thread {
    struct buffer *b;
    /* Instructions that it executed and no record tells, while another thread is at work. */
    uint64_t work;
    /* What the thread library knows it by, and the word that the kernel clears at its end. */
    Addr name, cleared;
    struct system_call *call;
} *of_tid;
static ThreadId running;
/* Of a clone that is under way. */
static Addr clone_name, clone_cleared;

/* Threads that have ended and that no other has waited for. */
static struct ended {
    struct ended *next;
    Addr name, cleared;
    uint32_t thread;
} *all_ended;

/* What is recorded from here on is of this thread. */
static struct buffer *enter(ThreadId tid) {
    if (running == tid) return self;
    end_turn();
    of_tid[running].work = own_work;
    own_work = of_tid[tid].work;
    self = of_tid[tid].b;
    running = tid;
    special |= IN_TURN;
    return self;
}

/* Another thread has got that name, or waited for the one that had it. Gives the number of that, or -1. */
static int64_t forget_ended(Addr name, Addr cleared) {
    for (struct ended **e = &all_ended; *e; e = &(*e)->next) {
        struct ended *it = *e;
        if (!((name && it->name == name) || (cleared && it->cleared == cleared))) continue;
        int64_t thread = it->thread;
        *e = it->next;
        VG_(free)(it);
        return thread;
    }
    return -1;
}

/* A region began before there was a thread (region.h). */
static int unsaid;
static void say_bound(int bound);

static void thread_created(ThreadId parent, ThreadId tid) {
    struct buffer *b = new_buffer();
    if (!b) VG_(tool_panic)("coreplane: no memory for another thread");
    of_tid[tid] = (struct thread){b, 0, clone_name, clone_cleared, of_tid[tid].call};
    forget_ended(clone_name, clone_cleared);
    clone_name = clone_cleared = 0;
    if (parent != VG_INVALID_THREADID) emit(enter(parent), CREATE, 0, 0, caller_of(parent), b->thread, next_stamp());
    enter(tid);
    emit(b, START, 0, 0, 0, 0, next_stamp());
    if (unsaid) say_bound(1);
    if (parent != VG_INVALID_THREADID) enter(parent);
}

static void thread_ended(ThreadId tid) {
    struct thread *t = &of_tid[tid];
    struct buffer *b = enter(tid);
    end_turn();
    emit(b, END, 0, 0, 0, 0, next_stamp());
    write_out(b);
    struct ended *e = VG_(malloc)("coreplane", sizeof *e);
    *e = (struct ended){all_ended, t->name, t->cleared, b->thread};
    all_ended = e;
    b->next_free = free_buffers;
    free_buffers = b;
    t->b = self = NULL;
    running = VG_INVALID_THREADID;
}

/* The thread was waited for, by its name or by its word. */
static void joined(struct buffer *b, Addr name, Addr cleared, uint32_t location) {
    int64_t thread = forget_ended(name, cleared);
    if (thread >= 0) emit(b, JOIN, 0, 0, location, (uint64_t)thread, next_stamp());
}

/* pthread_join is called: who has ended already is not waited for by a system call. */
static void on_join(uint64_t location, Addr name) { joined(self, name, 0, (uint32_t)location); }

static void client_code_starts(ThreadId tid, ULong blocks) {
    (void)blocks;
    enter(tid);
}
