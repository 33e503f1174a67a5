/* Names of files, before and after they are made, changed or taken away. */

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
    struct file *f = is_interesting(whole) ? new_file(b, &s, location) : NULL;
    if (f) {
        f->described = f->ready = 1;
        write_file_text(f, whole, 0);
        record_call(b, CALL_LINK, file_address(f, 0), name_number(whole), location, next_stamp());
        told_out_of_sight(b, f, location);
    }
    leave_files(b);
}

/* A file that has just been made without a name, and may get one: its text has no path. */
static void made_without_name(struct buffer *b, int fd, uint32_t location) {
    struct stat s;
    char whole[4096];
    if (by_host || raw_fstat(fd, &s) || !S_ISREG(s.st_mode) || !enter_files(b)) return;
    path_of(fd, whole, sizeof whole);
    struct file *f = is_interesting(whole) ? new_file(b, &s, location) : NULL;
    if (f) {
        f->described = f->ready = f->nameless = 1;
        write_file_text(f, "", 0);
        told_out_of_sight(b, f, location);
    }
    leave_files(b);
}

static void after_open(const struct opening *o, int fd, int flags, uint32_t location) {
    if (!o->b || fd < 0) return;
    if ((flags & (O_TMPFILE | O_EXCL)) == O_TMPFILE) made_without_name(o->b, fd, location);
    if (!o->existed && flags & O_CREAT) created(o->b, fd, location);
    struct file *f = o->cut ? file_of_fd(o->b, fd, location) : NULL;
    if (f) resized(o->b, f, 0, location);
}

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

static void linked(const struct named *from, int folder, const char *path, uint32_t location) {
    char whole[4096];
    if (!from->file || !path_of_name(folder, path, whole, sizeof whole)) return;
    record_call(from->b, CALL_LINK, file_address(from->file, 0), number_of_name(from->b, whole), location, next_stamp());
}

/* Whether a file that was made without a name, and is recorded, has its first one now. */
static int gets_a_name(struct buffer *b, int folder, const char *path) {
    struct stat s;
    if (raw_stat(folder, path, &s, AT_SYMLINK_NOFOLLOW) || s.st_nlink != 1 || !enter_files(b)) return 0;
    struct file *f = known_file(&s);
    int known = f && f->described && f->nameless;
    if (known) f->nameless = 0;
    leave_files(b);
    return known;
}

/* A link was made: the new name tells, wherever the old one came from. */
static void after_link(struct named *n, struct buffer *b, int folder, const char *path, uint32_t location) {
    int known = b && gets_a_name(b, folder, path);
    if (!find_named(n, b, folder, path, location)) return;
    if (n->links == 1 && !known) unseen(b, "a file was changed before it had a name", file_address(n->file, 0), UINT64_MAX >> 8, location);
    linked(n, folder, path, location);
}

/* Both names of a renaming, before it. */
struct renaming {
    struct buffer *b;
    struct named from, to;
};

static void before_rename(struct renaming *r, int folder, const char *old, int to_folder, const char *new, uint32_t location) {
    r->b = begin();
    find_named(&r->from, r->b, folder, old, location);
    find_named(&r->to, r->b, to_folder, new, location);
}

static void after_rename(struct renaming *r, int to_folder, const char *new, unsigned flags, uint32_t location) {
    if (!r->b) return;
    struct file *from = r->from.file;
    if (flags & RENAME_EXCHANGE) unseen(r->b, "two files exchanged their names", from ? file_address(from, 0) : 0, UINT64_MAX >> 8, location);
    else renamed(&r->from, &r->to, to_folder, new, location);
    renamed_folder(r->b, to_folder, new, location);
}
