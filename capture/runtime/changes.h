/* What changes of files, and what makes them durable, leave in the recording: before and after the system call, whoever
 * makes it. */

static void record_call(struct buffer *b, enum call call, uint64_t address, uint64_t bytes, uint32_t location, uint32_t stamp) {
    emit(b, CALL, 0, address, location, bytes << 8 | call, stamp);
}

/* A descriptor that is about to be written to. */
struct change {
    struct buffer *b;
    struct file *file;
    int fd, flags;
};

static int before_change(struct change *c, int fd, uint32_t location) {
    c->b = begin();
    if (!c->b) return 0;
    c->file = file_of_fd(c->b, fd, location);
    c->fd = fd;
    c->flags = c->file ? raw_fcntl(fd, F_GETFL, 0) : 0;
    return c->file != NULL;
}

/* The copy of a mapped file is told too. */
static void written(struct buffer *b, struct file *f, uint64_t offset, const void *from, uint64_t n, uint32_t location) {
    pieces_from(b, WRITTEN, file_address(f, offset), (uint64_t)from, n, location);
    if (f->copy && offset + n <= f->copy_bytes) __real_memcpy(f->copy + offset, from, n);
}

/* Where the kernel's last write of n bytes began: behind it stands the file's offset. */
static uint64_t written_at(const struct change *c, int64_t wanted, uint64_t n) {
    struct stat s;
    if (wanted >= 0 && !(c->flags & O_APPEND)) return (uint64_t)wanted;
    if (wanted >= 0) return raw_fstat(c->fd, &s) || (uint64_t)s.st_size < n ? 0 : (uint64_t)s.st_size - n;
    long at = raw_seek(c->fd, 0, SEEK_CUR);
    return at < (long)n ? 0 : (uint64_t)at - n;
}

/* Linux makes what was written durable, and nothing else of the file: a range, as msync does. */
static void synced_write(const struct change *c, uint64_t offset, uint64_t n, uint32_t location, int flags) {
    if (c->flags & O_DSYNC || flags & (RWF_SYNC | RWF_DSYNC))
        record_call(c->b, CALL_MSYNC, file_address(c->file, offset), n, location, next_stamp());
}

/* The kernel wrote n bytes: from pieces of memory, to `wanted` or to the file's offset. */
static void after_change(const struct change *c, const struct iovec *v, ssize_t n, int64_t wanted, uint32_t location, int flags) {
    if (n <= 0) return;
    uint64_t left = (uint64_t)n, start = written_at(c, wanted, left), at = start;
    if (flags & RWF_APPEND) at = start = written_at(&(struct change){c->b, c->file, c->fd, O_APPEND}, 0, left);
    record_call(c->b, CALL_WRITE, file_address(c->file, at), left, location, next_stamp());
    has_bytes(c->file, at + left);
    for (; left; v++) {
        uint64_t part = v->iov_len < left ? v->iov_len : left;
        written(c->b, c->file, at, v->iov_base, part, location);
        at += part;
        left -= part;
    }
    synced_write(c, start, (uint64_t)n, location, flags);
}

/* What the kernel copied from another file: read there. */
static void after_copy(const struct change *c, int from, uint64_t from_at, uint64_t to_at, ssize_t n, uint32_t location) {
    uint8_t chunk[1 << 14];
    if (n <= 0) return;
    record_call(c->b, CALL_WRITE, file_address(c->file, to_at), (uint64_t)n, location, next_stamp());
    has_bytes(c->file, to_at + (uint64_t)n);
    for (uint64_t done_bytes = 0; done_bytes < (uint64_t)n;) {
        uint64_t left = (uint64_t)n - done_bytes;
        long got = raw_pread(from, chunk, left < sizeof chunk ? left : sizeof chunk, from_at + done_bytes);
        if (got <= 0) {
            unseen(c->b, "what the kernel copied into a file could not be read", file_address(c->file, to_at + done_bytes), left, location);
            break;
        }
        written(c->b, c->file, to_at + done_bytes, chunk, (uint64_t)got, location);
        done_bytes += (uint64_t)got;
    }
    synced_write(c, to_at, (uint64_t)n, location, 0);
}
/* What splice brings into a file went through a pipe, where nobody looks. */
static void spliced(const struct change *c, int64_t wanted, ssize_t n, uint32_t location) {
    if (n <= 0) return;
    uint64_t at = written_at(c, wanted, (uint64_t)n);
    has_bytes(c->file, at + (uint64_t)n);
    unseen(c->b, "splice wrote to a file", file_address(c->file, at), (uint64_t)n, location);
}

