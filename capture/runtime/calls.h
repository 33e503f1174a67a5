/* Calls that change files, and calls that make them durable. */

static void record_call(struct buffer *b, enum call call, uint64_t address, uint64_t bytes, uint32_t location, uint32_t stamp) {
    emit(b, CALL, 0, address, location, bytes << 8 | call, stamp);
}

/* A descriptor that is about to be written to. */
struct change {
    struct buffer *b;
    struct file *file;
    int fd, flags;
};

static int before_change(struct change *c, int fd, uint32_t location) {
    c->b = begin();
    if (!c->b) return 0;
    c->file = file_of_fd(c->b, fd, location);
    c->fd = fd;
    c->flags = c->file ? raw_fcntl(fd, F_GETFL, 0) : 0;
    return c->file != NULL;
}

/* The copy of a mapped file is told too. */
static void written(struct buffer *b, struct file *f, uint64_t offset, const void *from, uint64_t n, uint32_t location) {
    pieces_from(b, WRITTEN, file_address(f, offset), (uint64_t)from, n, location);
    if (f->copy && offset + n <= f->copy_bytes) __real_memcpy(f->copy + offset, from, n);
}

/* Where the kernel's last write of n bytes began: behind it stands the file's offset. */
static uint64_t written_at(const struct change *c, int64_t wanted, uint64_t n) {
    struct stat s;
    if (wanted >= 0 && !(c->flags & O_APPEND)) return (uint64_t)wanted;
    if (wanted >= 0) return raw_fstat(c->fd, &s) || (uint64_t)s.st_size < n ? 0 : (uint64_t)s.st_size - n;
    long at = raw_seek(c->fd, 0, SEEK_CUR);
    return at < (long)n ? 0 : (uint64_t)at - n;
}

static void synced_write(const struct change *c, uint64_t offset, uint64_t n, uint32_t location, int flags) {
    if (c->flags & O_DSYNC || flags & (RWF_SYNC | RWF_DSYNC))
        record_call(c->b, CALL_FSYNC, file_address(c->file, offset), n, location, next_stamp());
}

/* The kernel wrote n bytes: from pieces of memory, to `wanted` or to the file's offset. */
static void after_change(const struct change *c, const struct iovec *v, ssize_t n, int64_t wanted, uint32_t location, int flags) {
    if (n <= 0) return;
    uint64_t left = (uint64_t)n, start = written_at(c, wanted, left), at = start;
    if (flags & RWF_APPEND) at = start = written_at(&(struct change){c->b, c->file, c->fd, O_APPEND}, 0, left);
    record_call(c->b, CALL_WRITE, file_address(c->file, at), left, location, next_stamp());
    for (; left; v++) {
        uint64_t part = v->iov_len < left ? v->iov_len : left;
        written(c->b, c->file, at, v->iov_base, part, location);
        at += part;
        left -= part;
    }
    synced_write(c, start, (uint64_t)n, location, flags);
}

#define WRITES_FILE(name, parameters, arguments, vector, offset, flags) \
    LIBRARY(name) \
    INSTEAD ssize_t name parameters { \
        struct change c; \
        if (!before_change(&c, fd, PC)) return REAL(name) arguments; \
        ssize_t n = REAL(name) arguments; \
        after_change(&c, vector, n, offset, PC, flags); \
        return n; \
    }
#define ONE (&(struct iovec){(void *)from, size})
WRITES_FILE(write, (int fd, const void *from, size_t size), (fd, from, size), ONE, -1, 0)
WRITES_FILE(pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at), ONE, at, 0)
WRITES_FILE(pwrite64, (int fd, const void *from, size_t size, off64_t at), (fd, from, size, at), ONE, at, 0)
WRITES_FILE(writev, (int fd, const struct iovec *v, int count), (fd, v, count), v, -1, 0)
WRITES_FILE(pwritev, (int fd, const struct iovec *v, int count, off_t at), (fd, v, count, at), v, at, 0)
WRITES_FILE(pwritev64, (int fd, const struct iovec *v, int count, off64_t at), (fd, v, count, at), v, at, 0)
WRITES_FILE(pwritev2, (int fd, const struct iovec *v, int count, off_t at, int flags), (fd, v, count, at, flags), v, at, flags)

