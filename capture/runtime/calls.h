/* Calls that change files, and calls that make them durable. */

#define WRITES_FILE(name, parameters, arguments, vector, offset, flags) \
    LIBRARY(name) \
    INSTEAD ssize_t name parameters { \
        struct change c; \
        if (!before_change(&c, fd, PC)) { \
            gives(meeting_through(fd), PC); \
            return REAL(name) arguments; \
        } \
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
WRITES_FILE(pwritev64v2, (int fd, const struct iovec *v, int count, off64_t at, int flags), (fd, v, count, at, flags), v, at, flags)

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
    int64_t wanted = at ? *at : -1;
    ssize_t n = REAL(splice)(from, from_at, fd, at, size, flags);
    if (known) spliced(&c, wanted, n, PC);
    return n;
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
        struct file *f = b ? file_through_links(b, path, PC) : NULL; \
        int failed = REAL(name)(path, bytes); \
        if (f && !failed) resized(b, f, (uint64_t)bytes, PC); \
        return failed; \
    }
TRUNCATES(truncate, off_t)
TRUNCATES(truncate64, off64_t)

#define ALLOCATES(name, offset_type) \
    LIBRARY(name) \
    INSTEAD int name(int fd, int mode, offset_type at, offset_type bytes) { \
        struct allocation a; \
        before_allocate(&a, fd, mode, (uint64_t)at, (uint64_t)bytes, PC); \
        int failed = REAL(name)(fd, mode, at, bytes); \
        after_allocate(&a, failed, PC); \
        return failed; \
    }
ALLOCATES(fallocate, off_t)
ALLOCATES(fallocate64, off64_t)
#define POSIX_ALLOCATES(name, offset_type) \
    LIBRARY(name) \
    INSTEAD int name(int fd, offset_type at, offset_type bytes) { \
        struct allocation a; \
        before_allocate(&a, fd, 0, (uint64_t)at, (uint64_t)bytes, PC); \
        int failed = REAL(name)(fd, at, bytes); \
        after_allocate(&a, failed, PC); \
        return failed; \
    }
POSIX_ALLOCATES(posix_fallocate, off_t)
POSIX_ALLOCATES(posix_fallocate64, off64_t)

LIBRARY(ioctl)
INSTEAD int ioctl(int fd, unsigned long request, ...) {
    struct by_ioctl x;
    va_list values;
    va_start(values, request);
    uint64_t argument = va_arg(values, uint64_t);
    va_end(values);
    before_ioctl(&x, fd, request, argument, PC);
    int failed = REAL(ioctl)(fd, request, argument);
    after_ioctl(&x, failed < 0, PC);
    return failed;
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
        struct file *f = b ? described_file(b, fd, &folder, PC) : NULL; \
        if (f) compare_file(b, f, PC, #name), look_at_descriptor(b, fd, PC); \
        uint32_t stamp = b ? next_stamp() : 0; \
        int failed = REAL(name)(fd); \
        if (!failed && b) synced(b, call, fd, f, folder, PC, stamp); \
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
    struct file_system system = {0};
    if (b) before_syncfs(b, &system, fd);
    int failed = REAL(syncfs)(fd);
    if (b && !failed) after_syncfs(b, &system, PC);
    return failed;
}
LIBRARY(sync_file_range)
INSTEAD int sync_file_range(int fd, off64_t at, off64_t bytes, unsigned flags) {
    struct buffer *b = begin();
    int folder, failed = REAL(sync_file_range)(fd, at, bytes, flags);
    struct file *f = b ? described_file(b, fd, &folder, PC) : NULL;
    if (f && !failed) record_call(b, CALL_SYNC_FILE_RANGE, file_address(f, (uint64_t)at), bytes ? (uint64_t)bytes : WHOLE, PC, next_stamp());
    return failed;
}

LIBRARY(msync)
INSTEAD int msync(void *address, size_t bytes, int flags) {
    struct buffer *b = begin();
    if (b && b->library) msync_in_library();
    if (b) compare(b, (uint64_t)address, bytes, PC, "msync");
    uint32_t stamp = b ? next_stamp() : 0;
    int failed = REAL(msync)(address, bytes, flags);
    if (b && has_synced(failed ? errno : 0)) synced_range(b, (uint64_t)address, bytes, flags & MS_SYNC ? CALL_MSYNC : CALL_MSYNC_ASYNC, PC, stamp);
    return failed;
}

LIBRARY(madvise)
INSTEAD int madvise(void *address, size_t bytes, int advice) {
    struct removal r;
    struct buffer *b = advice == MADV_REMOVE ? begin() : NULL;
    if (b) compare(b, (uint64_t)address, bytes, PC, "madvise");
    if (b) before_removal(&r, (uint64_t)address, bytes);
    int failed = REAL(madvise)(address, bytes, advice);
    if (b) after_removal(b, &r, failed, PC);
    return failed;
}
