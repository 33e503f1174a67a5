/* The recorder's half that lives in the recorded program (C11, Linux, x86-64).
 *
 * The compiler calls a hook before every load and store (-fsanitize=thread code generation, gcc or clang); the
 * hooks here pack what happened into a buffer of the thread, and a full buffer becomes one block of the trace
 * (crates/programs/trace/src/file.rs describes the format). Nothing is shared between threads on the way but the
 * counter that stamps synchronisation. A block is written by one system call on a file opened for appending, so
 * that what a killed program leaves is readable up to its last whole block.
 *
 * A store's hook runs before the store: its value is read when the same thread next records anything but a load.
 *
 * Without COREPLANE_TRACE in the environment nothing is recorded. This file is never instrumented. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Kinds of records, as in the trace format. */
enum kind {
    LOAD, STORE, STORE_NT, LOAD_ACQUIRE, STORE_RELEASE, RMW, CLWB, CLFLUSHOPT, CLFLUSH, SFENCE, MFENCE,
    LOCK, UNLOCK, CREATE, JOIN, MAP, UNMAP, START, END, MARK
};
enum { BLOCK_RAW = 1, BLOCK_TEXT = 3, BLOCK_END = 4 };
enum { HEADER = 28, CAPACITY = 1 << 17, LONGEST = 48 };

struct buffer {
    uint8_t *at;
    uint64_t address;
    uint32_t location, count, thread;
    /* A store whose value is not read yet. */
    uint32_t pending_location;
    uint64_t pending;
    uint32_t pending_size;
    /* STORE or STORE_NT. */
    uint32_t pending_kind;
    struct buffer *next;
    uint8_t bytes[HEADER + CAPACITY];
};

static int trace_fd = -1;
static atomic_int recording;
static atomic_uint threads, stamps;
static _Atomic(struct buffer *) all_buffers;
static pthread_key_t at_thread_end;
static uintptr_t text_base;
static __thread struct buffer *self __attribute__((tls_model("initial-exec")));
extern const char __executable_start[] __attribute__((weak));
extern const char etext[] __attribute__((weak));

/* The linker sends calls of these functions to __wrap_ versions below, this file's own calls included: here the
 * real ones are meant. */
