/* Files: their numbers, names and first contents. */

enum { FILES = 1 << 16, FILE_HEADS = 1024, NAME_HEADS = 1024 };
static struct file *files;
static uint32_t file_count = 1, file_heads[FILE_HEADS];
/* Held while files, names and mappings change. */
static atomic_flag files_lock = ATOMIC_FLAG_INIT;

static int enter_files(struct buffer *b) {
    for (struct buffer *o = b->outer; o; o = o->outer)
        if (o->busy) return 0;
    b->busy = 1;
    b->signals = block_signals();
    take(&files_lock);
    return 1;
}
static void leave_files(struct buffer *b) {
    give(&files_lock);
    b->busy = 0;
    restore_signals(b->signals);
}

struct name {
    struct name *next;
    uint32_t number;
    /* Of a folder: whether it is told that the program makes it. */
    int made;
    char path[];
};
static struct name *name_heads[NAME_HEADS];
static uint32_t name_count;
static uint8_t *arena, *arena_end;

static void *keep(size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (arena == NULL || (size_t)(arena_end - arena) < bytes) {
        arena = raw_memory(1 << 20);
        if (!arena) return NULL;
        arena_end = arena + (1 << 20);
    }
    arena += bytes;
    return arena - bytes;
}

static size_t hash(const char *text) {
    uint64_t h = 0xCBF29CE484222325u;
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 0x100000001B3u;
    return h ^ h >> 32;
}

/* A path; its text is recorded with the first. */
static struct name *name_of(const char *path) {
    struct name **head = &name_heads[hash(path) % NAME_HEADS];
    for (struct name *n = *head; n; n = n->next)
        if (!strcmp(n->path, path)) return n;
    struct name *n = keep(sizeof *n + strlen(path) + 1);
    if (!n) return NULL;
    __real_memcpy(n->path, path, strlen(path) + 1);
    n->number = name_count++;
    n->made = 0;
    n->next = *head;
    *head = n;
    char text[4300];
    int at = numbered(text, "", n->number);
    text[at++] = '\n';
    __real_memcpy(text + at, path, strlen(path) + 1);
    write_text("name", text);
    return n;
}

/* Its number. */
static uint32_t name_number(const char *path) {
    const struct name *n = name_of(path);
    return n ? n->number : 0;
}

/* Texts of what is not modelled, each written once into a trace. */
static struct name *unseen_texts;
static uint32_t unseen_count;
static atomic_flag unseen_lock = ATOMIC_FLAG_INIT;

static void unseen(struct buffer *b, const char *text, uint64_t address, uint64_t bytes, uint32_t location) {
    take(&unseen_lock);
    struct name *n = unseen_texts;
    while (n && strcmp(n->path, text)) n = n->next;
    if (!n && (n = keep(sizeof *n + strlen(text) + 1))) {
        __real_memcpy(n->path, text, strlen(text) + 1);
        n->number = unseen_count++;
        n->next = unseen_texts;
        unseen_texts = n;
        char numbered_text[600];
        int at = numbered(numbered_text, "", n->number);
        numbered_text[at++] = '\n';
        __real_memcpy(numbered_text + at, text, strnlen(text, 500));
        numbered_text[(size_t)at + strnlen(text, 500)] = 0;
        write_text("unseen", numbered_text);
    }
    give(&unseen_lock);
    if (!n) return;
    emit(b, OPERAND, 0, address, location, bytes, 0);
    emit(b, UNSEEN, 0, address, location, n->number, next_stamp());
}

/* What changes files, or makes them durable, where no call shows it; none until a program sets it up. */
static const char *out_of_sight;
#define IO_URING "io_uring: what it writes, and what it makes durable"
#define IO_SUBMIT "asynchronous input and output (io_submit): what it writes, and what it makes durable"

static void told_out_of_sight(struct buffer *b, struct file *f, uint32_t location) {
    if (out_of_sight) unseen(b, out_of_sight, file_address(f, 0), 0, location);
}

/* From here on any file may change, or become durable, unseen. With the lock held. */
static void tell_all(struct buffer *b, const char *text, int nameless_too, uint32_t location) {
    out_of_sight = text;
    /* Of no file as well: there may be none yet, and of one that nothing else changes there never is. */
    unseen(b, text, 0, 0, location);
    for (uint32_t n = 1; n < file_count; n++)
        if (files[n].described && (nameless_too || !files[n].nameless)) told_out_of_sight(b, &files[n], location);
}

static void goes_out_of_sight(struct buffer *b, const char *text, uint32_t location) {
    if (out_of_sight || !enter_files(b)) return;
    tell_all(b, text, 1, location);
    leave_files(b);
}

