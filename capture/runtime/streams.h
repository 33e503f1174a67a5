/* Streams of the C library: what it holds back, and what it writes within its own calls. */

#undef putc
#undef fputs
#undef fwrite
#undef fwrite_unlocked
#undef putchar
#undef fputs_unlocked
#undef fread_unlocked
#undef fgets_unlocked
#undef putc_unlocked
#undef putchar_unlocked
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

/* What the stream has opened for writing. Where it has opened nothing yet, it may write past its buffer what would find room there. */
static size_t room_of(const FILE *f) { return f->_IO_write_end > f->_IO_write_ptr ? (size_t)(f->_IO_write_end - f->_IO_write_ptr) : 0; }

/* Before a call that adds n bytes (0 for one that writes all out): whether it may write to a recorded file. */
static int before_stream(struct stream *s, FILE *f, size_t n, uint32_t location) {
    enum { LINES = 0x200, UNBUFFERED = 2 };
    size_t held = held_back(f);
    if (!n && !held) return 0;
    if (n && !(f->_flags & (LINES | UNBUFFERED)) && room_of(f) > n) return 0;
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

/* Whether a stream may hold back bytes. Those of wide characters are made when they are written out. */
static int is_wide(const FILE *f) { return f->_mode > 0; }
static int may_hold(const FILE *f) { return is_wide(f) ? f->_flags & PUTTING : held_back(f) > 0; }

static int flush_wide(FILE *f, uint32_t location) {
    struct passage p;
    before_passage(&p, f, location);
    int failed = REAL(fflush)(f);
    after_passage(&p, location);
    return failed;
}
static int flush_stream(FILE *f, uint32_t location) {
    struct stream s;
    if (is_wide(f) && may_hold(f)) return flush_wide(f, location);
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
LIBRARY(fflush_unlocked)
INSTEAD int fflush_unlocked(FILE *f) {
    if (!begin()) return REAL(fflush_unlocked)(f);
    if (f) return flush_stream(f, PC);
    flush_streams(PC);
    return REAL(fflush_unlocked)(f);
}

/* The C library closes a stream's descriptor within itself. */
static void before_closing(FILE *f, uint32_t location) {
    struct buffer *b = begin();
    if (!b) return;
    if (may_hold(f)) flush_stream(f, location);
    keep_stream(NULL, f, NULL);
    if (f->_fileno >= 0) look_at_descriptor(b, f->_fileno, location);
}
LIBRARY(fclose)
INSTEAD int fclose(FILE *f) {
    before_closing(f, PC);
    return REAL(fclose)(f);
}
LIBRARY(fcloseall)
INSTEAD int fcloseall(void) {
    if (begin()) flush_streams(PC);
    return REAL(fcloseall)();
}

/* Calls that write out first what is held back: those that seek, and those that read where the program has just written. */
#define WRITES_OUT(type, name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        if (may_hold(f) && begin()) flush_stream(f, PC); \
        return REAL(name) arguments; \
    }
WRITES_OUT(int, fseek, (FILE *f, long offset, int whence), (f, offset, whence))
WRITES_OUT(int, fseeko, (FILE *f, off_t offset, int whence), (f, offset, whence))
WRITES_OUT(int, fseeko64, (FILE *f, off64_t offset, int whence), (f, offset, whence))
WRITES_OUT(void, rewind, (FILE *f), (f))
WRITES_OUT(int, fsetpos, (FILE *f, const fpos_t *at), (f, at))
WRITES_OUT(int, fsetpos64, (FILE *f, const fpos64_t *at), (f, at))
WRITES_OUT(int, setvbuf, (FILE *f, char *room, int mode, size_t bytes), (f, room, mode, bytes))
WRITES_OUT(void, setbuf, (FILE *f, char *room), (f, room))
WRITES_OUT(void, setbuffer, (FILE *f, char *room, size_t bytes), (f, room, bytes))
WRITES_OUT(void, setlinebuf, (FILE *f), (f))
int __uflow(FILE *), __underflow(FILE *);
WRITES_OUT(int, __uflow, (FILE *f), (f))
WRITES_OUT(int, __underflow, (FILE *f), (f))
WRITES_OUT(int, fgetc, (FILE *f), (f))
WRITES_OUT(int, getc, (FILE *f), (f))
WRITES_OUT(ssize_t, getline, (char **text, size_t *room, FILE *f), (text, room, f))
WRITES_OUT(ssize_t, getdelim, (char **text, size_t *room, int end, FILE *f), (text, room, end, f))
ssize_t __getdelim(char **, size_t *, int, FILE *);
WRITES_OUT(ssize_t, __getdelim, (char **text, size_t *room, int end, FILE *f), (text, room, end, f))
WRITES_OUT(wint_t, fgetwc, (FILE *f), (f))
WRITES_OUT(wint_t, getwc, (FILE *f), (f))
WRITES_OUT(wchar_t *, fgetws, (wchar_t *to, int room, FILE *f), (to, room, f))

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
LIBRARY(putw)
INSTEAD int putw(int word, FILE *f) {
    struct stream s;
    int known = begin() && before_stream(&s, f, sizeof word, PC), failed = REAL(putw)(word, f);
    if (known) after_stream(&s, f, &word, failed ? 0 : sizeof word, PC);
    return failed;
}
#define PUTS_TEXT(name) \
    LIBRARY(name) \
    INSTEAD int name(const char *text, FILE *f) { \
        struct stream s; \
        size_t n = strlen(text); \
        int known = begin() && before_stream(&s, f, n ? n : 1, PC), result = REAL(name)(text, f); \
        if (known) after_stream(&s, f, text, result < 0 ? 0 : n, PC); \
        return result; \
    }
PUTS_TEXT(fputs)
PUTS_TEXT(fputs_unlocked)
int __overflow(FILE *, int);
#define PUTS_ONE(name, parameters, arguments, into) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        struct stream s; \
        uint8_t byte = (uint8_t)c; \
        int known = begin() && before_stream(&s, into, 1, PC), result = REAL(name) arguments; \
        if (known) after_stream(&s, into, &byte, result == EOF ? 0 : 1, PC); \
        return result; \
    }
