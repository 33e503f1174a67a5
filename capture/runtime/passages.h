/* What was written to a file in a way that shows only afterwards: read there. */

struct looking_back {
    const struct change *c;
    const char *path;
    uint64_t at, bytes;
    uint32_t location;
};
static int look_back(void *p) {
    const struct looking_back *l = p;
    int fd = raw_open(l->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    after_copy(l->c, fd, l->at, l->at, (ssize_t)l->bytes, l->location);
    if (fd >= 0) raw_close(fd);
    return 0;
}

/* A call of a stream by which the C library makes the bytes itself: what it writes out lies from the place where the stream
 * was to where the descriptor stands when it returns. */
struct passage {
    struct change c;
    uint64_t from;
    int known;
};

enum { NO_WRITES = 8, PUTTING = 0x800 };

/* Where the stream's next byte to be written out goes. */
static int64_t place_of_stream(FILE *f, int flags) {
    struct stat s;
    if (flags & O_APPEND) return raw_fstat(f->_fileno, &s) ? -1 : s.st_size;
    if (!(f->_flags & PUTTING)) return ftello(f);
    return raw_seek(f->_fileno, 0, SEEK_CUR) + (f->_IO_write_base - f->_IO_read_end);
}

static void keep_stream(FILE *f, FILE *instead_of, FILE *by);
static void before_passage(struct passage *p, FILE *f, uint32_t location) {
    p->known = f->_fileno >= 0 && !(f->_flags & NO_WRITES) && before_change(&p->c, f->_fileno, location);
    if (!p->known) return;
    keep_stream(f, NULL, f);
    int64_t from = place_of_stream(f, p->c.flags);
    p->known = from >= 0;
    p->from = (uint64_t)from;
}
static void after_passage(const struct passage *p, uint32_t location) {
    char path[40];
    long to = p->known ? raw_seek(p->c.fd, 0, SEEK_CUR) : -1;
    if (to < 0 || (uint64_t)to <= p->from) return;
    numbered(path, "/proc/self/fd/", (uint64_t)p->c.fd);
    elsewhere(look_back, &(struct looking_back){&p->c, path, p->from, (uint64_t)to - p->from, location});
}

/* A file that has more bytes than what is recorded gave it was written to in a way that is not seen. Where other threads may be about
 * to record what they wrote it shows only at the end. */
#define GREW "a file has more bytes than the writes that were recorded gave it"
static void look_at_bytes(struct buffer *b, struct file *f, const char *path, uint64_t bytes, uint32_t location) {
    uint64_t most = f->most_bytes;
    if (by_host || each_process || b->outer || f->link || bytes <= most || bytes <= f->grown) return;
    f->grown = bytes;
    if (meets()) return;
    elsewhere(look_back, &(struct looking_back){&(struct change){.b = b, .file = f, .fd = -1}, path, most, bytes - most, location});
    unseen(b, GREW, file_address(f, 0), WHOLE, location);
}
static void look_at_descriptor(struct buffer *b, int fd, uint32_t location) {
    struct stat s;
    char path[40];
    if (!b || raw_fstat(fd, &s) || !S_ISREG(s.st_mode)) return;
    struct file *f = known_file(&s);
    if (!f || !f->described || f->ignored) return;
    numbered(path, "/proc/self/fd/", (uint64_t)fd);
    look_at_bytes(b, f, path, (uint64_t)s.st_size, location);
}
static void look_at_name(const struct named *n, uint32_t location) {
    if (n->file) look_at_bytes(n->b, n->file, n->path, n->bytes, location);
}
static void last_look_at_bytes(struct buffer *b) {
    for (uint32_t n = 1; n < file_count; n++)
        if (files[n].grown > files[n].most_bytes) unseen(b, GREW, file_address(&files[n], 0), WHOLE, 0);
}
