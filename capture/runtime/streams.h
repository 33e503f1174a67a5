/* Streams of the C library: what it holds back, and what it writes within its own calls. */

#undef putc
#undef fputs
#undef fwrite
#undef fwrite_unlocked
LIBRARY(fflush)

/* Streams on recorded files: what they hold back is written when the program ends. */
enum { STREAMS = 1024 };
static FILE *streams[STREAMS];
static atomic_flag streams_lock = ATOMIC_FLAG_INIT;

static void keep_stream(FILE *f, FILE *instead_of, FILE *by) {
    uint64_t signals = block_signals();
    int at = -1;
    take(&streams_lock);
    for (int i = 0; i < STREAMS; i++) {
        if (streams[i] == f && f) at = STREAMS;
        if (streams[i] == instead_of && at < 0) at = i;
    }
    if (at >= 0 && at < STREAMS) streams[at] = by;
    give(&streams_lock);
    restore_signals(signals);
}

struct stream {
    struct change c;
    struct iovec v[2];
};

static size_t held_back(const FILE *f) { return f->_IO_write_ptr > f->_IO_write_base ? (size_t)(f->_IO_write_ptr - f->_IO_write_base) : 0; }

/* Before a call that adds n bytes (0 for one that writes all out): whether it may write to a recorded file. */
static int before_stream(struct stream *s, FILE *f, size_t n, uint32_t location) {
    enum { LINES = 0x200, UNBUFFERED = 2 };
    size_t held = held_back(f);
    if (!n && !held) return 0;
    if (n && !(f->_flags & (LINES | UNBUFFERED)) && f->_IO_write_ptr && (size_t)(f->_IO_buf_end - f->_IO_write_ptr) > n) return 0;
    if (f->_fileno < 0 || !before_change(&s->c, f->_fileno, location)) return 0;
    keep_stream(f, NULL, f);
    s->v[0] = (struct iovec){held ? raw_memory(held) : NULL, held};
    if (held && !s->v[0].iov_base) return 0;
    if (held) __real_memcpy(s->v[0].iov_base, f->_IO_write_base, held);
    return 1;
}

/* It has added `n` bytes: what is no longer held back is in the file. */
static void after_stream(struct stream *s, const FILE *f, const void *bytes, size_t n, uint32_t location) {
    size_t held = held_back(f), all = s->v[0].iov_len + n;
    s->v[1] = (struct iovec){(void *)bytes, n};
    if (all > held) after_change(&s->c, s->v, (ssize_t)(all - held), -1, location, 0);
    if (s->v[0].iov_base) raw_release(s->v[0].iov_base, s->v[0].iov_len);
}

static int flush_stream(FILE *f, uint32_t location) {
    struct stream s;
    int known = before_stream(&s, f, 0, location), failed = REAL(fflush)(f);
    if (known) after_stream(&s, f, NULL, 0, location);
    return failed;
}
static void flush_streams(uint32_t location) {
    for (int i = 0; i < STREAMS; i++)
        if (streams[i]) flush_stream(streams[i], location);
}
INSTEAD int fflush(FILE *f) {
    if (!begin()) return REAL(fflush)(f);
    if (f) return flush_stream(f, PC);
    flush_streams(PC);
    return REAL(fflush)(f);
}
LIBRARY(fclose)
INSTEAD int fclose(FILE *f) {
    if (begin()) {
        if (held_back(f)) flush_stream(f, PC);
        keep_stream(NULL, f, NULL);
    }
    return REAL(fclose)(f);
}

#define SEEKS(type, name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        if (begin() && held_back(f)) flush_stream(f, PC); \
        return REAL(name) arguments; \
    }
SEEKS(int, fseek, (FILE *f, long offset, int whence), (f, offset, whence))
SEEKS(int, fseeko, (FILE *f, off_t offset, int whence), (f, offset, whence))
SEEKS(int, fseeko64, (FILE *f, off64_t offset, int whence), (f, offset, whence))
SEEKS(void, rewind, (FILE *f), (f))
SEEKS(int, fsetpos, (FILE *f, const fpos_t *at), (f, at))

