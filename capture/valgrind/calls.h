/* System calls: what they change of files and of memory. What each leaves in the recording is in changes.h and naming.h. */

/* A call that is under way. */
struct system_call {
    struct change change;
    struct opening opening;
    struct renaming renaming;
    struct named named;
    struct allocation allocation;
    struct by_ioctl by_ioctl;
    struct mapping mapping;
    struct file_system system;
    struct removal removal;
    struct file *file;
    int64_t source, to;
    uint32_t location, stamp;
    int known, folder;
    /* Of names that the program may change meanwhile. */
    struct iovec one;
};

static struct system_call *call_of(ThreadId tid) {
    if (!of_tid[tid].call) of_tid[tid].call = raw_memory(sizeof(struct system_call));
    return of_tid[tid].call;
}

static int open_flags(UInt number, const UWord *a) {
    switch (number) {
    case __NR_open: return (int)a[1];
    case __NR_openat: return (int)a[2];
    case __NR_creat: return O_CREAT | O_WRONLY | O_TRUNC;
    default: return (int)*(const uint64_t *)a[2];
    }
}

/* mmap by the C library or the loader, for themselves. */
static int is_systems_own(ThreadId tid) {
    Addr frames[2];
    const struct object *o;
    UInt n = VG_(get_StackTrace)(tid, frames, 2, NULL, NULL, 0);
    for (UInt i = 0; i < n; i++)
        if (!(o = object_of(frames[i])) || !o->system) return 0;
    return 1;
}

static void before_write_call(struct system_call *c, int fd) { c->known = before_change(&c->change, fd, c->location); }

static void before_copy(struct system_call *c, int from, const int64_t *from_at, int fd, const int64_t *at) {
    before_write_call(c, fd);
    if (!c->known) return;
    c->source = from_at ? *from_at : raw_seek(from, 0, SEEK_CUR);
    c->to = at ? *at : -1;
}

static void before_sync(struct buffer *b, struct system_call *c, int fd) {
    c->file = described_file(b, fd, &c->folder, c->location);
    c->stamp = next_stamp();
}

static void before_mapping_call(struct buffer *b, struct system_call *c, UInt number, const UWord *a) {
    if (number == __NR_munmap) forget_mappings(b, a[0], a[1], c->location, 1);
    else if (number == __NR_mmap) {
        if (a[3] & MAP_FIXED) forget_mappings(b, a[0], a[1], c->location, 0);
    } else {
        c->known = mapping_to_move(b, a[0], &c->mapping);
        if (a[3] & MREMAP_FIXED) forget_mappings(b, a[4], a[2], c->location, 0);
        c->stamp = next_stamp();
    }
}

static void before_name_call(struct buffer *b, struct system_call *c, UInt number, const UWord *a) {
    switch (number) {
    case __NR_unlink: c->known = find_named(&c->named, b, AT_FDCWD, (const char *)a[0], c->location); break;
    case __NR_unlinkat:
        c->known = find_named(&c->named, b, (int)a[0], (const char *)a[1], c->location);
        if (a[2] & AT_REMOVEDIR) find_folder(&c->named, (int)a[0], (const char *)a[1]);
        break;
    case __NR_rmdir:
        c->named = (struct named){.b = b};
        c->known = 0;
        find_folder(&c->named, AT_FDCWD, (const char *)a[0]);
        break;
    case __NR_rename: before_rename(&c->renaming, AT_FDCWD, (const char *)a[0], AT_FDCWD, (const char *)a[1], c->location); break;
    default: before_rename(&c->renaming, (int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], c->location);
    }
}

static void write_all_out(void) {
    for (UInt tid = 1; tid < VG_N_THREADS; tid++)
        if (of_tid[tid].b) write_out(of_tid[tid].b);
}

/* The call's own place; few calls need it. */
static int is_of_files(UInt number, const UWord *a) {
    switch (number) {
    case __NR_madvise: return a[2] == MADV_REMOVE;
    case __NR_open: case __NR_openat: case __NR_openat2: case __NR_creat:
    case __NR_write: case __NR_pwrite64: case __NR_writev: case __NR_pwritev: case __NR_pwritev2:
    case __NR_sendfile: case __NR_copy_file_range: case __NR_splice:
    case __NR_ftruncate: case __NR_truncate: case __NR_fallocate: case __NR_ioctl:
    case __NR_unlink: case __NR_unlinkat: case __NR_rename: case __NR_renameat: case __NR_renameat2: case __NR_link: case __NR_linkat:
    case __NR_symlink: case __NR_symlinkat: case __NR_mkdir: case __NR_mkdirat: case __NR_rmdir:
    case __NR_fsync: case __NR_fdatasync: case __NR_sync: case __NR_syncfs: case __NR_sync_file_range: case __NR_msync:
    case __NR_mmap: case __NR_munmap: case __NR_mremap:
    case NR_IO_URING_SETUP: case __NR_io_submit: return 1;
    default: return 0;
    }
}

