/* Calls into libpmem2. It hands its functions out, one for each kind of mapping: the program gets these instead, which
 * call the library's and tell what it promises. Of a second kind of mapping in one program it gets the library's own,
 * whose stores are found by comparison and said to be unseen. */

struct pmem2_map;
#define PMEM2_REAL(name) (found_##name ? found_##name : (found_##name = (__typeof__(found_##name))in_library("libpmem2.so.1", #name)))

#define PMEM2_GIVES(kind) \
    typedef __typeof__(told2_##kind) *pmem2_##kind##_function; \
    pmem2_##kind##_function pmem2_get_##kind##_fn(struct pmem2_map *); \
    static pmem2_##kind##_function (*found_pmem2_get_##kind##_fn)(struct pmem2_map *); \
    INSTEAD pmem2_##kind##_function pmem2_get_##kind##_fn(struct pmem2_map *map) { \
        pmem2_##kind##_function (*call)(struct pmem2_map *) = PMEM2_REAL(pmem2_get_##kind##_fn); \
        pmem2_##kind##_function given = call(map); \
        if (!library2_##kind) library2_##kind = given; \
        return given == library2_##kind ? told2_##kind : given; \
    }

#define PMEM2_RANGE(kind, flush, fence) \
    static void (*library2_##kind)(const void *, size_t); \
    static void told2_##kind(const void *address, size_t n) { \
        struct buffer *b = enter_library(address, n, PC); \
        uint64_t before = records_of(b); \
        library2_##kind(address, n); \
        promised(b, before, address, n, flush, fence, PC); \
    } \
    PMEM2_GIVES(kind)
PMEM2_RANGE(persist, 1, 1)
PMEM2_RANGE(flush, 1, 0)

static void (*library2_drain)(void);
static void told2_drain(void) {
    struct buffer *b = enter_library(NULL, 0, PC);
    uint64_t before = records_of(b);
    library2_drain();
    promised(b, before, NULL, 0, 0, 1, PC);
}
PMEM2_GIVES(drain)

#define PMEM2_COPY(kind, second) \
    static void *(*library2_##kind)(void *, second, size_t, unsigned); \
    static void *told2_##kind(void *to, second from, size_t n, unsigned flags) { \
        struct buffer *b = self && self->library ? NULL : before_write((uint64_t)to, n, PC); \
        uint64_t before = records_of(b); \
        if (b) b->library++; \
        void *result = library2_##kind(to, from, n, flags); \
        int silent = b && records_of(b) == before; \
        if (silent) after_write(b, (uint64_t)to, n, PC); \
        else if (b) b->pending_size = 0; \
        int flush = !(flags & FLAG_NOFLUSH), fence = flush && !(flags & FLAG_NODRAIN); \
        promised(b, silent ? records_of(b) : UINT64_MAX, to, n, flush, fence, PC); \
        return result; \
    } \
    PMEM2_GIVES(kind)
PMEM2_COPY(memcpy, const void *)
PMEM2_COPY(memmove, const void *)
PMEM2_COPY(memset, int)
