/* Library functions and system calls that read or write many bytes. */

/* Bytes that were read: one load a line. */
static inline void range_read(uint64_t address, uint64_t n, uint32_t location) {
    struct buffer *b = current();
    if (b && by_host && address - shadowed_from < shadowed_bytes) {
        pieces(b, LOAD, address, n, location);
        return;
    }
    for (uint64_t end = address + n; b && address < end; address = (address | 63) + 1) emit(b, LOAD, 0, address, location, 0, 0);
}

/* Code without hooks is about to write these bytes: they are pending until it has. */
static inline struct buffer *before_write(uint64_t address, uint64_t n, uint32_t location) {
    struct buffer *b = begin();
    if (b && n) pend(b, STORE, address, n < UINT32_MAX ? (uint32_t)n : UINT32_MAX, location);
    return b;
}
/* It has written so many of them. */
static inline void after_write(struct buffer *b, uint64_t address, uint64_t n, uint32_t location) {
    if (!b || (b = self) == NULL) return;
    b->pending_size = 0;
    pieces(b, STORE, address, n, location);
}

EXPORT void __tsan_read_range(void *p, unsigned long n) { range_read((uint64_t)p, n, PC); }
EXPORT void __tsan_write_range(void *p, unsigned long n) {
    struct buffer *b = begin();
    if (b && n < UINT32_MAX) pend(b, STORE, (uint64_t)p, (uint32_t)n, PC);
}

#define WRITES(address, n, call) \
    do { \
        struct buffer *b_ = before_write((uint64_t)(address), n, PC); \
        call; \
        after_write(b_, (uint64_t)(address), n, PC); \
    } while (0)

void *__wrap_memcpy(void *to, const void *from, size_t n) {
    range_read((uint64_t)from, n, PC);
    WRITES(to, n, __real_memcpy(to, from, n));
    return to;
}
void *__wrap_memmove(void *to, const void *from, size_t n) {
    range_read((uint64_t)from, n, PC);
    WRITES(to, n, __real_memmove(to, from, n));
    return to;
}
void *__wrap_memset(void *to, int byte, size_t n) {
    WRITES(to, n, __real_memset(to, byte, n));
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
    WRITES(to, n, __real_strncpy(to, from, n));
    return to;
}

/* Formatted text: what was written and its end. */
int __real_vsnprintf(char *, size_t, const char *, va_list);
static int formatted(char *to, size_t room, const char *format, va_list values, uint32_t location) {
    struct buffer *b = before_write((uint64_t)to, 0, location);
    int n = __real_vsnprintf(to, room, format, values);
    if (n >= 0 && room > 0) after_write(b, (uint64_t)to, (size_t)n < room ? (size_t)n + 1 : room, location);
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
#define KERNEL_WRITES(type, name, from_at, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        struct buffer *b = before_write((uint64_t)to, size, PC); \
        type n = REAL(name) arguments; \
        after_write(b, (uint64_t)to, n > 0 ? (uint64_t)n : 0, PC); \
        read_through(fd, from_at, n); \
        if (n > 0) takes(meeting_through(fd), PC); \
        return n; \
    }
KERNEL_WRITES(ssize_t, read, -1, (int fd, void *to, size_t size), (fd, to, size))
KERNEL_WRITES(ssize_t, pread, at, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
KERNEL_WRITES(ssize_t, pread64, at, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
KERNEL_WRITES(ssize_t, recv, -1, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
KERNEL_WRITES(ssize_t, recvfrom, -1, (int fd, void *to, size_t size, int flags, __SOCKADDR_ARG from, socklen_t *length),
              (fd, to, size, flags, from, length))

/* The same into pieces. */
static void after_vector(const struct iovec *v, int count, ssize_t n, uint32_t location) {
    struct buffer *b = begin();
    for (int i = 0; b && i < count && n > 0; i++) {
        size_t part = v[i].iov_len < (size_t)n ? v[i].iov_len : (size_t)n;
        pieces(b, STORE, (uint64_t)v[i].iov_base, part, location);
        n -= (ssize_t)part;
    }
}
#define KERNEL_SCATTERS(name, from_at, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD ssize_t name parameters { \
        begin(); \
        ssize_t n = REAL(name) arguments; \
        after_vector(v, count, n, PC); \
        read_through(fd, from_at, n); \
        if (n > 0) takes(meeting_through(fd), PC); \
        return n; \
    }
KERNEL_SCATTERS(readv, -1, (int fd, const struct iovec *v, int count), (fd, v, count))
KERNEL_SCATTERS(preadv, at, (int fd, const struct iovec *v, int count, off_t at), (fd, v, count, at))
LIBRARY(recvmsg)
INSTEAD ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    begin();
    ssize_t n = REAL(recvmsg)(fd, message, flags);
    if (n > 0) after_vector(message->msg_iov, (int)message->msg_iovlen, n, PC);
    if (n > 0) takes(meeting_through(fd), PC);
    return n;
}