void *__real_memcpy(void *, const void *, size_t);
void *__real_memmove(void *, const void *, size_t);
void *__real_memset(void *, int, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
void __real_free(void *);

/* ------------------------------------------------------------------ output */

static uint32_t checksum(const uint8_t *bytes, size_t n) {
    uint64_t h = 0xCBF29CE484222325u;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t word;
        __builtin_memcpy(&word, bytes + i, 8);
        h = (h ^ word) * 0x100000001B3u;
    }
    for (; i < n; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    return (uint32_t)(h ^ h >> 32);
}

static void stop(const char *why) {
    if (atomic_exchange(&recording, 0)) {
        static const char prefix[] = "coreplane: recording stopped: ";
        (void)!write(2, prefix, sizeof prefix - 1);
        (void)!write(2, why, strlen(why));
        (void)!write(2, "\n", 1);
    }
}

/* Writes a block whose contents lie behind HEADER free bytes. */
static void write_block(uint8_t *block, uint32_t kind, uint32_t thread, uint32_t count, uint32_t n) {
    uint32_t head[7] = {0, kind, thread, count, n, n, checksum(block + HEADER, n)};
    __real_memcpy(head, "CBLK", 4);
    __real_memcpy(block, head, HEADER);
    ssize_t done = write(trace_fd, block, HEADER + n);
    if (done != (ssize_t)(HEADER + n)) stop(done < 0 ? strerror(errno) : "no room for the trace");
}

static void write_text(const char *key, const char *value) {
    uint8_t block[HEADER + 4400];
    size_t k = strlen(key), v = strnlen(value, 4000);
    __real_memcpy(block + HEADER, key, k);
    block[HEADER + k] = '\n';
    __real_memcpy(block + HEADER + k + 1, value, v);
    write_block(block, BLOCK_TEXT, 0, 0, (uint32_t)(k + 1 + v));
}

static void hand_over(struct buffer *b) {
    if (b->count && atomic_load_explicit(&recording, memory_order_relaxed))
        write_block(b->bytes, BLOCK_RAW, b->thread, b->count, (uint32_t)(b->at - b->bytes - HEADER));
    b->at = b->bytes + HEADER;
    b->address = 0;
    b->location = b->count = 0;
}

/* ------------------------------------------------------------------ records */

static inline uint8_t *put(uint8_t *at, uint64_t v) {
    while (v >= 0x80) {
        *at++ = (uint8_t)v | 0x80;
        v >>= 7;
    }
    *at++ = (uint8_t)v;
    return at;
}

static inline uint64_t zigzag(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }

static inline int has_value(enum kind k) { return (1u << k & 0x9E036u) != 0; }
static inline int has_stamp(enum kind k) { return (1u << k & 0x7838u) != 0; }

static inline uint32_t place(const void *pc) {
    uintptr_t offset = (uintptr_t)pc - text_base;
    return offset < UINT32_MAX ? (uint32_t)offset : 0;
}

static inline void emit(struct buffer *b, enum kind k, unsigned log2size, uint64_t address, uint32_t location,
                        uint64_t value, uint32_t stamp) {
    uint8_t *at = b->at;
    *at++ = (uint8_t)(k | log2size << 5);
    at = put(at, zigzag((int64_t)(address - b->address)));
    at = put(at, zigzag((int32_t)(location - b->location)));
    if (has_value(k)) at = put(at, value);
    if (has_stamp(k)) at = put(at, stamp);
    b->at = at;
    b->address = address;
    b->location = location;
    b->count++;
    if (__builtin_expect(at > b->bytes + HEADER + CAPACITY - LONGEST, 0)) hand_over(b);
}

static inline uint64_t value_at(uint64_t address, unsigned size) {
    uint64_t v = 0;
    switch (size) {
    case 1: v = *(const volatile uint8_t *)address; break;
    case 2: { uint16_t w; __builtin_memcpy(&w, (const void *)address, 2); v = w; break; }
    case 4: { uint32_t w; __builtin_memcpy(&w, (const void *)address, 4); v = w; break; }
    default: __builtin_memcpy(&v, (const void *)address, 8);
    }
    return v;
}

/* An access of any size and place, in pieces that do not cross a cache line. */
static void pieces(struct buffer *b, enum kind k, uint64_t address, uint64_t size, uint32_t location) {
    uint64_t end = address + size;
    while (address < end) {
        uint64_t left = end - address, to_edge = 8 - address % 8;
        unsigned log2size = 63 - (unsigned)__builtin_clzll(left < to_edge ? left : to_edge);
        emit(b, k, log2size, address, location, k == LOAD ? 0 : value_at(address, 1u << log2size), 0);
        address += 1u << log2size;
    }
}

static inline void settle(struct buffer *b) {
    if (b->pending_size) {
        uint64_t address = b->pending;
        unsigned size = b->pending_size;
        enum kind k = b->pending_kind;
        b->pending_size = 0;
        if (__builtin_expect(size <= 8 && (size & (size - 1)) == 0 && (address & 63) + size <= 64, 1))
            emit(b, k, (unsigned)__builtin_ctz(size), address, b->pending_location, value_at(address, size), 0);
        else
            pieces(b, k, address, size, b->pending_location);
    }
}

static struct buffer *new_buffer(void) {
    if (!atomic_load_explicit(&recording, memory_order_relaxed)) return NULL;
    struct buffer *b = __real_mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) {
        stop("no memory for a buffer");
        return NULL;
    }
    b->thread = atomic_fetch_add(&threads, 1);
    b->at = b->bytes + HEADER;
    b->next = atomic_load(&all_buffers);
    while (!atomic_compare_exchange_weak(&all_buffers, &b->next, b)) {}
    self = b;
    pthread_setspecific(at_thread_end, b);
    emit(b, START, 0, 0, 0, 0, 0);
    return b;
}

/* The thread's buffer; none while not recording. */
static inline struct buffer *current(void) {
    struct buffer *b = self;
    return __builtin_expect(!b, 0) ? new_buffer() : b;
}

/* The same, with nothing pending. */
static inline struct buffer *begin(void) {
    struct buffer *b = current();
    if (b) settle(b);
    return b;
}

static void end_thread(void *p) {
    struct buffer *b = p;
    settle(b);
    emit(b, END, 0, 0, 0, 0, 0);
    hand_over(b);
    self = NULL;
}