static int is_sync(UInt number) {
    switch (number) {
    case __NR_fsync: case __NR_fdatasync: case __NR_msync: case __NR_sync: case __NR_syncfs: return 1;
    default: return 0;
    }
}

static void before_file_call(ThreadId tid, UInt number, const UWord *a) {
    struct buffer *b = enter(tid);
    struct system_call *c = call_of(tid);
    Addr caller = calling(tid);
    c->location = caller ? location_of(caller, 0) : 0;
    come_after(b, c->location);
    c->known = c->folder = 0;
    c->file = NULL;
    switch (number) {
    case __NR_open: case __NR_creat: before_open(&c->opening, AT_FDCWD, (const char *)a[0], open_flags(number, a), c->location); break;
    case __NR_openat: case __NR_openat2: before_open(&c->opening, (int)a[0], (const char *)a[1], open_flags(number, a), c->location); break;
    case __NR_write: case __NR_pwrite64: case __NR_writev: case __NR_pwritev: case __NR_pwritev2: case __NR_ftruncate:
        before_write_call(c, (int)a[0]);
        break;
    case __NR_sendfile: before_copy(c, (int)a[1], (const int64_t *)a[2], (int)a[0], NULL); break;
    case __NR_copy_file_range: before_copy(c, (int)a[0], (const int64_t *)a[1], (int)a[2], (const int64_t *)a[3]); break;
    case __NR_splice:
        before_write_call(c, (int)a[2]);
        c->to = a[3] ? *(const int64_t *)a[3] : -1;
        break;
    case __NR_truncate: c->file = file_through_links(b, (const char *)a[0], c->location); break;
    case __NR_fallocate: before_allocate(&c->allocation, (int)a[0], (int)a[1], a[2], a[3], c->location); break;
    case __NR_ioctl: before_ioctl(&c->by_ioctl, (int)a[0], a[1], a[2], c->location); break;
    case __NR_unlink: case __NR_unlinkat: case __NR_rmdir: case __NR_rename: case __NR_renameat: case __NR_renameat2: before_name_call(b, c, number, a); break;
    case __NR_fsync: case __NR_fdatasync: before_sync(b, c, (int)a[0]); break;
    case __NR_msync:
        if (is_of_pmem(caller)) msync_in_library();
        c->stamp = next_stamp();
        break;
    case __NR_sync: c->stamp = next_stamp(); break;
    case __NR_madvise: before_removal(&c->removal, a[0], a[1]); break;
    case __NR_syncfs:
        c->system = (struct file_system){0};
        before_syncfs(b, &c->system, (int)a[0]);
        break;
    case __NR_mmap: case __NR_munmap: case __NR_mremap: before_mapping_call(b, c, number, a); break;
    default: break;
    }
}

/* Code in a shared mapping of a file is written through another one, as compilers do that work while a program runs: Valgrind would go on with what was there first, as it does of files. */
static void before_mapping_of_code(const UWord *a) {
    int type = (int)a[3] & MAP_TYPE;
    if (a[2] & PROT_EXEC && !(a[3] & MAP_ANONYMOUS) && (type == MAP_SHARED || type == MAP_SHARED_VALIDATE)) VG_(clo_smc_check) = COMPARE_ALL;
}

static void before_call(ThreadId tid, UInt number, UWord *a, UInt count) {
    (void)count;
    if (number == __NR_mmap) before_mapping_of_code(a);
    if (forked) call_of_forked(number, a);
    if (!recording) return;
    if (number == __NR_clone && a[0] & VKI_CLONE_THREAD) {
        clone_name = a[0] & VKI_CLONE_SETTLS ? a[4] : 0;
        clone_cleared = a[0] & VKI_CLONE_CHILD_CLEARTID ? a[3] : 0;
    }
    if (number == __NR_execve) {
        tell_places();
        write_all_out();
        leave_trace_open(1);
    }
    if (is_of_files(number, a)) before_file_call(tid, number, a);
}

static void after_mmap(ThreadId tid, struct buffer *b, struct system_call *c, const UWord *a, Addr at) {
    int flags = (int)a[3], type = flags & MAP_TYPE, fd = (int)a[4];
    if (fd < 0 || flags & MAP_ANONYMOUS || (type != MAP_SHARED && type != MAP_SHARED_VALIDATE)) return;
    if ((raw_fcntl(fd, F_GETFL, 0) & O_ACCMODE) == O_RDONLY && is_systems_own(tid)) return;
    struct file *f = file_of_fd(b, fd, c->location);
    if (!f || !enter_files(b)) return;
    mapped_file(b, f, at, a[1], a[5], c->location);
    leave_files(b);
}

