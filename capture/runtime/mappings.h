/* Mappings of files and memory. */

LIBRARY(mmap)
LIBRARY(mmap64)
LIBRARY(munmap)
LIBRARY(mremap)
LIBRARY(mprotect)
LIBRARY(shmat)
LIBRARY(shmdt)

/* Memory that the program declares persistent, without a file. */
static struct file declared_memory = {.ignored = 1};
static void declared(const void *address, uint64_t bytes, uint32_t location) {
    struct buffer *b = begin();
    if (!b) return;
    if (region.asked && enter_files(b)) {
        add_mapping(b, &declared_memory, (uint64_t)address, bytes, 0, location);
        leave_files(b);
    }
    emit(b, MAP, 0, (uint64_t)address, location, bytes, next_stamp());
}

/* Room for the copy of a file, at least for `bytes`; filled from the file as it is. */
static void ensure_copy(struct buffer *b, struct file *f, const char *path, uint64_t bytes, uint32_t location) {
    enum { LEAST = 36 };
    if (f->copy_bytes >= bytes) return;
    uint64_t room = 1ull << LEAST;
    while (room < bytes * 2) room *= 2;
    uint8_t *copy = raw_memory(room);
    if (!copy) copy = raw_memory(room = (bytes + 4095) & ~4095ull);
    if (!copy) return;
    /* A shorter one is left where it is: another thread may be writing into it. */
    f->copy = copy;
    f->copy_bytes = room;
    read_contents(b, f, AT_FDCWD, path, location, 0);
}

/* Whether code is of a library that stores to the pools it maps. Its flushes come through pmem.h. */
static int is_pool_library(const void *pc) {
    Dl_info info;
    if (place(pc) || !dladdr(pc, &info) || !info.dli_fname) return 0;
    const char *base = strrchr(info.dli_fname, '/');
    base = base ? base + 1 : info.dli_fname;
    return begins(base, "libpmemobj") || begins(base, "libpmemblk") || begins(base, "libpmemlog") || begins(base, "libpmempool");
}

static struct file *new_anonymous(struct buffer *b, uint64_t bytes);
static struct file *segment(struct buffer *b, int id, uint64_t bytes);

/* Where each process is a host, a child of a fork shares this. */
static void mapped_anonymous(struct buffer *b, const void *address, uint64_t bytes, uint32_t location) {
    if (!enter_files(b)) return;
    struct file *f = new_anonymous(b, bytes);
    if (f) mapped_file(b, f, (uint64_t)address, bytes, 0, location);
    leave_files(b);
}

/* A shared mapping of a file is persistent memory, as with a DAX file. */
static void mapped(const void *address, uint64_t bytes, int flags, int fd, uint64_t offset, const void *pc) {
    if (reading) {
        reads_mapped(address, bytes, flags, fd, offset);
        return;
    }
    uint32_t location = place(pc);
    struct buffer *b = self;
    int type = flags & MAP_TYPE;
    if (!b || (type != MAP_SHARED && type != MAP_SHARED_VALIDATE)) return;
    if (flags & MAP_ANONYMOUS && by_host) mapped_anonymous(b, address, bytes, location);
    if (fd < 0 || flags & MAP_ANONYMOUS) return;
    struct file *f = file_of_fd(b, fd, location);
    char link[40];
    if (!f || !enter_files(b)) return;
    numbered(link, "/proc/self/fd/", (uint64_t)fd);
    f->library |= (uint8_t)is_pool_library(pc);
    if (!by_host) ensure_copy(b, f, link, offset + bytes, location);
    mapped_file(b, f, (uint64_t)address, bytes, offset, location);
    leave_files(b);
}

/* What a range held of files ends here: code without hooks may have stored to it until now. */
static void unmapped(struct buffer *b, uint64_t address, uint64_t bytes, uint32_t location, const char *when, int always) {
    compare(b, address, bytes, location, when);
    forget_mappings(b, address, bytes, location, always);
}

#define MAPS(name, offset_type) \
    INSTEAD void *name(void *at, size_t bytes, int protection, int flags, int fd, offset_type offset) { \
        struct buffer *b = begin(); \
        if (b && flags & MAP_FIXED) unmapped(b, (uint64_t)at, bytes, PC, "mmap", 0); \
        void *p = REAL(name)(at, bytes, protection, flags, fd, offset); \
        if (b && p != MAP_FAILED) mapped(p, bytes, flags, fd, (uint64_t)offset, __builtin_return_address(0)); \
        return p; \
    }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)