/* What the kernel copied from another file: read there. */
static void after_copy(const struct change *c, int from, uint64_t from_at, uint64_t to_at, ssize_t n, uint32_t location) {
    uint8_t chunk[1 << 14];
    if (n <= 0) return;
    record_call(c->b, CALL_WRITE, file_address(c->file, to_at), (uint64_t)n, location, next_stamp());
    for (uint64_t done_bytes = 0; done_bytes < (uint64_t)n;) {
        uint64_t left = (uint64_t)n - done_bytes;
        long got = raw_pread(from, chunk, left < sizeof chunk ? left : sizeof chunk, from_at + done_bytes);
        if (got <= 0) {
            unseen(c->b, "what the kernel copied into a file could not be read", file_address(c->file, to_at + done_bytes), left, location);
            break;
        }
        written(c->b, c->file, to_at + done_bytes, chunk, (uint64_t)got, location);
        done_bytes += (uint64_t)got;
    }
    synced_write(c, to_at, (uint64_t)n, location, 0);
}
#define COPIES(name, offset_type) \
    LIBRARY(name) \
    INSTEAD ssize_t name(int fd, int from, offset_type *at, size_t size) { \
        struct change c; \
        read_whole(from); \
        if (!before_change(&c, fd, PC)) return REAL(name)(fd, from, at, size); \
        int64_t from_at = at ? *at : raw_seek(from, 0, SEEK_CUR); \
        ssize_t n = REAL(name)(fd, from, at, size); \
        if (n > 0) after_copy(&c, from, (uint64_t)from_at, written_at(&c, -1, (uint64_t)n), n, PC); \
        return n; \
    }
COPIES(sendfile, off_t)
COPIES(sendfile64, off64_t)
LIBRARY(copy_file_range)
INSTEAD ssize_t copy_file_range(int from, off64_t *from_at, int fd, off64_t *at, size_t size, unsigned flags) {
    struct change c;
    read_whole(from);
    if (!before_change(&c, fd, PC)) return REAL(copy_file_range)(from, from_at, fd, at, size, flags);
    int64_t source = from_at ? *from_at : raw_seek(from, 0, SEEK_CUR), to = at ? *at : raw_seek(fd, 0, SEEK_CUR);
    ssize_t n = REAL(copy_file_range)(from, from_at, fd, at, size, flags);
    after_copy(&c, from, (uint64_t)source, (uint64_t)to, n, PC);
    return n;
}
LIBRARY(splice)
INSTEAD ssize_t splice(int from, off64_t *from_at, int fd, off64_t *at, size_t size, unsigned flags) {
    struct change c;
    read_whole(from);
    int known = before_change(&c, fd, PC);
    ssize_t n = REAL(splice)(from, from_at, fd, at, size, flags);
    if (known && n > 0) unseen(c.b, "splice wrote to a file", file_address(c.file, 0), (uint64_t)n, PC);
    return n;
}

/* The bytes behind a new end are gone. */
static void cut_copy(struct file *f, uint64_t bytes) {
    uint64_t page = (bytes + 4095) & ~4095ull;
    if (!f->copy || bytes >= f->copy_bytes) return;
    __real_memset(f->copy + bytes, 0, (page < f->copy_bytes ? page : f->copy_bytes) - bytes);
    if (page < f->copy_bytes) raw(SYS_madvise, (long)(f->copy + page), (long)(f->copy_bytes - page), MADV_DONTNEED, 0, 0, 0);
}
static void resized(struct buffer *b, struct file *f, uint64_t bytes, uint32_t location) {
    cut_copy(f, bytes);
    record_call(b, CALL_RESIZE, file_address(f, 0), bytes, location, next_stamp());
}

#define RESIZES(name, offset_type) \
    LIBRARY(name) \
    INSTEAD int name(int fd, offset_type bytes) { \
        struct change c; \
        int known = before_change(&c, fd, PC), failed = REAL(name)(fd, bytes); \
        if (known && !failed) resized(c.b, c.file, (uint64_t)bytes, PC); \
        return failed; \
    }
