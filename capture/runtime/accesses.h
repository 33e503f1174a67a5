/* Plain loads and stores: the compiler calls a hook before each. */

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
    pend(b, STORE, address, size, location);
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