/* ------------------------------------------------------------------ start and end */

static void in_child(void) {
    /* The child of a fork records nothing: the file belongs to the parent. */
    atomic_store(&recording, 0);
    self = NULL;
}

static void before_fork(void) {
    if (atomic_load(&recording)) write_text("note", "forked");
}

static void finish(void) {
    if (!atomic_load(&recording)) return;
    for (struct buffer *b = atomic_load(&all_buffers); b; b = b->next) {
        if (b == self) {
            settle(b);
            emit(b, END, 0, 0, 0, 0, 0);
        }
        hand_over(b);
    }
    uint8_t block[HEADER];
    write_block(block, BLOCK_END, 0, 0, 0);
    atomic_store(&recording, 0);
}

static void describe_program(void) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) {
        path[n] = 0;
        write_text("program", path);
    }
    const Elf64_Ehdr *elf = (const void *)__executable_start;
    text_base = (uintptr_t)__executable_start;
    char bias[20];
    uintptr_t v = elf && elf->e_type == ET_EXEC ? text_base : 0;
    int at = 19;
    bias[at] = 0;
    do bias[--at] = "0123456789abcdef"[v % 16]; while (v /= 16);
    write_text("bias", bias + at);
}

__attribute__((constructor(101))) static void start(void) {
    const char *path = getenv("COREPLANE_TRACE");
    if (!path || !*path) return;
    trace_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (trace_fd < 0) {
        static const char text[] = "coreplane: the trace cannot be created\n";
        (void)!write(2, text, sizeof text - 1);
        return;
    }
    static const uint8_t head[16] = {'C', 'O', 'R', 'E', 'P', 'L', 'N', 'T', 1};
    if (write(trace_fd, head, 16) != 16) return;
    unsetenv("COREPLANE_TRACE");
    pthread_key_create(&at_thread_end, end_thread);
    pthread_atfork(before_fork, NULL, in_child);
    atomic_store(&recording, 1);
    describe_program();
    atexit(finish);
}

/* ------------------------------------------------------------------ plain accesses */

#define PC place(__builtin_return_address(0))
#define EXPORT __attribute__((visibility("default")))

/* A pending store stays pending: for the copy of a structure the compiler announces the write first, then the
 * read, then copies. So a load may be recorded before the store that precedes it, as x86-TSO allows. */
static inline void on_read(uint64_t address, unsigned size, uint32_t location) {
    struct buffer *b = current();
    if (!b) return;
    if (__builtin_expect(size <= 8 && (address & 63) + size <= 64, 1))
        emit(b, LOAD, (unsigned)__builtin_ctz(size), address, location, 0, 0);
    else
        pieces(b, LOAD, address, size, location);
}

static inline void on_write(uint64_t address, unsigned size, uint32_t location) {
    struct buffer *b = begin();
    if (!b) return;
    b->pending = address;
    b->pending_size = size;
    b->pending_location = location;
    b->pending_kind = STORE;
}

#define ACCESS(n) \
    EXPORT void __tsan_read##n(void *p) { on_read((uint64_t)p, n, PC); } \
    EXPORT void __tsan_write##n(void *p) { on_write((uint64_t)p, n, PC); } \
    EXPORT void __tsan_volatile_read##n(void *p) { on_read((uint64_t)p, n, PC); } \
    EXPORT void __tsan_volatile_write##n(void *p) { on_write((uint64_t)p, n, PC); } \
    EXPORT void __tsan_read_write##n(void *p) { on_read((uint64_t)p, n, PC); on_write((uint64_t)p, n, PC); } \
    EXPORT void __tsan_unaligned_read##n(void *p) { on_read((uint64_t)p, n, PC); } \
    EXPORT void __tsan_unaligned_write##n(void *p) { on_write((uint64_t)p, n, PC); } \
    EXPORT void __tsan_unaligned_volatile_read##n(void *p) { on_read((uint64_t)p, n, PC); } \
    EXPORT void __tsan_unaligned_volatile_write##n(void *p) { on_write((uint64_t)p, n, PC); } \
    EXPORT void __tsan_unaligned_read_write##n(void *p) { on_read((uint64_t)p, n, PC); on_write((uint64_t)p, n, PC); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