RESIZES(ftruncate, off_t)
RESIZES(ftruncate64, off64_t)
#define TRUNCATES(name, offset_type) \
    LIBRARY(name) \
    INSTEAD int name(const char *path, offset_type bytes) { \
        struct buffer *b = begin(); \
        char whole[4096]; \
        struct stat s; \
        /* Through a link: its file, not itself. */ \
        int fd = b ? raw_open(path, O_PATH | O_CLOEXEC, 0) : -1; \
        struct file *f = NULL; \
        if (fd >= 0) path_of(fd, whole, sizeof whole), raw_close(fd), f = file_of_name(b, AT_FDCWD, whole, whole, &s, PC); \
        int failed = REAL(name)(path, bytes); \
        if (f && !failed) resized(b, f, (uint64_t)bytes, PC); \
        return failed; \
    }
TRUNCATES(truncate, off_t)
TRUNCATES(truncate64, off64_t)

/* Zeros over a range, as far as it has other words. */
static void zeroed(const struct change *c, uint64_t at, uint64_t bytes, const uint8_t *before, uint32_t location) {
    static const uint64_t zero;
    for (uint64_t i = 0; before && i < bytes; i++) {
        uint64_t n = (at + i) % 8 == 0 && bytes - i >= 8 ? 8 : 1, any = 0;
        for (uint64_t k = 0; k < n; k++) any |= before[i + k];
        if (any) written(c->b, c->file, at + i, &zero, n, location);
        i += n - 1;
    }
}

static void after_allocate(const struct change *c, int mode, uint64_t at, uint64_t bytes, const uint8_t *before, uint32_t location) {
    if (mode == 0) record_call(c->b, CALL_ALLOCATE, file_address(c->file, at), bytes, location, next_stamp());
    else if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
        struct stat s;
        record_call(c->b, CALL_WRITE, file_address(c->file, at), bytes, location, next_stamp());
        zeroed(c, at, bytes, before, location);
        if (!(mode & FALLOC_FL_KEEP_SIZE) && !raw_fstat(c->fd, &s)) resized(c->b, c->file, (uint64_t)s.st_size, location);
    } else if (mode != FALLOC_FL_KEEP_SIZE)
        unseen(c->b, "fallocate moved the bytes of a file", file_address(c->file, at), bytes, location);
}
#define ALLOCATES(name, offset_type) \
    LIBRARY(name) \
    INSTEAD int name(int fd, int mode, offset_type at, offset_type bytes) { \
        struct change c; \
        uint8_t *before = NULL; \
        struct stat s; \
        int known = before_change(&c, fd, PC); \
        uint64_t end = known && !raw_fstat(fd, &s) && s.st_size < at + bytes ? (uint64_t)s.st_size : (uint64_t)(at + bytes); \
        uint64_t n = (uint64_t)at < end ? end - (uint64_t)at : 0; \
        if (known && mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE) && n && (before = raw_memory(n))) \
            raw_pread(fd, before, n, (uint64_t)at); \
        int failed = REAL(name)(fd, mode, at, bytes); \
        if (known && !failed) after_allocate(&c, mode, (uint64_t)at, before ? n : (uint64_t)bytes, before, PC); \
        if (before) raw_release(before, n); \
        return failed; \
    }
ALLOCATES(fallocate, off_t)
ALLOCATES(fallocate64, off64_t)
#define POSIX_ALLOCATES(name, offset_type) \
    LIBRARY(name) \
    INSTEAD int name(int fd, offset_type at, offset_type bytes) { \
        struct change c; \
        int known = before_change(&c, fd, PC), failed = REAL(name)(fd, at, bytes); \
        if (known && !failed) after_allocate(&c, 0, (uint64_t)at, (uint64_t)bytes, NULL, PC); \
        return failed; \
    }
POSIX_ALLOCATES(posix_fallocate, off_t)
POSIX_ALLOCATES(posix_fallocate64, off64_t)

