/* Calls into libpmem. */

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
