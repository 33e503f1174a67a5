/* Functions that a program finds by name (dlsym): one that stands here in place of a library's is given instead of it, to a
 * program's own function of that name too. */

/* This file's own function, where the program has one of that name as well. */
#define KNOWN_AS(name, symbol) \
    __asm__(".set coreplane_own_" #name ", " symbol); \
    extern const char own_##name[] __asm__("coreplane_own_" #name) __attribute__((visibility("hidden")));
#define FOUND_BY_NAME(each) \
    each(fsync) each(fdatasync) each(sync) each(syncfs) each(sync_file_range) each(msync) \
    each(write) each(pwrite) each(pwrite64) each(writev) each(pwritev) each(pwritev64) each(pwritev2) \
    each(sendfile) each(sendfile64) each(copy_file_range) each(splice) each(syscall) \
    each(ftruncate) each(ftruncate64) each(truncate) each(truncate64) each(fallocate) each(fallocate64) \
    each(posix_fallocate) each(posix_fallocate64) each(mmap) each(mmap64) each(ioctl) each(munmap) each(mremap) \
    each(read) each(pread) each(pread64) each(readv) each(open) each(open64) each(openat) each(openat64) each(creat) each(close) \
    each(rename) each(renameat) each(renameat2) each(link) each(linkat) each(symlink) each(symlinkat) each(unlink) each(unlinkat) each(remove) \
    each(mkdir) each(mkdirat) each(mkdtemp) each(rmdir) \
    each(fopen) each(fopen64) each(fclose) each(fflush) each(fwrite) each(fputs) each(fputc) each(fprintf) each(vfprintf) each(fread)
#define FOUND_IN_LIBPMEM(each) \
    each(pmem_persist) each(pmem_msync) each(pmem_flush) each(pmem_drain) each(pmem_deep_flush) each(pmem_deep_drain) \
    each(pmem_deep_persist) each(pmem_memcpy) each(pmem_memmove) each(pmem_memset) each(pmem_memcpy_persist) \
    each(pmem_memmove_persist) each(pmem_memset_persist) each(pmem_memcpy_nodrain) each(pmem_memmove_nodrain) \
    each(pmem_memset_nodrain)
#define KNOWN(name) KNOWN_AS(name, #name)
FOUND_BY_NAME(KNOWN)
FOUND_IN_LIBPMEM(KNOWN)

static const struct {
    const char *name;
    const void *own;
    int of_libpmem;
} found_by_name[] = {
#define ROW(name) {#name, own_##name, 0},
#define ROW_OF_LIBPMEM(name) {#name, own_##name, 1},
    FOUND_BY_NAME(ROW) FOUND_IN_LIBPMEM(ROW_OF_LIBPMEM)
};

/* What the caller is given instead of what the library has; NULL where it is to look for itself. */
__attribute__((used, visibility("hidden"))) const void *coreplane_looked_up(void *handle, const char *name, const void *caller) {
    by_name(RTLD_DEFAULT, "dlsym");
    uintptr_t offset = (uintptr_t)caller - (uintptr_t)__ehdr_start, ours = (uintptr_t)(_end - __ehdr_start);
    if (!name || atomic_load(&recording) != 1 || (handle == RTLD_NEXT && offset >= ours)) return NULL;
    for (unsigned i = 0; i < sizeof found_by_name / sizeof *found_by_name; i++) {
        if (strcmp(name, found_by_name[i].name)) continue;
        void *found = by_name(handle, name);
        if (!found) return NULL;
        /* Of libpmem there is one; of the C library's functions those that stand behind this file's. */
        return found_by_name[i].of_libpmem || found == library_function(name) ? found_by_name[i].own : NULL;
    }
    return NULL;
}

/* Who has to look for itself is still the caller, which RTLD_NEXT goes by. */
__asm__(".text\n"
        ".weak dlsym\n"
        ".type dlsym, @function\n"
        "dlsym:\n"
        "    movq (%rsp), %rdx\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    subq $8, %rsp\n"
        "    call coreplane_looked_up\n"
        "    addq $8, %rsp\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    testq %rax, %rax\n"
        "    jne 1f\n"
        "    jmp *coreplane_library_dlsym(%rip)\n"
        "1:  ret\n"
        ".size dlsym, . - dlsym\n");