INSTEAD int munmap(void *address, size_t bytes) {
    struct buffer *b = begin();
    if (b) unmapped(b, (uint64_t)address, bytes, PC, "munmap", 1);
    return REAL(munmap)(address, bytes);
}

/* Segments of System V: shared memory where each process is a host, and else of no concern. */
INSTEAD void *shmat(int id, const void *address, int flags) {
    struct buffer *b = begin();
    void *p = REAL(shmat)(id, address, flags);
    struct shmid_ds about;
    if (!b || !by_host || p == (void *)-1 || shmctl(id, IPC_STAT, &about) || !enter_files(b)) return p;
    struct file *f = segment(b, id, about.shm_segsz);
    if (f) mapped_file(b, f, (uint64_t)p, (about.shm_segsz + 4095) & ~4095ull, 0, PC);
    leave_files(b);
    return p;
}
INSTEAD int shmdt(const void *address) {
    struct buffer *b = begin();
    struct mapping *m = b && by_host ? find_mapping(b, (uint64_t)address) : NULL;
    if (m) unmapped(b, (uint64_t)address, m->from + m->bytes - (uint64_t)address, PC, "shmdt", 1);
    return REAL(shmdt)(address);
}

INSTEAD void *mremap(void *address, size_t old_bytes, size_t bytes, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    struct buffer *b = begin();
    struct mapping old = {0};
    int known = b && mapping_to_move(b, (uint64_t)address, &old);
    if (b && flags & MREMAP_FIXED) unmapped(b, (uint64_t)to, bytes, PC, "mremap", 0);
    if (known) compare(b, (uint64_t)address, old_bytes, PC, "mremap");
    uint32_t stamp = b ? next_stamp() : 0;
    void *p = REAL(mremap)(address, old_bytes, bytes, flags, to);
    if (reading && p != MAP_FAILED) reads_moved((uint64_t)address, (uint64_t)p, bytes);
    if (known && p != MAP_FAILED) mapping_moved(b, &old, (uint64_t)address, old_bytes, (uint64_t)p, bytes, PC, stamp);
    return p;
}

/* The program may lose the right to read what it has stored. */
INSTEAD int mprotect(void *address, size_t bytes, int protection) {
    begin();
    return REAL(mprotect)(address, bytes, protection);
}

/* The allocator may give memory back, or use it anew: a pending store is read before. */
#define FREES(name, type, parameters, arguments) \
    __attribute__((weak)) type __real_##name parameters; \
    type __wrap_##name parameters { \
        begin(); \
        return __real_##name arguments; \
    }
FREES(free, void, (void *p), (p))
FREES(realloc, void *, (void *p, size_t bytes), (p, bytes))
FREES(_ZdlPv, void, (void *p), (p))
FREES(_ZdaPv, void, (void *p), (p))
FREES(_ZdlPvm, void, (void *p, size_t bytes), (p, bytes))
FREES(_ZdaPvm, void, (void *p, size_t bytes), (p, bytes))
FREES(_ZdlPvSt11align_val_t, void, (void *p, size_t align), (p, align))
FREES(_ZdaPvSt11align_val_t, void, (void *p, size_t align), (p, align))
FREES(_ZdlPvmSt11align_val_t, void, (void *p, size_t bytes, size_t align), (p, bytes, align))
FREES(_ZdaPvmSt11align_val_t, void, (void *p, size_t bytes, size_t align), (p, bytes, align))

static void last_look_at_bytes(struct buffer *b);

/* The last word about files. */
static void last_look_at_files(struct buffer *b) {
    if (shadowed_bytes) compare(b, shadowed_from, shadowed_bytes, 0, "the end");
    last_look_at_bytes(b);
}

EXPORT void coreplane_persistent(const void *address, size_t bytes) { declared(address, bytes, PC); }
EXPORT void coreplane_mark(unsigned long number) {
    struct buffer *b = begin();
    if (b) emit(b, MARK, 0, 0, PC, number, 0);
}