EXPORT void __tsan_init(void) {}
EXPORT void __tsan_func_entry(void *pc) { (void)pc; }
EXPORT void __tsan_func_exit(void) {}
EXPORT void __tsan_ignore_thread_begin(void) {}
EXPORT void __tsan_ignore_thread_end(void) {}
EXPORT void __tsan_vptr_read(void **p) { on_read((uint64_t)p, 8, PC); }
EXPORT void __tsan_vptr_update(void **p, void *v) { (void)v; on_write((uint64_t)p, 8, PC); }

/* ------------------------------------------------------------------ ranges */

/* Bytes that were read: one load a line. */
static void range_read(uint64_t address, uint64_t n, uint32_t location) {
    struct buffer *b = current();
    for (uint64_t end = address + n; b && address < end; address = (address | 63) + 1) emit(b, LOAD, 0, address, location, 0, 0);
}

/* Bytes that have been written: their values are there. */
static void range_written(uint64_t address, uint64_t n, uint32_t location) {
    struct buffer *b = begin();
    if (b) pieces(b, STORE, address, n, location);
}

EXPORT void __tsan_read_range(void *p, unsigned long n) { range_read((uint64_t)p, n, PC); }
EXPORT void __tsan_write_range(void *p, unsigned long n) {
    struct buffer *b = begin();
    if (b && n < UINT32_MAX) {
        b->pending = (uint64_t)p;
        b->pending_size = (uint32_t)n;
        b->pending_location = PC;
        b->pending_kind = STORE;
    }
}

void *__wrap_memcpy(void *to, const void *from, size_t n) {
    range_read((uint64_t)from, n, PC);
    __real_memcpy(to, from, n);
    range_written((uint64_t)to, n, PC);
    return to;
}
void *__wrap_memmove(void *to, const void *from, size_t n) {
    range_read((uint64_t)from, n, PC);
    __real_memmove(to, from, n);
    range_written((uint64_t)to, n, PC);
    return to;
}
void *__wrap_memset(void *to, int byte, size_t n) {
    __real_memset(to, byte, n);
    range_written((uint64_t)to, n, PC);
    return to;
}
EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n) { return __wrap_memcpy(to, from, n); }
EXPORT void *__tsan_memmove(void *to, const void *from, size_t n) { return __wrap_memmove(to, from, n); }
EXPORT void *__tsan_memset(void *to, int byte, size_t n) { return __wrap_memset(to, byte, n); }

char *__wrap_strcpy(char *to, const char *from) { return __wrap_memcpy(to, from, strlen(from) + 1); }
char *__wrap_strcat(char *to, const char *from) {
    __wrap_memcpy(to + strlen(to), from, strlen(from) + 1);
    return to;
}
char *__real_strncpy(char *, const char *, size_t);
char *__wrap_strncpy(char *to, const char *from, size_t n) {
    range_read((uint64_t)from, strnlen(from, n), PC);
    __real_strncpy(to, from, n);
    range_written((uint64_t)to, n, PC);
    return to;
}

/* Formatted text: what was written and its end. */
int __real_vsnprintf(char *, size_t, const char *, va_list);
static int formatted(char *to, size_t room, const char *format, va_list values, uint32_t location) {
    begin();
    int n = __real_vsnprintf(to, room, format, values);
    if (n >= 0 && room > 0) range_written((uint64_t)to, (size_t)n < room ? (size_t)n + 1 : room, location);
    return n;
}
int __wrap_vsnprintf(char *to, size_t room, const char *format, va_list values) {
    return formatted(to, room, format, values, PC);
}
int __wrap_vsprintf(char *to, const char *format, va_list values) {
    return formatted(to, INT32_MAX, format, values, PC);
}
int __wrap_snprintf(char *to, size_t room, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int n = formatted(to, room, format, values, PC);
    va_end(values);
    return n;
}
int __wrap_sprintf(char *to, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int n = formatted(to, INT32_MAX, format, values, PC);
    va_end(values);
    return n;
}

/* What the kernel writes into the program's memory. */
#define KERNEL_WRITES(name, parameters, arguments) \
    ssize_t __real_##name parameters; \
    ssize_t __wrap_##name parameters { \
        begin(); \
        ssize_t n = __real_##name arguments; \
        if (n > 0) range_written((uint64_t)to, (uint64_t)n, PC); \
        return n; \
    }