static void not_kept(struct buffer *b, const struct file *f, uint64_t bytes, uint64_t offset, uint32_t location) {
    uint64_t address = f->ignored ? 0 : file_address(f, offset);
    unseen(b, "a mapping over 65536 at once: what is made durable of it", address, f->ignored ? 0 : bytes, location);
}

static void lost(struct buffer *b, uint64_t address, unsigned size, uint32_t location) {
    if (address - shadowed_from < shadowed_bytes && find_mapping(b, address))
        unseen(b, "a store to memory that was gone before its value was read", address, size, location);
}

/* A path as the kernel has it: whole, without links; empty where there is none, or it is longer than the kernel tells. */
static void path_of(int fd, char *path, size_t room) {
    char link[40];
    numbered(link, "/proc/self/fd/", (uint64_t)fd);
    long n = raw_readlink(link, path, room - 1);
    path[n > 0 ? n : 0] = 0;
}

static int begins(const char *text, const char *prefix) { return !strncmp(text, prefix, strlen(prefix)); }

/* Files that keep nothing over a power failure, and those outside of COREPLANE_PM=PREFIX. */
static int is_interesting(const char *path) {
    const char *prefix = getenv("COREPLANE_PM");
    if (reading) return 0;
    if (*path != '/' || begins(path, "/proc/") || begins(path, "/sys/") || (begins(path, "/memfd:") && !by_host)) return 0;
    if (begins(path, "/dev/") && !begins(path, "/dev/shm/") && !begins(path, "/dev/dax")) return 0;
    return !prefix || !*prefix || begins(path, prefix);
}

#define LONG_PATH "a path of more than 4095 bytes: what is done to its file"
#define NO_PROC "a file where no /proc tells paths, as after chroot: what is done to it"

/* Why the kernel tells no path of what is there. */
static const char *pathless(void) {
    struct stat s;
    return raw_stat(AT_FDCWD, "/proc/self/fd", &s, 0) ? NO_PROC : LONG_PATH;
}

/* By what is recorded, a file has so many bytes now. */
static void has_bytes(struct file *f, uint64_t bytes) {
    for (uint64_t most = f->most_bytes; bytes > most && !atomic_compare_exchange_weak(&f->most_bytes, &most, bytes);) {}
}

static uint32_t *file_head(uint64_t device, uint64_t inode) { return &file_heads[(device * 31 + inode) % FILE_HEADS]; }

static struct file *known_file(const struct stat *s) {
    for (uint32_t n = *file_head(s->st_dev, s->st_ino); n; n = files[n].next)
        if (files[n].device == s->st_dev && files[n].inode == s->st_ino && files[n].link == S_ISLNK(s->st_mode)) return &files[n];
    return NULL;
}

/* Where there is no number left for one, those that have names are told of it: it may hold what recovery needs of them. */
static struct file *new_file(struct buffer *b, const struct stat *s, uint32_t location) {
    if (!files) files = raw_memory(sizeof *files * FILES);
    if (!files || file_count == FILES) {
        if (b && !out_of_sight) tell_all(b, "more than 65535 files: what is done to the others", 0, location);
        return NULL;
    }
    struct file *f = &files[file_count];
    *f = (struct file){.device = s->st_dev, .inode = s->st_ino, .number = file_count, .link = S_ISLNK(s->st_mode)};
    /* The newest of an inode is found first. */
    f->next = *file_head(s->st_dev, s->st_ino);
    atomic_thread_fence(memory_order_release);
    *(volatile uint32_t *)file_head(s->st_dev, s->st_ino) = file_count++;
    return f;
}

/* The file's text: number, device and inode, path, bytes. */
static void write_file_text(struct file *f, const char *path, uint64_t bytes) {
    has_bytes(f, bytes);
    char *kept = keep(strlen(path) + 1);
    if (kept) __real_memcpy(kept, path, strlen(path) + 1);
    f->path = kept;
    char text[4300];
    int at = numbered(text, "", f->number);
    at += numbered(text + at, "\n", f->device);
    at += numbered(text + at, ":", f->inode);
    text[at++] = '\n';
    size_t n = strnlen(path, 4095);
    __real_memcpy(text + at, path, n);
    at += (int)n;
    numbered(text + at, "\n", bytes);
    write_text("file", text);
}

/* A symbolic link's texts: as a file that is as long as what it leads to, and what that is. */
static void write_link_text(struct file *f, const char *path) {
    char text[4300];
    int at = numbered(text, "", f->number);
    text[at++] = '\n';
    long n = raw_readlink(path, text + at, 4095);
    text[at + (n > 0 ? n : 0)] = 0;
    write_file_text(f, path, n > 0 ? (uint64_t)n : 0);
    write_text("link", text);
}

/* Folders that were renamed, under their new names. */
struct moved {
    struct moved *next;
    char path[];
};
static struct moved *moved_folders;

