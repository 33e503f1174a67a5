/* Several processes that map one file: each is a host, and has a trace of its own in one folder. Places in order come from one
 * counter in memory that all of them map, so that every access to a shared file has its place among those of all.
 *
 * Only what lies in such a mapping is recorded of loads, stores and flushes. Nothing is compared with a copy: what another
 * process stored is not this one's. */

static const char *host_folder;

/* Functions that were left by a jump are no longer under way when another is entered above them on the stack. */
static void enter_function(const void *from, uintptr_t stack) {
    enum { CALLS = sizeof ((struct buffer *)0)->calls / sizeof ((struct buffer *)0)->calls[0] };
    struct buffer *b = current();
    if (!b) return;
    while (b->depth && b->depth <= CALLS && b->calls[b->depth - 1].stack <= stack) b->depth--;
    if (b->depth < CALLS) b->calls[b->depth].from = from, b->calls[b->depth].stack = stack;
    b->depth++;
}
static void leave_function(void) {
    if (self && self->depth) self->depth--;
}
/* The place of the call of the function that is at work; 0 where it is not known. */
static uint32_t place_of_call(const struct buffer *b) {
    return b->depth && b->depth <= sizeof b->calls / sizeof *b->calls ? place(b->calls[b->depth - 1].from) : 0;
}

/* Memory without a file that a fork will share: named by a number among all processes. */
static struct file *new_memory(struct buffer *b, uint64_t device, uint64_t number, const char *what, uint64_t bytes) {
    struct stat s = {.st_dev = device, .st_ino = number};
    struct file *f = known_file(&s);
    if (f || !(f = new_file(b, &s, 0))) return f;
    char path[60];
    numbered(path, what, number);
    write_file_text(f, path, bytes);
    f->described = f->ready = 1;
    return f;
}
static struct file *new_anonymous(struct buffer *b, uint64_t bytes) {
    return new_memory(b, 0, atomic_fetch_add(&among_hosts->memories, 1) + 1, "anonymous memory ", bytes);
}
/* Attached again, a segment is the same. */
static struct file *segment(struct buffer *b, int id, uint64_t bytes) { return new_memory(b, 1, (uint64_t)id + 1, "segment of shmget ", bytes); }

static int join_hosts(void) {
    char path[4096];
    host_folder = getenv("COREPLANE_HOSTS");
    if (!host_folder || !*host_folder || strlen(host_folder) > sizeof path - 32) return 0;
    size_t n = strlen(host_folder);
    __real_memcpy(path, host_folder, n);
    __real_memcpy(path + n, "/order", sizeof "/order");
    int fd = raw_open(path, O_RDWR | O_CLOEXEC, 0);
    long at = fd < 0 ? -1 : raw(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) raw_close(fd);
    if (at < 0 && at > -4096) return 0;
    among_hosts = (void *)at;
    stamp_source = &among_hosts->places;
    by_host = 1;
    return 1;
}

static unsigned next_host(void) { return atomic_fetch_add(&among_hosts->processes, 1); }

/* The number of the process that this thread forks: given before there is one, since siblings begin in any order. */
static THREAD_LOCAL unsigned child_number;
static void number_child(void) { child_number = next_host(); }
LIBRARY(fork)
INSTEAD pid_t fork(void) {
    pid_t child = REAL(fork)();
    /* Nobody waits for one that there is not. */
    if (child < 0 && by_host) rest(1);
    return child;
}

/* The path of this process's own trace. */
static void name_host_trace(unsigned number) {
    size_t n = strlen(host_folder);
    __real_memcpy(trace_path, host_folder, n);
    numbered(trace_path + n, "/", number);
}

/* Says which process this is: its number among all, the number of the one it was forked from, and the kernel's. */
static void say_host(unsigned number, unsigned from) {
    char text[80];
    int at = numbered(text, "", number);
    at += numbered(text + at, " ", from);
    numbered(text + at, " ", (uint64_t)raw_pid());
    write_text("process", text);
}

/* What a word has, with a place among all at which it has that. */
static uint32_t peek_in_turn(uint64_t address, unsigned size, uint64_t *value) {
    enum { MOST_TRIES = 8 };
    uint32_t stamp = 0;
    uint64_t before, tries = 0;
    peek(address, size, value);
    do {
        before = *value;
        stamp = next_stamp();
        peek(address, size, value);
    } while (*value != before && ++tries < MOST_TRIES);
    return stamp;
}

/* One read may be noted as several words. */
static void note_look(struct buffer *b, struct look l) {
    if (!b->looked.address) look(b, l);
    else if (b->wider_words < sizeof b->wider / sizeof *b->wider) b->wider[b->wider_words++] = l;
}

/* Before the record of an access to a shared file: its place among all, where its function was called, what a load gives, and as its size whether it is
 * a plain one. Nothing, and no record either, for one that is elsewhere. */
enum { PLAIN = 1, AGAIN, LOOKS };
static int take_turn(struct buffer *b, uint64_t what, uint64_t address, uint64_t value, uint32_t stamp) {
    enum kind k = (enum kind)(what >> 32 & 31);
    unsigned log2size = what >> 37 & 3;
    if (k > CLFLUSH) return 1;
    int is_plain = k == LOAD && !looks_for;
    looks_for = 0;
    if (address - shadowed_from >= shadowed_bytes || !find_mapping(b, address)) return 0;
    if (k == LOAD) {
        stamp = peek_in_turn(address, 1u << log2size, &value);
        note_look(b, (struct look){address, value, 0, 1u << log2size});
    }
    if (!stamp) stamp = next_stamp();
    append(b, TURN, what_is(TURN, is_plain ? PLAIN : LOOKS, place_of_call(b)), address, value, stamp, 0);
    consider_pause();
    return 1;
}