/* The bytes behind a new end are gone. */
static void cut_copy(struct file *f, uint64_t bytes) {
    uint64_t page = (bytes + 4095) & ~4095ull;
    if (!f->copy || bytes >= f->copy_bytes) return;
    __real_memset(f->copy + bytes, 0, (page < f->copy_bytes ? page : f->copy_bytes) - bytes);
    if (page < f->copy_bytes) raw(SYS_madvise, (long)(f->copy + page), (long)(f->copy_bytes - page), MADV_DONTNEED, 0, 0, 0);
}
static void resized(struct buffer *b, struct file *f, uint64_t bytes, uint32_t location) {
    cut_copy(f, bytes);
    has_bytes(f, bytes);
    record_call(b, CALL_RESIZE, file_address(f, 0), bytes, location, next_stamp());
}

/* Zeros over a range, as far as it has other words. */
static void zeroed(const struct change *c, uint64_t at, uint64_t bytes, const uint8_t *before, uint32_t location) {
    static const uint64_t zero;
    for (uint64_t i = 0; before && i < bytes; i++) {
        uint64_t n = (at + i) % 8 == 0 && bytes - i >= 8 ? 8 : 1, any = 0;
        for (uint64_t k = 0; k < n; k++) any |= before[i + k];
        if (any) written(c->b, c->file, at + i, &zero, n, location);
        i += n - 1;
    }
}

/* An allocation: what a range held that it may zero. */
struct allocation {
    struct change c;
    uint8_t *before;
    uint64_t at, bytes, held;
    int known, mode;
};

static void before_allocate(struct allocation *a, int fd, int mode, uint64_t at, uint64_t bytes, uint32_t location) {
    struct stat s;
    *a = (struct allocation){.at = at, .bytes = bytes, .mode = mode};
    a->known = before_change(&a->c, fd, location);
    if (!a->known || !(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) || raw_fstat(fd, &s)) return;
    uint64_t end = (uint64_t)s.st_size < at + bytes ? (uint64_t)s.st_size : at + bytes;
    a->held = at < end ? end - at : 0;
    a->before = a->held ? raw_memory(a->held) : NULL;
    if (a->before) raw_pread(fd, a->before, a->held, at);
}

static void allocated(const struct allocation *a, uint32_t location) {
    const struct change *c = &a->c;
    struct stat s;
    if (a->mode == 0) {
        has_bytes(c->file, a->at + a->bytes);
        record_call(c->b, CALL_ALLOCATE, file_address(c->file, a->at), a->bytes, location, next_stamp());
    } else if (a->mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
        uint64_t bytes = a->before ? a->held : a->bytes;
        record_call(c->b, CALL_WRITE, file_address(c->file, a->at), bytes, location, next_stamp());
        zeroed(c, a->at, bytes, a->before, location);
        if (!(a->mode & FALLOC_FL_KEEP_SIZE) && !raw_fstat(c->fd, &s)) resized(c->b, c->file, (uint64_t)s.st_size, location);
    } else if (a->mode != FALLOC_FL_KEEP_SIZE)
        unseen(c->b, "fallocate moved the bytes of a file", file_address(c->file, a->at), a->bytes, location);
}

static void after_allocate(const struct allocation *a, int failed, uint32_t location) {
    if (a->known && !failed) allocated(a, location);
    if (a->before) raw_release(a->before, a->held);
}

/* All that was done before the call began is durable when it returns: its place in the order is its beginning. */
#define WHOLE (UINT64_MAX >> 8)

/* The file of a descriptor, where its text is recorded; where each process has a trace, any: it makes durable what another has done. */
static struct file *described_file(struct buffer *b, int fd, int *folder, uint32_t location) {
    struct stat s;
    *folder = 0;
    if (raw_fstat(fd, &s)) return NULL;
    *folder = S_ISDIR(s.st_mode);
    struct file *f = known_file(&s);
    if (each_process && !*folder && (!f || !f->described)) return file_of_fd(b, fd, location);
    return f && f->described && !f->ignored ? f : NULL;
}

