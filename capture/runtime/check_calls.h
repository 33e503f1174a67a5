/* Calls that read files and change nothing: a check that reports what it reads makes them too (reads.h). */

#define READS(type, name, from_at, parameters, arguments) \
    type name parameters; \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        type n = REAL(name) arguments; \
        read_through(fd, from_at, n); \
        return n; \
    }
READS(ssize_t, __read_chk, -1, (int fd, void *to, size_t size, size_t room), (fd, to, size, room))
READS(ssize_t, __pread_chk, at, (int fd, void *to, size_t size, off_t at, size_t room), (fd, to, size, at, room))
READS(ssize_t, __pread64_chk, at, (int fd, void *to, size_t size, off64_t at, size_t room), (fd, to, size, at, room))
READS(ssize_t, preadv2, at, (int fd, const struct iovec *v, int count, off_t at, int flags), (fd, v, count, at, flags))
READS(ssize_t, preadv64, at, (int fd, const struct iovec *v, int count, off64_t at), (fd, v, count, at))

/* The C library reads as it likes. */
LIBRARY(fdopen)
INSTEAD FILE *fdopen(int fd, const char *mode) {
    read_whole(fd);
    return REAL(fdopen)(fd, mode);
}
#define REOPENS(name) \
    LIBRARY(name) \
    INSTEAD FILE *name(const char *path, const char *mode, FILE *old) { \
        FILE *f = REAL(name)(path, mode, old); \
        if (f) read_whole(f->_fileno); \
        return f; \
    }
REOPENS(freopen)
REOPENS(freopen64)