KERNEL_WRITES(read, (int fd, void *to, size_t size), (fd, to, size))
KERNEL_WRITES(pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
KERNEL_WRITES(pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
KERNEL_WRITES(recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))

/* ------------------------------------------------------------------ atomics */

/* Held while an atomic operation and its stamp are made, so that stamps are in the order of the operations. */
static atomic_flag stamp_locks[256];

static inline atomic_flag *lock_stamp(uint64_t address) {
    atomic_flag *lock = &stamp_locks[(address >> 3 ^ address >> 11) % 256];
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) __builtin_ia32_pause();
    return lock;
}

static inline uint32_t next_stamp(void) { return atomic_fetch_add_explicit(&stamps, 1, memory_order_relaxed) + 1; }

#define LOG2(n) (n == 8 ? 0 : n == 16 ? 1 : n == 32 ? 2 : 3)

#define RMW_BODY(n, type, operation, new_value) \
    struct buffer *b = begin(); \
    if (!b) { operation; return old; } \
    atomic_flag *lock = lock_stamp((uint64_t)p); \
    operation; \
    uint32_t stamp = next_stamp(); \
    atomic_flag_clear_explicit(lock, memory_order_release); \
    emit(b, RMW, LOG2(n), (uint64_t)p, PC, (type)(new_value), stamp); \
    return old;

#define FETCH(n, type, name, builtin, new_value) \
    EXPORT type __tsan_atomic##n##_##name(volatile type *p, type v, int order) { \
        (void)order; \
        type old; \
        RMW_BODY(n, type, old = builtin(p, v, __ATOMIC_SEQ_CST), new_value) \
    }

#define ATOMIC(n, type) \
    EXPORT type __tsan_atomic##n##_load(const volatile type *p, int order) { \
        struct buffer *b = begin(); \
        if (!b || order == __ATOMIC_RELAXED) { \
            if (b) emit(b, LOAD, LOG2(n), (uint64_t)p, PC, 0, 0); \
            return __atomic_load_n(p, __ATOMIC_SEQ_CST); \
        } \
        atomic_flag *lock = lock_stamp((uint64_t)p); \
        type v = __atomic_load_n(p, __ATOMIC_SEQ_CST); \
        uint32_t stamp = next_stamp(); \
        atomic_flag_clear_explicit(lock, memory_order_release); \
        emit(b, LOAD_ACQUIRE, LOG2(n), (uint64_t)p, PC, 0, stamp); \
        return v; \
    } \
    EXPORT void __tsan_atomic##n##_store(volatile type *p, type v, int order) { \
        struct buffer *b = begin(); \
        if (!b || order == __ATOMIC_RELAXED) { \
            if (b) emit(b, STORE, LOG2(n), (uint64_t)p, PC, v, 0); \
            __atomic_store_n(p, v, __ATOMIC_SEQ_CST); \
            return; \
        } \
        atomic_flag *lock = lock_stamp((uint64_t)p); \
        __atomic_store_n(p, v, __ATOMIC_SEQ_CST); \
        uint32_t stamp = next_stamp(); \
        atomic_flag_clear_explicit(lock, memory_order_release); \
        emit(b, STORE_RELEASE, LOG2(n), (uint64_t)p, PC, v, stamp); \
    } \
    FETCH(n, type, exchange, __atomic_exchange_n, v) \
    FETCH(n, type, fetch_add, __atomic_fetch_add, old + v) \
    FETCH(n, type, fetch_sub, __atomic_fetch_sub, old - v) \
    FETCH(n, type, fetch_and, __atomic_fetch_and, old & v) \
    FETCH(n, type, fetch_or, __atomic_fetch_or, old | v) \
    FETCH(n, type, fetch_xor, __atomic_fetch_xor, old ^ v) \
    FETCH(n, type, fetch_nand, __atomic_fetch_nand, ~(old & v)) \
    static type exchange_if##n(volatile type *p, type expected, type v, uint32_t location) { \
        struct buffer *b = begin(); \
        type old = expected; \
        if (!b) { \
            __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
            return old; \
        } \
        atomic_flag *lock = lock_stamp((uint64_t)p); \
        int done = __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        uint32_t stamp = next_stamp(); \
        atomic_flag_clear_explicit(lock, memory_order_release); \
        emit(b, RMW, LOG2(n), (uint64_t)p, location, done ? v : old, stamp); \
        return old; \
    } \
    EXPORT type __tsan_atomic##n##_compare_exchange_val(volatile type *p, type expected, type v, int o, int f) { \
        (void)o, (void)f; \
        return exchange_if##n(p, expected, v, PC); \
    } \
    EXPORT int __tsan_atomic##n##_compare_exchange_strong(volatile type *p, type *expected, type v, int o, int f) { \
        (void)o, (void)f; \
        type wanted = *expected; \
        *expected = exchange_if##n(p, wanted, v, PC); \
        return *expected == wanted; \
    } \
    EXPORT int __tsan_atomic##n##_compare_exchange_weak(volatile type *p, type *expected, type v, int o, int f) { \
        (void)o, (void)f; \
        type wanted = *expected; \
        *expected = exchange_if##n(p, wanted, v, PC); \
        return *expected == wanted; \
    }
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