static void after_write_call(struct system_call *c, UInt number, const UWord *a, ssize_t n) {
    const struct iovec *v = (const struct iovec *)a[1];
    if (!c->known) return;
    switch (number) {
    case __NR_write: case __NR_pwrite64:
        c->one = (struct iovec){(void *)a[1], a[2]};
        after_change(&c->change, &c->one, n, number == __NR_write ? -1 : (int64_t)a[3], c->location, 0);
        break;
    case __NR_writev: after_change(&c->change, v, n, -1, c->location, 0); break;
    default: after_change(&c->change, v, n, (int64_t)a[3], c->location, number == __NR_pwritev2 ? (int)a[5] : 0);
    }
}

static void after_name_call(struct buffer *b, struct system_call *c, UInt number, const UWord *a) {
    switch (number) {
    case __NR_unlink: case __NR_unlinkat: case __NR_rmdir:
        if (c->known) unlinked(&c->named, c->location);
        else if (number == __NR_rmdir || (number == __NR_unlinkat && a[2] & AT_REMOVEDIR)) folder_gone(&c->named, c->location);
        break;
    case __NR_rename: after_rename(&c->renaming, AT_FDCWD, (const char *)a[1], 0, c->location); break;
    case __NR_renameat: case __NR_renameat2:
        after_rename(&c->renaming, (int)a[2], (const char *)a[3], number == __NR_renameat2 ? (unsigned)a[4] : 0, c->location);
        break;
    default: {
        int folder = number == __NR_link ? AT_FDCWD : (int)a[2];
        const char *path = (const char *)(number == __NR_link ? a[1] : a[3]);
        after_link(&c->named, b, folder, path, c->location);
    }
    }
}

static void after_copy_call(struct system_call *c, UInt number, const UWord *a, ssize_t n) {
    if (!c->known || n <= 0) return;
    int64_t to = c->to < 0 ? (int64_t)written_at(&c->change, -1, (uint64_t)n) : c->to;
    after_copy(&c->change, (int)(number == __NR_sendfile ? a[1] : a[0]), (uint64_t)c->source, (uint64_t)to, n, c->location);
}

static void after_sync_call(struct buffer *b, struct system_call *c, UInt number, const UWord *a) {
    switch (number) {
    case __NR_fsync: synced(b, CALL_FSYNC, (int)a[0], c->file, c->folder, c->location, c->stamp); break;
    case __NR_fdatasync: synced(b, CALL_FDATASYNC, (int)a[0], c->file, c->folder, c->location, c->stamp); break;
    case __NR_msync: synced_range(b, a[0], a[1], a[2] & MS_SYNC ? CALL_MSYNC : CALL_MSYNC_ASYNC, c->location, c->stamp); break;
    case __NR_sync_file_range:
        c->file = described_file(b, (int)a[0], &c->folder, c->location);
        if (c->file) record_call(b, CALL_SYNC_FILE_RANGE, file_address(c->file, a[1]), a[2] ? a[2] : WHOLE, c->location, next_stamp());
        break;
    case __NR_syncfs: after_syncfs(b, &c->system, c->location); break;
    default: record_call(b, CALL_SYNC, 0, 0, c->location, c->stamp);
    }
}

/* By its own memory as a file a program changes mapped files, and no call tells which. */
static void opens_memory(struct buffer *b, int fd, int flags, uint32_t location) {
    char path[4096], own[40];
    int n = numbered(own, "/proc/", (uint64_t)VG_(getpid)());
    own[n] = '/';
    own[n + 1] = 0;
    if ((flags & O_ACCMODE) == O_RDONLY) return;
    path_of(fd, path, sizeof path);
    size_t end = strlen(path);
    if (begins(path, own) && end > 4 && !strcmp(path + end - 4, "/mem"))
        goes_out_of_sight(b, "its own memory, opened as a file (/proc/self/mem): what it writes to mapped files", location);
}

