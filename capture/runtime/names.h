/* Names of files: made, changed, taken away. */

/* Before a file is opened: whether it is there, and what it holds if the call is going to cut it. */
struct opening {
    struct buffer *b;
    int existed, cut;
};

static void before_open(struct opening *o, int folder, const char *path, int flags, uint32_t location) {
    struct stat s;
    char whole[4096];
    o->cut = 0;
    o->existed = 1;
    o->b = begin();
    if (!o->b || !(flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE) return;
    o->existed = raw_stat(folder, path, &s, 0) == 0;
    if (!o->existed || !(flags & O_TRUNC) || (flags & O_ACCMODE) == O_RDONLY || !S_ISREG(s.st_mode) || s.st_size == 0) return;
    int fd = (int)raw(SYS_openat, folder, (long)path, O_PATH | O_CLOEXEC, 0, 0, 0);
    if (fd < 0) return;
    path_of(fd, whole, sizeof whole);
    raw_close(fd);
    o->cut = file_of_name(o->b, AT_FDCWD, whole, whole, &s, location) != NULL;
}

/* A file that has just been made, whatever had its inode before. */
static void created(struct buffer *b, int fd, uint32_t location) {
    struct stat s;
    char whole[4096];
    if (raw_fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_nlink == 0 || !enter_files(b)) return;
    path_of(fd, whole, sizeof whole);
    struct file *f = is_interesting(whole) ? new_file(&s) : NULL;
    if (f) {
        f->described = f->ready = 1;
        write_file_text(f, whole, 0);
        record_call(b, CALL_LINK, file_address(f, 0), name_number(whole), location, next_stamp());
    }
    leave_files(b);
}

static void after_open(const struct opening *o, int fd, int flags, uint32_t location) {
    if (!o->b || fd < 0) return;
    if (!o->existed && flags & O_CREAT) created(o->b, fd, location);
    struct file *f = o->cut ? file_of_fd(o->b, fd, location) : NULL;
    if (f) resized(o->b, f, 0, location);
}

#define WITH_MODE(flags) \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }
#define OPENS(name) \
    LIBRARY(name) \
    INSTEAD int name(const char *path, int flags, ...) { \
        WITH_MODE(flags) \
        struct opening o; \
        before_open(&o, AT_FDCWD, path, flags, PC); \
        int fd = REAL(name)(path, flags, mode); \
        after_open(&o, fd, flags, PC); \
        return fd; \
    }
OPENS(open)
OPENS(open64)
#define OPENS_AT(name) \
    LIBRARY(name) \
    INSTEAD int name(int folder, const char *path, int flags, ...) { \
        WITH_MODE(flags) \
        struct opening o; \
        before_open(&o, folder, path, flags, PC); \
        int fd = REAL(name)(folder, path, flags, mode); \
        after_open(&o, fd, flags, PC); \
        return fd; \
    }
OPENS_AT(openat)
OPENS_AT(openat64)
#define CREATS(name) \
    LIBRARY(name) \
    INSTEAD int name(const char *path, mode_t mode) { \
        struct opening o; \
        before_open(&o, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, PC); \
        int fd = REAL(name)(path, mode); \
        after_open(&o, fd, O_CREAT | O_WRONLY | O_TRUNC, PC); \
        return fd; \
    }
CREATS(creat)
CREATS(creat64)
#define TEMPORARIES(name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        struct buffer *b = begin(); \
        int fd = REAL(name) arguments; \
        if (b && fd >= 0) created(b, fd, PC); \
        return fd; \
    }
TEMPORARIES(mkstemp, (char *path), (path))
TEMPORARIES(mkstemp64, (char *path), (path))
TEMPORARIES(mkostemp, (char *path, int flags), (path, flags))
TEMPORARIES(mkostemp64, (char *path, int flags), (path, flags))
TEMPORARIES(mkstemps, (char *path, int length), (path, length))
TEMPORARIES(shm_open, (const char *path, int flags, mode_t mode), (path, flags, mode))

/* A name of a file, before it goes. */
struct named {
    struct buffer *b;
    struct file *file;
    uint64_t links;
    char path[4096];
};
static int find_named(struct named *n, struct buffer *b, int folder, const char *path, uint32_t location) {
    struct stat s;
    n->b = b;
    n->file = b ? file_of_name(b, folder, path, n->path, &s, location) : NULL;
    n->links = n->file ? s.st_nlink : 0;
    return n->file != NULL;
}

static uint32_t number_of_name(struct buffer *b, const char *path) {
    if (!enter_files(b)) return 0;
    uint32_t number = name_number(path);
    leave_files(b);
    return number;
}

static void name_gone(const struct named *n) {
    if (n->file && n->links == 1) n->file->nameless = 1;
}

static void unlinked(const struct named *n, uint32_t location) {
    record_call(n->b, CALL_UNLINK, file_address(n->file, 0), number_of_name(n->b, n->path), location, next_stamp());
    name_gone(n);
}

