/* Calls into libpmem: of the program, and of libpmemobj as distributions ship it. A call that nothing was recorded of is
 * what it promises: flushes of every line, and a fence. Of a libpmem that has hooks, the hooks tell. */

enum { FLAG_NODRAIN = 1, FLAG_NOFLUSH = 32 };

/* The library's own function; a program that calls nothing but functions of this file was perhaps linked without it. */
static void *in_library(const char *library, const char *name) {
    void *found = by_name(RTLD_NEXT, name);
    void *loaded = found ? NULL : dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (loaded) found = by_name(loaded, name);
    if (found) return found;
    static const char text[] = ": this function of a persistent-memory library is not there\n";
    raw_write(2, name, strlen(name));
    raw_write(2, text, sizeof text - 1);
    abort();
}
#define PMEM_REAL(name) (found_##name ? found_##name : (found_##name = (__typeof__(found_##name))in_library("libpmem.so.1", #name)))

static uint64_t records_of(const struct buffer *b) { return b ? b->handed + b->count : 0; }

/* What the library or other code without hooks stored in the range is told first. */
static struct buffer *enter_library(const void *address, size_t n, uint32_t location) {
    /* Called by one of its own functions: that one's promise is enough. */
    if (self && self->library) return NULL;
    struct buffer *b = begin();
    if (b && n) compare(b, (uint64_t)address, n, location, NULL);
    if (b) b->library++;
    return b;
}
static void promised(struct buffer *b, uint64_t before, const void *address, size_t n, int flush, int fence, uint32_t location) {
    if (!b) return;
    b->library--;
    if (records_of(b) != before) return;
    uint64_t end = (uint64_t)address + n;
    for (uint64_t line = (uint64_t)address & ~63ull; flush && line < end; line += 64) emit(b, CLWB, 0, line, location, 0, 0);
    if (fence) emit(b, SFENCE, 0, 0, location, 0, 0);
}

#define PMEM_RANGE(type, name, flush, fence) \
    type name(const void *, size_t); \
    static type (*found_##name)(const void *, size_t); \
    INSTEAD type name(const void *address, size_t n) { \
        struct buffer *b = enter_library(address, n, PC); \
        uint64_t before = records_of(b); \
        type (*call)(const void *, size_t) = PMEM_REAL(name); \
        PMEM_RESULT_##type call(address, n); \
        promised(b, before, address, n, flush, fence, PC); \
        PMEM_RETURN_##type \
    }
#define PMEM_RESULT_int int result =
#define PMEM_RETURN_int return result;
#define PMEM_RESULT_void
#define PMEM_RETURN_void
PMEM_RANGE(void, pmem_persist, 1, 1)
PMEM_RANGE(int, pmem_msync, 1, 1)
PMEM_RANGE(void, pmem_flush, 1, 0)
PMEM_RANGE(void, pmem_deep_flush, 1, 0)
PMEM_RANGE(int, pmem_deep_drain, 0, 1)
PMEM_RANGE(int, pmem_deep_persist, 1, 1)

void pmem_drain(void);
static void (*found_pmem_drain)(void);
INSTEAD void pmem_drain(void) {
    struct buffer *b = enter_library(NULL, 0, PC);
    uint64_t before = records_of(b);
    void (*call)(void) = PMEM_REAL(pmem_drain);
    call();
    promised(b, before, NULL, 0, 0, 1, PC);
}

/* Copies: the bytes, then what the name or the flags promise. */
#define PMEM_COPY(name, second, more, arguments, flush, fence) \
    void *name(void *, second, size_t more); \
    static void *(*found_##name)(void *, second, size_t more); \
    INSTEAD void *name(void *to, second from, size_t n more) { \
        void *(*call)(void *, second, size_t more) = PMEM_REAL(name); \
        struct buffer *b = self && self->library ? NULL : before_write((uint64_t)to, n, PC); \
        uint64_t before = records_of(b); \
        if (b) b->library++; \
        void *result = call arguments; \
        int silent = b && records_of(b) == before; \
        if (silent) after_write(b, (uint64_t)to, n, PC); \
        else if (b) b->pending_size = 0; \
        promised(b, silent ? records_of(b) : UINT64_MAX, to, n, flush, fence, PC); \
        return result; \
    }
#define COMMA_FLAGS , unsigned flags
PMEM_COPY(pmem_memcpy, const void *, COMMA_FLAGS, (to, from, n, flags), !(flags & FLAG_NOFLUSH), !(flags & (FLAG_NOFLUSH | FLAG_NODRAIN)))
PMEM_COPY(pmem_memmove, const void *, COMMA_FLAGS, (to, from, n, flags), !(flags & FLAG_NOFLUSH), !(flags & (FLAG_NOFLUSH | FLAG_NODRAIN)))
PMEM_COPY(pmem_memset, int, COMMA_FLAGS, (to, from, n, flags), !(flags & FLAG_NOFLUSH), !(flags & (FLAG_NOFLUSH | FLAG_NODRAIN)))
PMEM_COPY(pmem_memcpy_persist, const void *, , (to, from, n), 1, 1)
PMEM_COPY(pmem_memmove_persist, const void *, , (to, from, n), 1, 1)
PMEM_COPY(pmem_memset_persist, int, , (to, from, n), 1, 1)
PMEM_COPY(pmem_memcpy_nodrain, const void *, , (to, from, n), 1, 0)
PMEM_COPY(pmem_memmove_nodrain, const void *, , (to, from, n), 1, 0)
PMEM_COPY(pmem_memset_nodrain, int, , (to, from, n), 1, 0)