static size_t put_in(FILE *f, const void *bytes, size_t size, size_t count, uint32_t location,
                     size_t (*call)(const void *, size_t, size_t, FILE *)) {
    struct stream s;
    int known = begin() && before_stream(&s, f, size * count > 0 ? size * count : 1, location);
    size_t n = call(bytes, size, count, f);
    if (known) after_stream(&s, f, bytes, n * size, location);
    return n;
}
LIBRARY(fwrite)
INSTEAD size_t fwrite(const void *bytes, size_t size, size_t count, FILE *f) {
    return put_in(f, bytes, size, count, PC, REAL(fwrite));
}
LIBRARY(fwrite_unlocked)
INSTEAD size_t fwrite_unlocked(const void *bytes, size_t size, size_t count, FILE *f) {
    return put_in(f, bytes, size, count, PC, REAL(fwrite_unlocked));
}
LIBRARY(fputs)
INSTEAD int fputs(const char *text, FILE *f) {
    struct stream s;
    size_t n = strlen(text);
    int known = begin() && before_stream(&s, f, n ? n : 1, PC), result = REAL(fputs)(text, f);
    if (known) after_stream(&s, f, text, result < 0 ? 0 : n, PC);
    return result;
}
int __overflow(FILE *, int);
#define PUTS_ONE(name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        struct stream s; \
        uint8_t byte = (uint8_t)c; \
        int known = begin() && before_stream(&s, f, 1, PC), result = REAL(name) arguments; \
        if (known) after_stream(&s, f, &byte, result == EOF ? 0 : 1, PC); \
        return result; \
    }
PUTS_ONE(fputc, (int c, FILE *f), (c, f))
PUTS_ONE(putc, (int c, FILE *f), (c, f))
PUTS_ONE(__overflow, (FILE *f, int c), (f, c))

/* Formatted text to a recorded file is formatted first. */
LIBRARY(vfprintf)
static int print(FILE *f, const char *format, va_list values, uint32_t location) {
    struct buffer *b = begin();
    if (!b || f->_fileno < 0 || !file_of_fd(b, f->_fileno, location)) return REAL(vfprintf)(f, format, values);
    char *text = NULL;
    int n = vasprintf(&text, format, values);
    if (n >= 0 && put_in(f, text, 1, (size_t)n, location, REAL(fwrite)) != (size_t)n) n = -1;
    free(text);
    return n;
}
INSTEAD int vfprintf(FILE *f, const char *format, va_list values) { return print(f, format, values, PC); }
INSTEAD int fprintf(FILE *f, const char *format, ...) {
    va_list values;
    va_start(values, format);
    int n = print(f, format, values, PC);
    va_end(values);
    return n;
}
int __fprintf_chk(FILE *, int, const char *, ...);
INSTEAD int __fprintf_chk(FILE *f, int flag, const char *format, ...) {
    (void)flag;
    va_list values;
    va_start(values, format);
    int n = print(f, format, values, PC);
    va_end(values);
    return n;
}

/* To a descriptor. */
LIBRARY(vdprintf)
static int print_to(int fd, const char *format, va_list values, uint32_t location) {
    struct change c;
    char *text = NULL;
    if (!before_change(&c, fd, location)) return REAL(vdprintf)(fd, format, values);
    int n = vasprintf(&text, format, values);
    ssize_t made = n > 0 ? REAL(write)(fd, text, (size_t)n) : 0;
    after_change(&c, &(struct iovec){text, n > 0 ? (size_t)n : 0}, made, -1, location, 0);
    free(text);
    return n < 0 || made < n ? -1 : n;
}
INSTEAD int vdprintf(int fd, const char *format, va_list values) { return print_to(fd, format, values, PC); }
#define PRINTS_TO(name, parameters, last) \
    int name parameters; \
    INSTEAD int name parameters { \
        va_list values; \
        va_start(values, last); \
        int n = print_to(fd, format, values, PC); \
        va_end(values); \
        return n; \
    }
PRINTS_TO(dprintf, (int fd, const char *format, ...), format)

/* The C library opens within itself. */
static int flags_of(const char *mode) {
    int plus = strchr(mode, '+') ? O_RDWR : O_WRONLY;
    return *mode == 'w' ? plus | O_CREAT | O_TRUNC : *mode == 'a' ? plus | O_CREAT : 0;
}
#define OPENS_STREAM(name) \
    LIBRARY(name) \
    INSTEAD FILE *name(const char *path, const char *mode) { \
        struct opening o; \
        before_open(&o, AT_FDCWD, path, flags_of(mode), PC); \
        FILE *f = REAL(name)(path, mode); \
        if (f) after_open(&o, f->_fileno, flags_of(mode), PC), read_whole(f->_fileno); \
        return f; \
    }
OPENS_STREAM(fopen)
OPENS_STREAM(fopen64)

/* What the C library reads into the program's memory. */
LIBRARY(fread)
INSTEAD size_t fread(void *to, size_t size, size_t count, FILE *f) {
    struct buffer *b = before_write((uint64_t)to, size * count, PC);
    size_t n = REAL(fread)(to, size, count, f);
    after_write(b, (uint64_t)to, n * size, PC);
    return n;
}
LIBRARY(fgets)
INSTEAD char *fgets(char *to, int room, FILE *f) {
    struct buffer *b = before_write((uint64_t)to, room > 0 ? (uint64_t)room : 0, PC);
    char *result = REAL(fgets)(to, room, f);
    after_write(b, (uint64_t)to, result ? strlen(result) + 1 : 0, PC);
    return result;
}