/* The device of the folder of a path; 0 where that is not known. */
static uint64_t device_beside(const char *path) {
    char folder[4096];
    struct stat s;
    size_t n = path ? strlen(path) : 0;
    while (n && path[n - 1] != '/') n--;
    if (!n || n >= sizeof folder) return 0;
    __real_memcpy(folder, path, n);
    folder[n] = 0;
    return raw_stat(AT_FDCWD, folder, &s, 0) ? 0 : s.st_dev;
}

/* Of the file systems in which the program made folders, the first: a sync of a folder there is of their names. */
static uint64_t made_on[8];
static unsigned made_count;

static int has_made_on(uint64_t device) {
    for (unsigned i = 0; i < made_count && i < 8; i++)
        if (made_on[i] == device) return 1;
    return made_count > 8;
}

/* Whether a folder is of a file system that has certainly none of the recorded files. Where layers are one, files may have another device
 * than folders; another process may have files that are not known here. */
static int is_elsewhere(uint64_t device) {
    if (each_process || file_count == 1 || has_made_on(device)) return 0;
    for (uint32_t n = 1; n < file_count; n++)
        if (files[n].device == device) return 0;
    for (uint32_t n = 1; n < file_count; n++) {
        uint64_t beside = files[n].ignored ? device + 1 : device_beside(files[n].path);
        if (!beside || beside == device) return 0;
    }
    return 1;
}

static uint32_t number_of_name(struct buffer *b, const char *path) {
    if (!enter_files(b)) return 0;
    uint32_t number = name_number(path);
    leave_files(b);
    return number;
}

/* The name of an open folder, which ends in "/." and is no file's; 0 where the kernel does not tell it. */
static int name_of_folder(int fd, char *name, size_t room) {
    path_of(fd, name, room - 2);
    size_t n = strlen(name);
    if (*name != '/' || n >= room - 3) return 0;
    if (n > 1) name[n++] = '/';
    name[n] = '.';
    name[n + 1] = 0;
    return 1;
}

/* fsync or fdatasync of a file, or of a folder, which is told: names in another one are durable by the way alone. */
static void synced(struct buffer *b, enum call call, int fd, const struct file *f, int folder, uint32_t location, uint32_t stamp) {
    struct stat s;
    char name[4096];
    if (f) record_call(b, call, file_address(f, 0), WHOLE, location, stamp);
    if (!folder || raw_fstat(fd, &s) || is_elsewhere(s.st_dev)) return;
    if (name_of_folder(fd, name, sizeof name)) emit(b, OPERAND, 0, 0, location, number_of_name(b, name), 0);
    record_call(b, CALL_SYNC_FOLDER, 0, 0, location, stamp);
}

/* The file system of a syncfs, the recorded files of it when the call begins, and the first of as many places in the order. */
struct file_system {
    uint64_t device;
    struct statfs about;
    int has_about;
    uint32_t known, files, stamp;
};

/* Where layers of several file systems are one, files may have another device than folders. */
static int is_in_system(const struct file_system *s, const struct file *f) {
    struct statfs own;
    if (!f->described || f->ignored || (f->link && f->nameless)) return 0;
    if (f->device == s->device) return 1;
    if (!s->has_about || !f->path || !*f->path || raw(SYS_statfs, (long)f->path, (long)&own, 0, 0, 0, 0)) return 0;
    const int *a = (const int *)&own.f_fsid, *b = (const int *)&s->about.f_fsid;
    return (a[0] || a[1]) && a[0] == b[0] && a[1] == b[1] && own.f_type == s->about.f_type;
}

/* The child of a fork records what its parent did, too, when it makes that durable. */
static void describe_inherited(struct buffer *b, uint64_t device) {
    if (!enter_files(b)) return;
    for (uint32_t n = 1; n < file_count; n++)
        if (files[n].inherited && !files[n].described && !files[n].ignored && files[n].device == device) describe_again(b, &files[n]);
    leave_files(b);
}