/* Whether a path is of something in a folder. */
static int is_within(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return begins(path, folder) && path[n] == '/';
}

/* With the lock held. */
static void folder_moved(const char *path) {
    for (struct moved *m = moved_folders; m; m = m->next)
        if (!strcmp(m->path, path)) return;
    struct moved *m = keep(sizeof *m + strlen(path) + 1);
    if (!m) return;
    __real_memcpy(m->path, path, strlen(path) + 1);
    m->next = moved_folders;
    moved_folders = m;
}

/* What was in a folder before that was renamed had another name until then, which nobody wrote down. */
static void told_moved(struct buffer *b, const struct file *f, const char *path, uint32_t location) {
    for (struct moved *m = moved_folders; m; m = m->next)
        if (is_within(path, m->path)) {
            unseen(b, "a folder was renamed before this file in it was recorded", file_address(f, 0), UINT64_MAX >> 8, location);
            return;
        }
}

/* What reading a file needs. */
struct reading {
    struct buffer *b;
    struct file *file;
    const char *path;
    int folder;
    uint32_t location;
    int failed, record;
};

/* The words of a file that are not zero. */
static void record_contents(struct reading *r, uint64_t at, const uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        if (i + 8 <= n) {
            __builtin_memcpy(&word, bytes + i, 8);
            if (word) emit(r->b, CONTENTS, 3, file_address(r->file, at + i), r->location, word, 0);
        } else
            pieces_from(r->b, CONTENTS, file_address(r->file, at + i), (uint64_t)(bytes + i), n - i, r->location);
    }
}