/* The record of a load is made before the load, and the process may have had to wait in between: what the word has now, if that is something else, is what
 * it may have given too. */
static void look_at_word_again(struct buffer *b, const struct look *l) {
    uint64_t value;
    if (!peek(l->address, l->bytes, &value) || value == l->value || !find_mapping(b, l->address)) return;
    uint32_t stamp = peek_in_turn(l->address, l->bytes, &value);
    append(b, TURN, what_is(TURN, AGAIN, 0), l->address, value, stamp, 0);
    if (b->at > b->limit) hand_over(b);
}
static void look_again(struct buffer *b) {
    look_at_word_again(b, &b->looked);
    for (unsigned n = 0; n < b->wider_words; n++) look_at_word_again(b, &b->wider[n]);
}

/* A store that is still to be looked up has been made if memory changed there. A process that then only loads, until another
 * one answers it, would else never tell of it. */
static void settle_if_made(struct buffer *b) {
    uint64_t now;
    unsigned size = b->pending_size;
    if (size && size <= 8 && (size & (size - 1)) == 0 && peek(b->pending, size, &now) && now != b->pending_was) settle(b);
}

/* Before a program waits it tells what it stored last: others may change that meanwhile. */
#define WAITS(type, name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        if (by_host) begin(); \
        return REAL(name) arguments; \
    }
/* One that may take long, and what follows from its result. */
#define RESTS(type, name, parameters, arguments, then) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        if (by_host) begin(); \
        rest(1); \
        type result = REAL(name) arguments; \
        rest(-1); \
        then \
        return result; \
    }
WAITS(int, usleep, (useconds_t microseconds), (microseconds))
RESTS(unsigned, sleep, (unsigned seconds), (seconds), )
WAITS(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
WAITS(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left), (clock, flags, time, left))
WAITS(int, sched_yield, (void), ())
/* One that has ended orders the process that waited for it. */
#define WAITS_FOR_END(name, parameters, arguments) \
    RESTS(pid_t, name, parameters, arguments, if (by_host && result > 0) takes(MEETINGS, PC);)
WAITS_FOR_END(wait, (int *status), (status))
WAITS_FOR_END(waitpid, (pid_t process, int *status, int options), (process, status, options))
RESTS(int, poll, (struct pollfd *all, nfds_t n, int milliseconds), (all, n, milliseconds), )

/* Semaphores that processes share order them as locks do. Threads meet there. */
LIBRARY(sem_post)
INSTEAD int sem_post(sem_t *s) {
    if (by_host) sync_event(UNLOCK, s, 0, PC);
    else gives(meeting_at(s), PC);
    int failed = REAL(sem_post)(s);
    changed(s, sizeof *s, PC);
    return failed;
}
#define TAKES(name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        if (by_host) begin(); \
        rest(1); \
        int failed = REAL(name) arguments; \
        changed(s, sizeof *s, PC); \
        rest(-1); \
        if (by_host && !failed) sync_event(LOCK, s, 0, PC); \
        else if (!failed) takes(meeting_at(s), PC); \
        return failed; \
    }
TAKES(sem_wait, (sem_t *s), (s))
TAKES(sem_trywait, (sem_t *s), (s))
TAKES(sem_timedwait, (sem_t *s, const struct timespec *until), (s, until))
TAKES(sem_clockwait, (sem_t *s, clockid_t clock, const struct timespec *until), (s, clock, until))

static int make_trace(void);

/* The child of a fork begins a trace of its own, with what is mapped already. */
static void begin_again(const struct buffer *old) {
    unsigned from = by_host ? host_number : (unsigned)owner;
    atomic_store(&all_buffers, NULL);
    free_buffers = NULL;
    atomic_store(&threads, 0);
    /* Whoever held them is a thread of the parent's. */
    atomic_flag *locks[] = {&trace_lock, &free_lock, &files_lock, &born_lock, &looking_lock, &streams_lock, &reads_lock, &region_lock, &unseen_lock, &cancel_lock};
    for (unsigned n = 0; n < sizeof locks / sizeof *locks; n++) give(locks[n]);
    memset(stamp_locks, 0, sizeof stamp_locks);
    memset(name_heads, 0, sizeof name_heads);
    name_count = 0;
    unseen_texts = NULL;
    unseen_count = 0;
    raw_close(trace_fd);
    owner = raw_pid();
    pauses.random = pauses.accesses = 0;
    if (by_host) name_host_trace(host_number = child_number);
    else name_own_trace();
    if (!make_trace()) return;
    atomic_store(&recording, 1);
    say_host(by_host ? host_number : (unsigned)owner, from);
    forget_described();
    struct buffer *b = begin();
    if (b && old) {
        b->depth = old->depth;
        __real_memcpy(b->calls, old->calls, sizeof b->calls);
    }
    for (struct mapping *m = mappings; b && m < mappings + mapping_count; m++) {
        if (!m->bytes || m->file->ignored) continue;
        if (by_host && !m->file->described) write_file_text(m->file, m->file->path ? m->file->path : "", m->offset + m->bytes);
        else if (!m->file->described) describe_again(b, m->file);
        m->file->described = m->file->ready = 1;
        emit(b, OPERAND, 0, m->from, 0, file_address(m->file, m->offset), 0);
        emit(b, MAP, 0, m->from, 0, m->bytes, next_stamp());
    }
}