static void before_syncfs(struct buffer *b, struct file_system *s, int fd) {
    struct stat about;
    if (raw_fstat(fd, &about)) return;
    s->device = about.st_dev;
    s->has_about = raw(SYS_fstatfs, fd, (long)&s->about, 0, 0, 0, 0) == 0;
    describe_inherited(b, s->device);
    s->known = file_count;
    for (uint32_t n = 1; n < s->known; n++) s->files += (uint32_t)is_in_system(s, &files[n]);
    s->stamp = atomic_fetch_add_explicit(&stamps, s->files + 1, memory_order_relaxed) + 1;
}

/* Names in it are durable, and each of its files as by a sync of its own; files of other systems are not. */
static void after_syncfs(struct buffer *b, const struct file_system *s, uint32_t location) {
    uint32_t told = 0;
    if (s->files) record_call(b, CALL_SYNC_FOLDER, 0, 0, location, s->stamp);
    for (uint32_t n = 1; n < s->known && told < s->files; n++)
        if (is_in_system(s, &files[n])) record_call(b, CALL_FSYNC, file_address(&files[n], 0), WHOLE, location, s->stamp + ++told);
}

/* Said once: what the program forgot to flush or to drain is made durable with the page that it is in. */
static void msync_in_library(void) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (getenv("PMEM_IS_PMEM_FORCE") || getenv("PMEM2_FORCE_GRANULARITY") || atomic_flag_test_and_set(&said)) return;
    write_text("note", "libpmem makes stores durable by msync, as it does for files that are not in persistent memory, and msync takes whole pages: "
               "a flush or drain that is missing does not show. PMEM_IS_PMEM_FORCE=1 (libpmem2: PMEM2_FORCE_GRANULARITY=cache_line) has it flush lines");
}

/* One call for each piece of a file in the range. */
static void synced_range(struct buffer *b, uint64_t address, uint64_t bytes, enum call call, uint32_t location, uint32_t stamp) {
    for (uint32_t i = 0; i < mapping_count; i++) {
        const struct mapping *m = &mappings[i];
        uint64_t end = address + ((bytes + 4095) & ~4095ull), from = m->from < address ? address : m->from;
        if (m->from + m->bytes < end) end = m->from + m->bytes;
        if (from >= end || m->file->ignored) continue;
        record_call(b, call, file_address(m->file, m->offset + (from - m->from)), end - from, location, stamp ? stamp : next_stamp());
        stamp = 0;
    }
}

/* msync says ENOMEM where a part of the range is not mapped, and has synced the rest. */
static int has_synced(int error) { return !error || error == ENOMEM; }

/* Pages that madvise takes away from the files that are mapped there (MADV_REMOVE), as fallocate does by a hole: what they held. */
struct removal {
    uint8_t *before;
    uint64_t at, bytes, held;
};

static void before_removal(struct removal *r, uint64_t address, uint64_t bytes) {
    *r = (struct removal){.at = address, .bytes = (bytes + 4095) & ~4095ull};
    r->before = raw_memory(r->bytes);
    struct iovec to = {r->before, r->bytes}, from = {(void *)address, r->bytes};
    long n = r->before ? raw(SYS_process_vm_readv, raw(SYS_getpid, 0, 0, 0, 0, 0, 0), (long)&to, 1, (long)&from, 1, 0) : 0;
    r->held = n > 0 ? (uint64_t)n : 0;
}

static void removed(struct buffer *b, const struct removal *r, uint32_t location) {
    for (uint32_t i = 0; i < mapping_count; i++) {
        const struct mapping *m = &mappings[i];
        uint64_t from = m->from < r->at ? r->at : m->from, end = r->at + r->bytes;
        if (m->from + m->bytes < end) end = m->from + m->bytes;
        if (from >= end || m->file->ignored) continue;
        const struct change c = {.b = b, .file = m->file};
        uint64_t at = m->offset + (from - m->from);
        if (end - r->at > r->held) {
            unseen(b, "madvise took pages from a file (MADV_REMOVE)", file_address(m->file, at), end - from, location);
            continue;
        }
        /* Where there were zeros, behind the file's end too, there is nothing new. */
        const uint8_t *before = r->before + (from - r->at);
        uint64_t bytes = end - from;
        while (bytes && !before[bytes - 1]) bytes--;
        if (!bytes) continue;
        record_call(b, CALL_WRITE, file_address(m->file, at), bytes, location, next_stamp());
        zeroed(&c, at, bytes, before, location);
    }
}