static void after_file_call(ThreadId tid, UInt number, const UWord *a, long result) {
    struct buffer *b = enter(tid);
    struct system_call *c = call_of(tid);
    switch (number) {
    case __NR_open: case __NR_openat: case __NR_openat2: case __NR_creat:
        after_open(&c->opening, (int)result, open_flags(number, a), c->location);
        opens_memory(b, (int)result, open_flags(number, a), c->location);
        break;
    case __NR_write: case __NR_pwrite64: case __NR_writev: case __NR_pwritev: case __NR_pwritev2: after_write_call(c, number, a, result); break;
    case __NR_sendfile: case __NR_copy_file_range: after_copy_call(c, number, a, result); break;
    case __NR_splice:
        if (c->known) spliced(&c->change, c->to, result, c->location);
        break;
    case __NR_ftruncate:
        if (c->known) resized(b, c->change.file, a[1], c->location);
        break;
    case __NR_truncate:
        if (c->file) resized(b, c->file, a[1], c->location);
        break;
    case __NR_unlink: case __NR_unlinkat: case __NR_rmdir: case __NR_rename: case __NR_renameat: case __NR_renameat2: case __NR_link: case __NR_linkat:
        after_name_call(b, c, number, a);
        break;
    case __NR_mkdir: folder_made(b, AT_FDCWD, (const char *)a[0], c->location); break;
    case __NR_mkdirat: folder_made(b, (int)a[0], (const char *)a[1], c->location); break;
    case __NR_symlink: made_link(b, AT_FDCWD, (const char *)a[1], c->location); break;
    case __NR_symlinkat: made_link(b, (int)a[1], (const char *)a[2], c->location); break;
    case __NR_fsync: case __NR_fdatasync: case __NR_sync: case __NR_syncfs: case __NR_sync_file_range: case __NR_msync:
        after_sync_call(b, c, number, a);
        break;
    case __NR_mmap: after_mmap(tid, b, c, a, (Addr)result); break;
    case __NR_mremap:
        if (c->known) mapping_moved(b, &c->mapping, a[0], a[1], (Addr)result, a[2], c->location, c->stamp);
        break;
    case NR_IO_URING_SETUP: goes_out_of_sight(b, IO_URING, c->location); break;
    case __NR_io_submit: goes_out_of_sight(b, IO_SUBMIT, c->location); break;
    default: break;
    }
}

/* What the kernel has put into memory. */
static void kernel_wrote(CorePart part, ThreadId tid, Addr address, SizeT bytes) {
    if (part != Vg_CoreSysCall || !recording || !of_tid[tid].b || !bytes) return;
    struct buffer *b = enter(tid);
    if (!is_kept(address)) return;
    uint32_t location = caller_of(tid);
    take_turn(b, address, location);
    pieces(b, STORE, address, bytes, location);
}

/* The program writes to its own memory as to that of another process: what other calls put there Valgrind tells, this it does not. */
static void wrote_own_memory(ThreadId tid, const UWord *a, SizeT left) {
    const struct iovec *v = (const struct iovec *)a[3];
    if ((Int)a[0] != VG_(getpid)()) return;
    for (UWord i = 0; i < a[4] && left; i++) {
        SizeT part = v[i].iov_len < left ? v[i].iov_len : left;
        kernel_wrote(Vg_CoreSysCall, tid, (Addr)v[i].iov_base, part);
        left -= part;
    }
}

static void after_attributes_call(UInt number, const UWord *a) {
    switch (number) {
    case __NR_fchmod: case __NR_fchown: attributes_changed((int)a[0], 0); break;
    case __NR_chmod: case __NR_chown: case __NR_lchown: attributes_changed_of(AT_FDCWD, (const char *)a[0], 0); break;
    case __NR_fchmodat: case __NR_fchownat: attributes_changed_of((int)a[0], (const char *)a[1], 0); break;
    case __NR_fsetxattr: case __NR_fremovexattr: attributes_changed((int)a[0], 1); break;
    case __NR_setxattr: case __NR_lsetxattr: case __NR_removexattr: case __NR_lremovexattr:
        attributes_changed_of(AT_FDCWD, (const char *)a[0], 1);
        break;
    default: break;
    }
}

static void after_call(ThreadId tid, UInt number, UWord *a, UInt count, SysRes result) {
    (void)count;
    if (!recording || !of_tid[tid].b) return;
    if (number == __NR_execve) leave_trace_open(0);
    if (number == __NR_futex) joined(enter(tid), 0, a[0], 0);
    if (number == __NR_process_vm_writev && !sr_isError(result)) wrote_own_memory(tid, a, sr_Res(result));
    if (!sr_isError(result)) after_attributes_call(number, a);
    if (!is_of_files(number, a)) return;
    /* What is made durable is what was there when the call began; everything else happens now. */
    if (!is_sync(number)) come_after(enter(tid), call_of(tid)->location);
    if (number == __NR_ioctl) after_ioctl(&call_of(tid)->by_ioctl, sr_isError(result), call_of(tid)->location);
    else if (number == __NR_fallocate) after_allocate(&call_of(tid)->allocation, sr_isError(result), call_of(tid)->location);
    else if (number == __NR_madvise) after_removal(enter(tid), &call_of(tid)->removal, sr_isError(result), call_of(tid)->location);
    else if (!sr_isError(result) || (number == __NR_msync && has_synced((int)sr_Err(result)))) after_file_call(tid, number, a, (long)sr_Res(result));
    come_after(enter(tid), call_of(tid)->location);
}
