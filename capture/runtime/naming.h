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
    uint64_t links, bytes;
    char path[4096];
};
static int find_named(struct named *n, struct buffer *b, int folder, const char *path, uint32_t location) {
    struct stat s;
    n->b = b;
    *n->path = 0;
    n->file = b ? file_of_name(b, folder, path, n->path, &s, location) : NULL;
    n->links = n->file ? s.st_nlink : 0;
    n->bytes = n->file ? (uint64_t)s.st_size : 0;
    return n->file != NULL;
}

static void name_gone(const struct named *n) {
    if (n->file && n->links == 1) n->file->nameless = 1;
}

static void unlinked(const struct named *n, uint32_t location) {
    record_call(n->b, CALL_UNLINK, file_address(n->file, 0), number_of_name(n->b, n->path), location, next_stamp());
    name_gone(n);
}

/* A folder before it goes, where the name is of one. */
static void find_folder(struct named *n, int folder, const char *path) {
    *n->path = 0;
    if (n->b) path_of_folder(folder, path, n->path, sizeof n->path);
}

static void folder_gone(const struct named *n, uint32_t location) {
    if (*n->path) folder_changed(n->b, CALL_REMOVE_FOLDER, n->path, location);
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

/* The recorded file that had a name in a folder which has another name now; its own new name gets a number. */
static struct file *file_moved(const char *path, const char *old, const char *new) {
    char now[4096];
    struct stat s;
    size_t n = strlen(new), rest = strlen(path) - strlen(old);
    if (n + rest >= sizeof now) return NULL;
    __real_memcpy(now, new, n);
    __real_memcpy(now + n, path + strlen(old), rest + 1);
    struct file *f = raw_stat(AT_FDCWD, now, &s, AT_SYMLINK_NOFOLLOW) ? NULL : known_file(&s);
    if (!f || !f->described || f->nameless) return NULL;
    name_number(now);
    return f;
}

/* Recorded files that are in a folder now which had another name: does something with each, once or more often, and gives one of them. */
static struct file *files_moved(const char *old, const char *new, void (*each)(void *, struct file *), void *with) {
    struct file *any = NULL, *f;
    for (uint32_t n = 1; n < file_count; n++) {
        const char *path = files[n].described ? files[n].path : NULL;
        if (!path || !is_within(path, old) || !(f = file_moved(path, old, new))) continue;
        any = f;
        if (each) each(with, f);
    }
    for (unsigned i = 0; i < NAME_HEADS; i++)
        for (struct name *name = name_heads[i]; name; name = name->next) {
            if (!is_within(name->path, old) || !(f = file_moved(name->path, old, new))) continue;
            any = f;
            if (each) each(with, f);
        }
    return any;
}

/* The number of a folder's name, which ends in a slash. */
static uint32_t folder_number(const char *path) {
    char name[4098];
    size_t n = strlen(path);
    __real_memcpy(name, path, n);
    name[n] = '/';
    name[n + 1] = 0;
    return name_number(name);
}

/* A whole folder: all its files have other names now, by one change. */
static void renamed_folder(struct buffer *b, const char *old, const char *new, uint32_t location) {
    if (!enter_files(b)) return;
    struct file *any = strcmp(old, new) ? files_moved(old, new, NULL, NULL) : NULL;
    uint32_t from = any ? folder_number(old) : 0, to = any ? folder_number(new) : 0;
    folder_moved(new);
    leave_files(b);
    if (!any) return;
    emit(b, OPERAND, 0, file_address(any, 0), location, from, 0);
    record_call(b, CALL_RENAME, file_address(any, 0), to, location, next_stamp());
}

/* Who tells that files exchanged their names, and where. */
struct exchange {
    struct buffer *b;
    uint32_t location;
};
static void exchanged_file(void *p, struct file *f) {
    const struct exchange *e = p;
    unseen(e->b, "two files exchanged their names", file_address(f, 0), UINT64_MAX >> 8, e->location);
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

/* A symbolic link that has just been made. */
static void made_link(struct buffer *b, int folder, const char *path, uint32_t location) {
    struct stat s;
    char whole[4096];
    if (!b || raw_stat(folder, path, &s, AT_SYMLINK_NOFOLLOW) || !S_ISLNK(s.st_mode)) return;
    if (!path_of_name(folder, path, whole, sizeof whole) || !is_interesting(whole) || !enter_files(b)) return;
    struct file *f = new_file(b, &s, location);
    if (f) {
        f->described = 1;
        write_link_text(f, whole);
        record_call(b, CALL_LINK, file_address(f, 0), name_number(whole), location, next_stamp());
    }
    leave_files(b);
}

/* Both names of a renaming, before it; those of folders are apart. */
struct renaming {
    struct buffer *b;
    struct named from, to;
    char old_folder[4096], new_folder[4096];
};

static void before_rename(struct renaming *r, int folder, const char *old, int to_folder, const char *new, uint32_t location) {
    r->b = begin();
    *r->old_folder = *r->new_folder = 0;
    if (!r->b) return;
    if (!find_named(&r->from, r->b, folder, old, location)) path_of_folder(folder, old, r->old_folder, sizeof r->old_folder);
    if (!find_named(&r->to, r->b, to_folder, new, location)) path_of_folder(to_folder, new, r->new_folder, sizeof r->new_folder);
}

/* Files and folders that exchanged their names: each is under the other's name now. */
static void exchanged(struct renaming *r, uint32_t location) {
    struct exchange e = {r->b, location};
    if (r->from.file) exchanged_file(&e, r->from.file);
    if (r->to.file) exchanged_file(&e, r->to.file);
    if (!r->from.file && !r->to.file) unseen(r->b, "two files exchanged their names", 0, 0, location);
    if (!*r->old_folder && !*r->new_folder) return;
    const char *old = *r->old_folder ? r->old_folder : r->from.path, *new = *r->new_folder ? r->new_folder : r->to.path;
    if (!*old || !*new || !enter_files(r->b)) return;
    files_moved(old, new, exchanged_file, &e);
    files_moved(new, old, exchanged_file, &e);
    folder_moved(old);
    folder_moved(new);
    leave_files(r->b);
}

static void after_rename(struct renaming *r, int to_folder, const char *new, unsigned flags, uint32_t location) {
    if (!r->b) return;
    if (flags & RENAME_EXCHANGE) {
        exchanged(r, location);
        return;
    }
    renamed(&r->from, &r->to, to_folder, new, location);
    if (!*r->old_folder) return;
    path_of_folder(to_folder, new, r->new_folder, sizeof r->new_folder);
    if (*r->new_folder) renamed_folder(r->b, r->old_folder, r->new_folder, location);
}