static void after_removal(struct buffer *b, const struct removal *r, int failed, uint32_t location) {
    if (!failed && enter_files(b)) {
        removed(b, r, location);
        leave_files(b);
    }
    if (r->before) raw_release(r->before, r->bytes);
}

/* As files of images are: of who makes them, and with the usual rights. */
static int is_usual(const struct stat *s) {
    return (s->st_mode & 07755) == 0644 && s->st_uid == (uid_t)raw(SYS_geteuid, 0, 0, 0, 0, 0, 0) &&
           s->st_gid == (gid_t)raw(SYS_getegid, 0, 0, 0, 0, 0, 0);
}

/* What a file has beside its bytes and its names, which no image has and a check may look at: said once. */
static void attributes_changed(int fd, int extended) {
    static atomic_flag said = ATOMIC_FLAG_INIT;
    struct stat s;
    char whole[4096];
    if (fd < 0 || raw_fstat(fd, &s) || !S_ISREG(s.st_mode) || (!extended && is_usual(&s))) return;
    path_of(fd, whole, sizeof whole);
    if (is_interesting(whole) && !atomic_flag_test_and_set(&said))
        write_text("note", "it sets modes, owners or extended attributes of files (chmod, chown, setxattr): they are not recorded, and no image has them");
}

static void attributes_changed_of(int folder, const char *path, int extended) {
    int fd = (int)raw(SYS_openat, folder, (long)path, O_PATH | O_CLOEXEC, 0, 0, 0);
    attributes_changed(fd, extended);
    if (fd >= 0) raw_close(fd);
}

/* A folder was made, or removed: its path as the kernel has it. Which ones are made is said of each once. */
static void folder_changed(struct buffer *b, enum call call, const char *whole, uint32_t location) {
    char path[4098];
    size_t n = strlen(whole);
    if (!b || !is_interesting(whole) || !enter_files(b)) return;
    __real_memcpy(path, whole, n);
    __real_memcpy(path + n, "/.", 3);
    struct stat s;
    struct name *name = name_of(path);
    if (name && call == CALL_MAKE_FOLDER && !name->made++) {
        write_text("made-folder", whole);
        if (!raw_stat(AT_FDCWD, whole, &s, 0) && !has_made_on(s.st_dev) && made_count++ < 8) made_on[made_count - 1] = s.st_dev;
    }
    leave_files(b);
    if (name) record_call(b, call, 0, name->number, location, next_stamp());
}

static void folder_made(struct buffer *b, int folder, const char *path, uint32_t location) {
    char whole[4096];
    if (!b) return;
    path_of_folder(folder, path, whole, sizeof whole);
    folder_changed(b, CALL_MAKE_FOLDER, whole, location);
}

static void mapped_file(struct buffer *b, struct file *f, uint64_t address, uint64_t bytes, uint64_t offset, uint32_t location) {
    add_mapping(b, f, address, (bytes + 4095) & ~4095ull, offset, location);
    emit(b, OPERAND, 0, address, location, file_address(f, offset), 0);
    emit(b, MAP, 0, address, location, bytes, next_stamp());
}

/* What a range held of files ends here. */
static void forget_mappings(struct buffer *b, uint64_t address, uint64_t bytes, uint32_t location, int always) {
    if (!enter_files(b)) return;
    if (remove_mappings(b, address, (bytes + 4095) & ~4095ull, location) || always) emit(b, UNMAP, 0, address, location, bytes, next_stamp());
    leave_files(b);
}

/* The mapping of an address as it is before mremap. */
static int mapping_to_move(struct buffer *b, uint64_t address, struct mapping *old) {
    struct mapping *m = find_mapping(b, address);
    if (m) *old = (struct mapping){m->from, m->offset, m->file, m->bytes};
    return m != NULL;
}

static void mapping_moved(struct buffer *b, const struct mapping *old, uint64_t address, uint64_t old_bytes, uint64_t to, uint64_t bytes,
                          uint32_t location, uint32_t stamp) {
    if (!enter_files(b)) return;
    if (old_bytes) {
        emit(b, UNMAP, 0, address, location, old_bytes, stamp);
        remove_mappings(b, address, (old_bytes + 4095) & ~4095ull, location);
    }
    mapped_file(b, old->file, to, bytes, old->offset + (address - old->from), location);
    leave_files(b);
}