/* All that was done before the call began is durable when it returns: its place in the order is its beginning. */
#define WHOLE (UINT64_MAX >> 8)

static struct file *described_file(int fd, int *folder) {
    struct stat s;
    *folder = 0;
    if (raw_fstat(fd, &s)) return NULL;
    *folder = S_ISDIR(s.st_mode);
    struct file *f = known_file(&s);
    return f && f->described && !f->ignored ? f : NULL;
}

static void compare_file(struct buffer *b, const struct file *f, uint32_t location, const char *when) {
    for (uint32_t i = 0; i < mapping_count; i++)
        if (mappings[i].bytes && mappings[i].file == f) compare(b, mappings[i].from, mappings[i].bytes, location, when);
}

#define SYNCS_FILE(name, call) \
    LIBRARY(name) \
    INSTEAD int name(int fd) { \
        struct buffer *b = begin(); \
        int folder = 0; \
        struct file *f = b ? described_file(fd, &folder) : NULL; \
        if (f) compare_file(b, f, PC, #name); \
        uint32_t stamp = b ? next_stamp() : 0; \
        int failed = REAL(name)(fd); \
        if (!failed && f) record_call(b, call, file_address(f, 0), WHOLE, PC, stamp); \
        if (!failed && b && folder) record_call(b, CALL_SYNC_FOLDER, 0, 0, PC, stamp); \
        return failed; \
    }
SYNCS_FILE(fsync, CALL_FSYNC)
SYNCS_FILE(fdatasync, CALL_FDATASYNC)

LIBRARY(sync)
INSTEAD void sync(void) {
    struct buffer *b = begin();
    if (b && shadowed_bytes) compare(b, shadowed_from, shadowed_bytes, PC, "sync");
    uint32_t stamp = b ? next_stamp() : 0;
    REAL(sync)();
    if (b) record_call(b, CALL_SYNC, 0, 0, PC, stamp);
}
LIBRARY(syncfs)
INSTEAD int syncfs(int fd) {
    struct buffer *b = begin();
    if (b && shadowed_bytes) compare(b, shadowed_from, shadowed_bytes, PC, "syncfs");
    uint32_t stamp = b ? next_stamp() : 0;
    int failed = REAL(syncfs)(fd);
    if (b && !failed) record_call(b, CALL_SYNC, 0, 0, PC, stamp);
    return failed;
}
LIBRARY(sync_file_range)
INSTEAD int sync_file_range(int fd, off64_t at, off64_t bytes, unsigned flags) {
    struct buffer *b = begin();
    int folder, failed = REAL(sync_file_range)(fd, at, bytes, flags);
    struct file *f = b ? described_file(fd, &folder) : NULL;
    if (f && !failed) record_call(b, CALL_SYNC_FILE_RANGE, file_address(f, (uint64_t)at), bytes ? (uint64_t)bytes : WHOLE, PC, next_stamp());
    return failed;
}

/* One call for each piece of a file in the range. */
static void synced_range(struct buffer *b, uint64_t address, uint64_t bytes, enum call call, uint32_t location, uint32_t stamp) {
    for (uint32_t i = 0; i < mapping_count; i++) {
        const struct mapping *m = &mappings[i];
        uint64_t end = address + ((bytes + 4095) & ~4095ull), from = m->from < address ? address : m->from;
        if (m->from + m->bytes < end) end = m->from + m->bytes;
        if (from >= end) continue;
        record_call(b, call, file_address(m->file, m->offset + (from - m->from)), end - from, location, stamp ? stamp : next_stamp());
        stamp = 0;
    }
}
LIBRARY(msync)
INSTEAD int msync(void *address, size_t bytes, int flags) {
    struct buffer *b = begin();
    if (b) compare(b, (uint64_t)address, bytes, PC, "msync");
    uint32_t stamp = b ? next_stamp() : 0;
    int failed = REAL(msync)(address, bytes, flags);
    if (b && !failed) synced_range(b, (uint64_t)address, bytes, flags & MS_SYNC ? CALL_MSYNC : CALL_MSYNC_ASYNC, PC, stamp);
    return failed;
}
