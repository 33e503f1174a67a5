/* System calls that a program makes by syscall: those that change files or make them durable go the way of the functions
 * that are named after them. */

#define PASSES_1(name, A) case SYS_##name: return name((A)a);
#define PASSES_2(name, A, B) case SYS_##name: return name((A)a, (B)b);
#define PASSES_3(name, A, B, C) case SYS_##name: return name((A)a, (B)b, (C)c);
#define PASSES_4(name, A, B, C, D) case SYS_##name: return name((A)a, (B)b, (C)c, (D)d);
#define PASSES_6(name, A, B, C, D, E, F) case SYS_##name: return name((A)a, (B)b, (C)c, (D)d, (E)e, (F)f);

LIBRARY(syscall)
INSTEAD long syscall(long number, ...) {
    va_list values;
    va_start(values, number);
    long a = va_arg(values, long), b = va_arg(values, long), c = va_arg(values, long);
    long d = va_arg(values, long), e = va_arg(values, long), f = va_arg(values, long);
    va_end(values);
    switch (number) {
        PASSES_3(read, int, void *, size_t)
        PASSES_3(write, int, const void *, size_t)
        PASSES_3(readv, int, const struct iovec *, int)
        PASSES_3(writev, int, const struct iovec *, int)
        PASSES_1(fsync, int)
        PASSES_1(fdatasync, int)
        PASSES_1(syncfs, int)
        PASSES_3(msync, void *, size_t, int)
        PASSES_4(sync_file_range, int, off64_t, off64_t, unsigned)
        PASSES_2(ftruncate, int, off_t)
        PASSES_2(truncate, const char *, off_t)
        PASSES_4(fallocate, int, int, off_t, off_t)
        PASSES_2(munmap, void *, size_t)
        PASSES_3(madvise, void *, size_t, int)
        PASSES_3(ioctl, int, unsigned long, long)
        PASSES_3(open, const char *, int, int)
        PASSES_4(openat, int, const char *, int, int)
        PASSES_1(close, int)
        PASSES_2(dup2, int, int)
        PASSES_2(rename, const char *, const char *)
        PASSES_4(renameat, int, const char *, int, const char *)
        PASSES_2(link, const char *, const char *)
        PASSES_2(symlink, const char *, const char *)
        PASSES_3(symlinkat, const char *, int, const char *)
        PASSES_2(mkdir, const char *, mode_t)
        PASSES_3(mkdirat, int, const char *, mode_t)
        PASSES_1(rmdir, const char *)
        PASSES_1(unlink, const char *)
        PASSES_3(unlinkat, int, const char *, int)
        PASSES_4(sendfile, int, int, off_t *, size_t)
        PASSES_6(copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned)
        PASSES_6(splice, int, off64_t *, int, off64_t *, size_t, unsigned)
    case SYS_pread64: return pread((int)a, (void *)b, (size_t)c, d);
    case SYS_pwrite64: return pwrite((int)a, (const void *)b, (size_t)c, d);
    case SYS_pwritev: return pwritev((int)a, (const struct iovec *)b, (int)c, d);
    case SYS_pwritev2: return pwritev2((int)a, (const struct iovec *)b, (int)c, d, (int)f);
    case SYS_mmap: return (long)mmap((void *)a, (size_t)b, (int)c, (int)d, (int)e, f);
    case SYS_mremap: return (long)mremap((void *)a, (size_t)b, (size_t)c, (int)d, (void *)e);
    case SYS_renameat2: return renameat2((int)a, (const char *)b, (int)c, (const char *)d, (unsigned)e);
    case SYS_linkat: return linkat((int)a, (const char *)b, (int)c, (const char *)d, (int)e);
    case SYS_sync: sync(); return 0;
    default: break;
    }
    long result = REAL(syscall)(number, a, b, c, d, e, f);
    if (number == SYS_io_uring_setup || number == SYS_io_uring_enter) asynchronous(result, IO_URING, PC);
    if (number == SYS_io_submit) asynchronous(result, IO_SUBMIT, PC);
    return result;
}

/* Those that assembly makes are seen, and not what they do: to any file that is known. */
static void called_by_hand(struct buffer *b, long number, uint32_t location) {
    static const int CHANGING[] = {
        SYS_write, SYS_pwrite64, SYS_writev, SYS_pwritev, SYS_pwritev2, SYS_fsync, SYS_fdatasync, SYS_sync, SYS_syncfs,
        SYS_msync, SYS_sync_file_range, SYS_ftruncate, SYS_truncate, SYS_fallocate, SYS_mmap, SYS_munmap, SYS_mremap,
        SYS_rename, SYS_renameat, SYS_renameat2, SYS_symlink, SYS_symlinkat, SYS_unlink, SYS_unlinkat, SYS_sendfile, SYS_copy_file_range, SYS_splice,
        SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_submit,
    };
    int changes = 0;
    for (unsigned i = 0; i < sizeof CHANGING / sizeof *CHANGING; i++) changes |= CHANGING[i] == number;
    for (uint32_t n = 1; changes && n < file_count; n++)
        if (files[n].described) unseen(b, "a system call of assembly", file_address(&files[n], 0), 0, location);
}