LIBRARY(unlink)
INSTEAD int unlink(const char *path) {
    struct named n;
    int known = find_named(&n, begin(), AT_FDCWD, path, PC), failed = REAL(unlink)(path);
    if (known && !failed) unlinked(&n, PC);
    return failed;
}
LIBRARY(unlinkat)
INSTEAD int unlinkat(int folder, const char *path, int flags) {
    struct named n;
    int known = find_named(&n, begin(), folder, path, PC), failed = REAL(unlinkat)(folder, path, flags);
    if (known && !failed) unlinked(&n, PC);
    return failed;
}
LIBRARY(remove)
INSTEAD int remove(const char *path) {
    struct named n;
    int known = find_named(&n, begin(), AT_FDCWD, path, PC), failed = REAL(remove)(path);
    if (known && !failed) unlinked(&n, PC);
    return failed;
}

static void renamed(struct named *from, struct named *to, int folder, const char *path, uint32_t location) {
    struct buffer *b = from->b;
    if (!b) return;
    if (!from->file || !path_of_name(folder, path, to->path, sizeof to->path)) {
        if (to->file) unseen(b, "a file was replaced by one that is not recorded", file_address(to->file, 0), UINT64_MAX >> 8, location);
        return;
    }
    /* To itself: nothing. */
    if (to->file == from->file) return;
    uint32_t old = number_of_name(b, from->path), name = number_of_name(b, to->path);
    emit(b, OPERAND, 0, file_address(from->file, 0), location, old, 0);
    record_call(b, CALL_RENAME, file_address(from->file, 0), name, location, next_stamp());
    if (to->file) name_gone(to);
}

/* A whole folder: its files have other names now. */
static void renamed_folder(struct buffer *b, int folder, const char *path, uint32_t location) {
    struct stat s;
    if (b && !raw_stat(folder, path, &s, AT_SYMLINK_NOFOLLOW) && S_ISDIR(s.st_mode)) unseen(b, "a folder was renamed", 0, 0, location);
}

static int rename_recorded(int folder, const char *old, int to_folder, const char *new, unsigned flags, uint32_t location,
                           int (*call)(int, const char *, int, const char *, unsigned)) {
    struct named from, to;
    struct buffer *b = begin();
    find_named(&from, b, folder, old, location);
    find_named(&to, b, to_folder, new, location);
    int failed = call(folder, old, to_folder, new, flags);
    if (failed || !b) return failed;
    if (flags & RENAME_EXCHANGE) unseen(b, "two files exchanged their names", from.file ? file_address(from.file, 0) : 0, UINT64_MAX >> 8, location);
    else renamed(&from, &to, to_folder, new, location);
    renamed_folder(b, to_folder, new, location);
    return failed;
}
LIBRARY(rename)
LIBRARY(renameat)
LIBRARY(renameat2)
static int do_rename(int f, const char *old, int t, const char *new, unsigned flags) { return (void)f, (void)t, (void)flags, REAL(rename)(old, new); }
static int do_renameat(int f, const char *old, int t, const char *new, unsigned flags) { return (void)flags, REAL(renameat)(f, old, t, new); }
static int do_renameat2(int f, const char *old, int t, const char *new, unsigned flags) { return REAL(renameat2)(f, old, t, new, flags); }
INSTEAD int rename(const char *old, const char *new) { return rename_recorded(AT_FDCWD, old, AT_FDCWD, new, 0, PC, do_rename); }
INSTEAD int renameat(int f, const char *old, int t, const char *new) { return rename_recorded(f, old, t, new, 0, PC, do_renameat); }
INSTEAD int renameat2(int f, const char *old, int t, const char *new, unsigned flags) {
    return rename_recorded(f, old, t, new, flags, PC, do_renameat2);
}

static void linked(const struct named *from, int folder, const char *path, uint32_t location) {
    char whole[4096];
    if (!from->file || !path_of_name(folder, path, whole, sizeof whole)) return;
    record_call(from->b, CALL_LINK, file_address(from->file, 0), number_of_name(from->b, whole), location, next_stamp());
}
LIBRARY(link)
INSTEAD int link(const char *old, const char *new) {
    struct named n;
    find_named(&n, begin(), AT_FDCWD, old, PC);
    int failed = REAL(link)(old, new);
    if (!failed) linked(&n, AT_FDCWD, new, PC);
    return failed;
}
LIBRARY(linkat)
INSTEAD int linkat(int folder, const char *old, int to_folder, const char *new, int flags) {
    struct named n;
    struct buffer *b = begin();
    int failed = REAL(linkat)(folder, old, to_folder, new, flags);
    /* The new name tells, wherever the old one came from. */
    if (!failed && find_named(&n, b, to_folder, new, PC)) linked(&n, to_folder, new, PC);
    return failed;
}