EXPORT void __tsan_atomic_thread_fence(int order) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    struct buffer *b = begin();
    if (b && order == __ATOMIC_SEQ_CST) emit(b, MFENCE, 0, 0, PC, 0, 0);
}
EXPORT void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------ flushes, fences, non-temporal stores */

/* Called by the stubs below, which the assembler wrapper puts before the instructions; general registers only,
 * since the program's vector registers are live. */
#define PLAIN __attribute__((target("general-regs-only"), noinline, used))

PLAIN static void on_persist(uint64_t kind, uint64_t address, const void *pc) {
    struct buffer *b = begin();
    if (!b) return;
    if (kind >= 0x100) {
        /* A non-temporal store of kind - 0x100 bytes: settled like any store, then named as what it is. */
        b->pending = address;
        b->pending_size = (uint32_t)kind - 0x100;
        b->pending_location = place(pc);
        b->pending_kind = STORE_NT;
        return;
    }
    emit(b, (enum kind)kind, 0, address, place(pc), 0, 0);
}

/* rdi holds the address (or nothing for a fence), the stack holds the kind; everything is preserved. */
__asm__(
    ".text\n"
    ".globl __coreplane_persist\n"
    ".hidden __coreplane_persist\n"
    ".type __coreplane_persist, @function\n"
    "__coreplane_persist:\n"
    "  pushfq\n  pushq %rax\n  pushq %rcx\n  pushq %rdx\n  pushq %rsi\n  pushq %rdi\n"
    "  pushq %r8\n  pushq %r9\n  pushq %r10\n  pushq %r11\n  pushq %rbp\n"
    "  cld\n"
    "  movq %rsp, %rbp\n"
    "  movq %rdi, %rsi\n"
    "  movq 96(%rbp), %rdi\n"
    "  movq 88(%rbp), %rdx\n"
    "  andq $-16, %rsp\n"
    "  call coreplane_on_persist\n"
    "  movq %rbp, %rsp\n"
    "  popq %rbp\n  popq %r11\n  popq %r10\n  popq %r9\n  popq %r8\n  popq %rdi\n"
    "  popq %rsi\n  popq %rdx\n  popq %rcx\n  popq %rax\n  popfq\n"
    "  ret $8\n"
    ".size __coreplane_persist, .-__coreplane_persist\n");

PLAIN __attribute__((visibility("hidden"))) void coreplane_on_persist(uint64_t kind, uint64_t address, const void *pc) {
    on_persist(kind, address, pc);
}

/* ------------------------------------------------------------------ threads and locks */

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

/* ------------------------------------------------------------------ mappings */

/* A shared, writable mapping of a file is persistent memory, as with a DAX file; COREPLANE_PM=PREFIX keeps to
 * files whose path begins so. */
static int is_persistent(int fd, int protection, int flags) {
    if (fd < 0 || !(protection & PROT_WRITE) || !((flags & 0xF) == MAP_SHARED || (flags & 0xF) == MAP_SHARED_VALIDATE)) return 0;
    const char *prefix = getenv("COREPLANE_PM");
    if (!prefix || !*prefix) return 1;
    char link[64], path[4096];
    int at = 0;
    __real_memcpy(link, "/proc/self/fd/", 14);
    char digits[12];
    do digits[at++] = (char)('0' + fd % 10); while (fd /= 10);
    for (int i = 0; i < at; i++) link[14 + i] = digits[at - 1 - i];
    link[14 + at] = 0;
    ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 0 && (size_t)n >= strlen(prefix) && !memcmp(path, prefix, strlen(prefix));
}

