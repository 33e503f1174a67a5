/* Library functions and system calls that read or write many bytes. */

/* Bytes that were read: one load a line. */
static void range_read(uint64_t address, uint64_t n, uint32_t location) {
    struct buffer *b = current();
    for (uint64_t end = address + n; b && address < end; address = (address | 63) + 1) emit(b, LOAD, 0, address, location, 0, 0);
}

/* Bytes that have been written: their values are there. */
static void range_written(uint64_t address, uint64_t n, uint32_t location) {
    struct buffer *b = begin();
    if (b) pieces(b, STORE, address, n, location);
}

EXPORT void __tsan_read_range(void *p, unsigned long n) { range_read((uint64_t)p, n, PC); }
EXPORT void __tsan_write_range(void *p, unsigned long n) {
    struct buffer *b = begin();
    if (b && n < UINT32_MAX) {
        b->pending = (uint64_t)p;
        b->pending_size = (uint32_t)n;
        b->pending_location = PC;
        b->pending_kind = STORE;
    }
}

void *__wrap_memcpy(void *to, const void *from, size_t n) {
    range_read((uint64_t)from, n, PC);
    __real_memcpy(to, from, n);
    range_written((uint64_t)to, n, PC);
    return to;
}
void *__wrap_memmove(void *to, const void *from, size_t n) {
    range_read((uint64_t)from, n, PC);
    __real_memmove(to, from, n);
    range_written((uint64_t)to, n, PC);
    return to;
}
void *__wrap_memset(void *to, int byte, size_t n) {
    __real_memset(to, byte, n);
    range_written((uint64_t)to, n, PC);
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
    __real_strncpy(to, from, n);
    range_written((uint64_t)to, n, PC);
    return to;
}

/* Formatted text: what was written and its end. */
int __real_vsnprintf(char *, size_t, const char *, va_list);
static int formatted(char *to, size_t room, const char *format, va_list values, uint32_t location) {
    begin();
    int n = __real_vsnprintf(to, room, format, values);
    if (n >= 0 && room > 0) range_written((uint64_t)to, (size_t)n < room ? (size_t)n + 1 : room, location);
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
#define KERNEL_WRITES(name, parameters, arguments) \
    ssize_t __real_##name parameters; \
    ssize_t __wrap_##name parameters { \
        begin(); \
        ssize_t n = __real_##name arguments; \
        if (n > 0) range_written((uint64_t)to, (uint64_t)n, PC); \
        return n; \
    }
KERNEL_WRITES(read, (int fd, void *to, size_t size), (fd, to, size))
KERNEL_WRITES(pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
KERNEL_WRITES(pread64, (int fd, void *to, size_t size, off64_t at), (fd, to, size, at))
KERNEL_WRITES(recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
