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

/* The linker sends calls of the program here. Of a host's program, what it looks through in shared memory are loads. */
#define looked_through(p, n) looked_through_at((uint64_t)(p), n, PC)
static inline void looked_through_at(uint64_t address, size_t n, uint32_t location) {
    if (!by_host) compared((const void *)address, n);
    else if (address - shadowed_from < shadowed_bytes) range_read(address, n, location);
}
int __wrap_memcmp(const void *a, const void *b, size_t n) {
    looked_through(a, n);
    looked_through(b, n);
    return __real_memcmp(a, b, n);
}
int __wrap_bcmp(const void *a, const void *b, size_t n) {
    looked_through(a, n);
    looked_through(b, n);
    return __real_bcmp(a, b, n);
}

void *__wrap_memchr(const void *p, int byte, size_t n) {
    looked_through(p, n);
    return __real_memchr(p, byte, n);
}

size_t __wrap_strlen(const char *text) {
    size_t n = __real_strlen(text);
    looked_through(text, n + 1);
    return n;
}
size_t __wrap_strnlen(const char *text, size_t most) {
    size_t n = __real_strnlen(text, most);
    looked_through(text, n < most ? n + 1 : n);
    return n;
}

int __wrap_strcmp(const char *a, const char *b) {
    looked_through(a, __real_strlen(a) + 1);
    looked_through(b, __real_strlen(b) + 1);
    return __real_strcmp(a, b);
}
int __wrap_strncmp(const char *a, const char *b, size_t n) {
    size_t of_a = __real_strnlen(a, n), of_b = __real_strnlen(b, n);
    looked_through(a, of_a < n ? of_a + 1 : n);
    looked_through(b, of_b < n ? of_b + 1 : n);
    return __real_strncmp(a, b, n);
}