PUTS_ONE(fputc, (int c, FILE *f), (c, f), f)
PUTS_ONE(putc, (int c, FILE *f), (c, f), f)
PUTS_ONE(fputc_unlocked, (int c, FILE *f), (c, f), f)
PUTS_ONE(putc_unlocked, (int c, FILE *f), (c, f), f)
PUTS_ONE(putchar, (int c), (c), stdout)
PUTS_ONE(putchar_unlocked, (int c), (c), stdout)
PUTS_ONE(__overflow, (FILE *f, int c), (f, c), f)

LIBRARY(puts)
INSTEAD int puts(const char *text) {
    struct passage p;
    before_passage(&p, stdout, PC);
    int result = REAL(puts)(text);
    after_passage(&p, PC);
    return result;
}

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
INSTEAD int vprintf(const char *format, va_list values) { return print(stdout, format, values, PC); }
int __vfprintf_chk(FILE *, int, const char *, va_list), __vprintf_chk(int, const char *, va_list);
INSTEAD int __vfprintf_chk(FILE *f, int flag, const char *format, va_list values) { return (void)flag, print(f, format, values, PC); }
INSTEAD int __vprintf_chk(int flag, const char *format, va_list values) { return (void)flag, print(stdout, format, values, PC); }
#define PRINTS(name, parameters, stream, call) \
    int name parameters; \
    INSTEAD int name parameters { \
        va_list values; \
        va_start(values, format); \
        int n = call(stream, format, values, PC); \
        va_end(values); \
        return n; \
    }
PRINTS(fprintf, (FILE *f, const char *format, ...), f, print)
PRINTS(printf, (const char *format, ...), stdout, print)
PRINTS(__fprintf_chk, (FILE *f, __attribute__((unused)) int flag, const char *format, ...), f, print)
PRINTS(__printf_chk, (__attribute__((unused)) int flag, const char *format, ...), stdout, print)

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
PRINTS(dprintf, (int fd, const char *format, ...), fd, print_to)

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
/* Without a path it opens the stream's own file anew. */
#define REOPENS_STREAM(name) \
    LIBRARY(name) \
    INSTEAD FILE *name(const char *path, const char *mode, FILE *old) { \
        struct opening o; \
        char link[40]; \
        before_closing(old, PC); \
        numbered(link, "/proc/self/fd/", (uint64_t)(old->_fileno >= 0 ? old->_fileno : 0)); \
        before_open(&o, AT_FDCWD, path ? path : link, flags_of(mode), PC); \
        FILE *f = REAL(name)(path, mode, old); \
        if (f) after_open(&o, f->_fileno, flags_of(mode), PC), read_whole(f->_fileno); \
        return f; \
    }
REOPENS_STREAM(freopen)
REOPENS_STREAM(freopen64)

/* What the C library reads into the program's memory. */
#define READS_STREAM(name) \
    LIBRARY(name) \
    INSTEAD size_t name(void *to, size_t size, size_t count, FILE *f) { \
        if (may_hold(f) && begin()) flush_stream(f, PC); \
        struct buffer *b = before_write((uint64_t)to, size * count, PC); \
        size_t n = REAL(name)(to, size, count, f); \
        after_write(b, (uint64_t)to, n * size, PC); \
        return n; \
    }
READS_STREAM(fread)
READS_STREAM(fread_unlocked)
#define READS_LINE(name) \
    LIBRARY(name) \
    INSTEAD char *name(char *to, int room, FILE *f) { \
        if (may_hold(f) && begin()) flush_stream(f, PC); \
        struct buffer *b = before_write((uint64_t)to, room > 0 ? (uint64_t)room : 0, PC); \
        char *result = REAL(name)(to, room, f); \
        after_write(b, (uint64_t)to, result ? strlen(result) + 1 : 0, PC); \
        return result; \
    }
READS_LINE(fgets)
READS_LINE(fgets_unlocked)
