/* What the recorder's shared parts (capture/runtime) ask of their surroundings, in a Valgrind tool: there is no C
 * library, memory comes from Valgrind, and one thread runs at a time. */

#define __real_memcpy VG_(memcpy)
#define __real_memset VG_(memset)
#define strlen(text) VG_(strlen)((const HChar *)(text))
#define strcmp(a, b) VG_(strcmp)((const HChar *)(a), (const HChar *)(b))
#define strncmp(a, b, n) VG_(strncmp)((const HChar *)(a), (const HChar *)(b), n)
#define getenv(name) VG_(getenv)(name)

static size_t strnlen_(const char *text, size_t most) {
    size_t n = 0;
    while (n < most && text[n]) n++;
    return n;
}
#define strnlen strnlen_

static inline void *raw_memory(size_t bytes) { return VG_(calloc)("coreplane", 1, bytes); }
static inline void raw_release(void *p, size_t bytes) {
    (void)bytes;
    VG_(free)(p);
}

/* The thread that runs, or that a system call is of. */
static struct buffer *self;
static atomic_uint stamps;
static unsigned threads;
/* No check is run by this tool, and no process is a host. */
enum { reading = 0, by_host = 0 };

/* The folder of the traces, where each process has one (processes.h). */
static const HChar *each_process;

/* Instructions that the thread executed since its last record, beside those that the record itself tells. */
static uint64_t own_work;
/* Whether what runs is outside of the region that is recorded (region.h): its instructions are not told. */
static int outside;
static inline uint64_t take_whole_work(void) {
    uint64_t work = outside ? 0 : own_work;
    own_work = 0;
    return work;
}
static inline uint32_t take_work(void) {
    uint64_t work = take_whole_work();
    return work < UINT32_MAX ? (uint32_t)work : UINT32_MAX;
}

/* What a store has left is there. */
static inline int peek(uint64_t address, unsigned size, uint64_t *value) {
    switch (size) {
    case 1: *value = *(const uint8_t *)address; break;
    case 2: *value = *(const uint16_t *)address; break;
    case 4: *value = *(const uint32_t *)address; break;
    default: *value = *(const uint64_t *)address;
    }
    return 1;
}

Long do_syscall_clone_amd64_linux(Word (*run)(void *), void *stack, Long flags, void *argument, Int *child, Int *parent, void *tls);

/* Runs with a table of descriptors of its own: to close a file gives back the process's locks on it. */
static void elsewhere(int (*run)(void *), void *argument) {
    enum { STACK = 1 << 18 };
    uint8_t *stack = raw_memory(STACK);
    uint64_t signals = block_signals();
    int status;
    Long child = do_syscall_clone_amd64_linux((Word(*)(void *))(void *)run, stack + STACK, VKI_CLONE_VM | VKI_CLONE_VFORK, argument, NULL, NULL, NULL);
    if (child > 0) raw(SYS_wait4, child, (long)&status, __WCLONE, 0, 0, 0);
    else run(argument);
    restore_signals(signals);
    raw_release(stack, STACK);
}