static void mapped(const void *address, uint64_t bytes, uint32_t location) {
    struct buffer *b = begin();
    if (b) emit(b, MAP, 0, (uint64_t)address, location, bytes, 0);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    begin();
    void *p = __real_mmap(at, bytes, protection, flags, fd, offset);
    if (p != MAP_FAILED && is_persistent(fd, protection, flags)) mapped(p, bytes, PC);
    return p;
}
void *__real_mmap64(void *, size_t, int, int, int, off64_t);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    begin();
    void *p = __real_mmap64(at, bytes, protection, flags, fd, offset);
    if (p != MAP_FAILED && is_persistent(fd, protection, flags)) mapped(p, bytes, PC);
    return p;
}
int __real_munmap(void *, size_t);
int __wrap_munmap(void *address, size_t bytes) {
    struct buffer *b = begin();
    if (b) emit(b, UNMAP, 0, (uint64_t)address, PC, bytes, 0);
    return __real_munmap(address, bytes);
}
void __wrap_free(void *p) {
    /* The allocator may give the memory back: a pending store is read before. */
    begin();
    __real_free(p);
}
void __real__exit(int) __attribute__((noreturn));
void __wrap__exit(int code) {
    finish();
    __real__exit(code);
}

EXPORT void coreplane_persistent(const void *address, size_t bytes) { mapped(address, bytes, PC); }
EXPORT void coreplane_mark(unsigned long number) {
    struct buffer *b = begin();
    if (b) emit(b, MARK, 0, 0, PC, number, 0);
}

/* ------------------------------------------------------------------ libpmem */

/* Calls into a persistent-memory library are what they promise: flushes of every line, and a fence. */
static void flush_lines(const void *address, size_t n, uint32_t location) {
    struct buffer *b = begin();
    uint64_t end = (uint64_t)address + n;
    for (uint64_t line = (uint64_t)address & ~63ull; b && line < end; line += 64) emit(b, CLWB, 0, line, location, 0, 0);
}
static void fence(uint32_t location) {
    struct buffer *b = begin();
    if (b) emit(b, SFENCE, 0, 0, location, 0, 0);
}

#define WEAK __attribute__((weak))
WEAK void __real_pmem_persist(const void *, size_t);
void __wrap_pmem_persist(const void *p, size_t n) {
    flush_lines(p, n, PC);
    fence(PC);
    __real_pmem_persist(p, n);
}
WEAK int __real_pmem_msync(const void *, size_t);
int __wrap_pmem_msync(const void *p, size_t n) {
    flush_lines(p, n, PC);
    fence(PC);
    return __real_pmem_msync(p, n);
}
WEAK void __real_pmem_flush(const void *, size_t);
void __wrap_pmem_flush(const void *p, size_t n) {
    flush_lines(p, n, PC);
    __real_pmem_flush(p, n);
}
WEAK void __real_pmem_drain(void);
void __wrap_pmem_drain(void) {
    fence(PC);
    __real_pmem_drain();
}
WEAK void *__real_pmem_map_file(const char *, size_t, int, mode_t, size_t *, int *);
void *__wrap_pmem_map_file(const char *path, size_t n, int flags, mode_t mode, size_t *mapped_bytes, int *is_pmem) {
    size_t bytes = 0;
    begin();
    void *p = __real_pmem_map_file(path, n, flags, mode, &bytes, is_pmem);
    if (mapped_bytes) *mapped_bytes = bytes;
    if (p) mapped(p, bytes, PC);
    return p;
}
#define PMEM_COPY(name, second) \
    WEAK void *__real_##name(void *, second, size_t); \
    void *__wrap_##name(void *to, second from, size_t n) { \
        void *p = __real_##name(to, from, n); \
        range_written((uint64_t)to, n, PC); \
        flush_lines(to, n, PC); \
        fence(PC); \
        return p; \
    }
PMEM_COPY(pmem_memcpy_persist, const void *)
PMEM_COPY(pmem_memmove_persist, const void *)
PMEM_COPY(pmem_memset_persist, int)
PMEM_COPY(pmem_memcpy_nodrain, const void *)
PMEM_COPY(pmem_memset_nodrain, int)