static int read_file(void *p) {
    struct reading *r = p;
    enum { CHUNK = 1 << 16 };
    uint8_t chunk[CHUNK];
    int fd = (int)raw(SYS_openat, r->folder, (long)r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
    struct stat s;
    r->failed = fd < 0 || raw_fstat(fd, &s);
    for (long at = 0, end; !r->failed && at < s.st_size; at = end) {
        long data = raw_seek(fd, at, SEEK_DATA);
        if (data == -ENXIO) break;
        if (data >= 0) at = data & ~7l;
        end = raw_seek(fd, at, SEEK_HOLE);
        if (end <= at) end = s.st_size;
        for (long n = 1; at < end && n > 0; at += n) {
            n = raw_pread(fd, chunk, CHUNK, (uint64_t)at);
            if (n <= 0) break;
            if (r->record) record_contents(r, (uint64_t)at, chunk, (uint64_t)n);
            if (r->file->copy && (uint64_t)at < r->file->copy_bytes)
                __real_memcpy(r->file->copy + at, chunk, (uint64_t)(at + n) < r->file->copy_bytes ? (size_t)n : r->file->copy_bytes - (uint64_t)at);
        }
        if (at < end) break;
    }
    if (fd >= 0) raw_close(fd);
    return 0;
}

static void read_contents(struct buffer *b, struct file *f, int folder, const char *path, uint32_t location, int record) {
    struct reading r = {b, f, path, folder, location, 0, record};
    elsewhere(read_file, &r);
    if (r.failed) unseen(b, "what a file held before could not be read", file_address(f, 0), UINT64_MAX >> 8, location);
}

/* The file of a descriptor or path, with its text and first contents recorded: it is about to change. None where it
 * is not recorded. Called with the lock held. */
static struct file *look_up(struct buffer *b, int folder, const char *path, const struct stat *s, const char *whole, uint32_t location) {
    struct file *f = known_file(s);
    if (f && f->nameless && s->st_nlink > 0) f = NULL;
    if (!f) {
        /* Without a name it is gone after a power failure, and yet shared by who has it open. */
        int ignored = !is_interesting(whole);
        if (!*whole && s->st_nlink > 0 && !out_of_sight && !reading) tell_all(b, pathless(), 0, location);
        if ((s->st_nlink == 0 && !by_host) || !(f = new_file(ignored ? NULL : b, s, location))) return NULL;
        f->ignored = (uint8_t)ignored;
    }
    if (f->ignored) return NULL;
    if (!f->described) {
        f->described = 1;
        told_moved(b, f, whole, location);
        if (f->link) {
            write_link_text(f, whole);
            return f;
        }
        write_file_text(f, whole, (uint64_t)s->st_size);
        if (s->st_size > 0) read_contents(b, f, folder, path, location, 1);
        told_out_of_sight(b, f, location);
        f->ready = 1;
    }
    return f;
}

/* The child of a fork begins a trace of its own. */
static void forget_described(void) {
    for (uint32_t n = 1; n < file_count; n++) {
        files[n].inherited |= files[n].described;
        files[n].described = files[n].ready = 0;
    }
}

/* A file that was described in the trace of the process that this one was forked from: as it is now. */
static void describe_again(struct buffer *b, struct file *f) {
    struct stat s;
    const char *path = f->path ? f->path : "";
    f->described = 1;
    if (f->link) {
        write_link_text(f, path);
        return;
    }
    int there = raw_stat(AT_FDCWD, path, &s, 0) == 0 && s.st_dev == f->device && s.st_ino == f->inode;
    f->ready = 1;
    write_file_text(f, path, there ? (uint64_t)s.st_size : 0);
    if (there && s.st_size > 0) read_contents(b, f, AT_FDCWD, path, 0, 1);
    else if (!there) unseen(b, "what a file held before could not be read", file_address(f, 0), UINT64_MAX >> 8, 0);
    told_out_of_sight(b, f, 0);
}

static int is_file(const struct stat *s, const char *path) {
    return S_ISREG(s->st_mode) || (S_ISCHR(s->st_mode) && begins(path, "/dev/dax"));
}

static struct file *file_of_fd(struct buffer *b, int fd, uint32_t location) {
    struct stat s;
    char whole[4096], link[40];
    if (raw_fstat(fd, &s) || (!S_ISREG(s.st_mode) && !S_ISCHR(s.st_mode))) return NULL;
    /* The common case takes no lock: what is in the table stays there. */
    struct file *f = known_file(&s);
    if (f && f->ready && !f->nameless) return f;
    if (f && f->ignored) return NULL;
    if (!enter_files(b)) return NULL;
    f = known_file(&s);
    if (!f || (!f->described && !f->ignored) || f->nameless) {
        path_of(fd, whole, sizeof whole);
        numbered(link, "/proc/self/fd/", (uint64_t)fd);
        f = is_file(&s, whole) ? look_up(b, AT_FDCWD, link, &s, whole, location) : NULL;
    }
    if (f && f->ignored) f = NULL;
    leave_files(b);
    return f;
}

/* A path without its last links resolved: that of a name. */
static int path_of_name(int folder, const char *path, char *whole, size_t room) {
    char parent[4096];
    size_t n = strnlen(path, sizeof parent);
    if (n == sizeof parent || n == 0) return 0;
    const char *base = path + n;
    while (base > path && base[-1] != '/') base--;
    __real_memcpy(parent, path, (size_t)(base - path));
    parent[base - path] = 0;
    int fd = (int)raw(SYS_openat, folder, (long)(*parent ? parent : "."), O_PATH | O_CLOEXEC | O_DIRECTORY, 0, 0, 0);
    if (fd < 0) return 0;
    path_of(fd, whole, room);
    raw_close(fd);
    size_t at = strlen(whole);
    if (at + strlen(base) + 2 > room || !at) return 0;
    if (whole[at - 1] != '/') whole[at++] = '/';
    __real_memcpy(whole + at, base, strlen(base) + 1);
    return 1;
}

/* The file, or the symbolic link, that a name is of. */
static struct file *file_of_name(struct buffer *b, int folder, const char *path, char *whole, struct stat *s, uint32_t location) {
    if (raw_stat(folder, path, s, AT_SYMLINK_NOFOLLOW) || (!S_ISREG(s->st_mode) && !S_ISLNK(s->st_mode))) return NULL;
    if (!path_of_name(folder, path, whole, 4096)) {
        if (!reading) goes_out_of_sight(b, pathless(), location);
        return NULL;
    }
    if (!enter_files(b)) return NULL;
    struct file *f = look_up(b, folder, path, s, whole, location);
    leave_files(b);
    return f;
}

/* The path of a folder; empty where the name is of none. */
static void path_of_folder(int folder, const char *path, char *whole, size_t room) {
    int fd = (int)raw(SYS_openat, folder, (long)path, O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW, 0, 0, 0);
    *whole = 0;
    if (fd < 0) return;
    path_of(fd, whole, room);
    raw_close(fd);
}

/* The file at the end of links. */
static struct file *file_through_links(struct buffer *b, const char *path, uint32_t location) {
    char whole[4096];
    struct stat s;
    int fd = raw_open(path, O_PATH | O_CLOEXEC, 0);
    if (fd < 0) return NULL;
    path_of(fd, whole, sizeof whole);
    raw_close(fd);
    return file_of_name(b, AT_FDCWD, whole, whole, &s, location);
}

/* The program's standard streams, and the trace. */
static void ignore_open_files(void) {
    struct stat s;
    for (int fd = 0; fd <= 3; fd++) {
        if (raw_fstat(fd < 3 ? fd : trace_fd, &s) || !S_ISREG(s.st_mode) || known_file(&s)) continue;
        struct file *f = new_file(NULL, &s, 0);
        if (f) f->ignored = 1;
    }
}
