/* Mappings of files and memory. */

/* A shared, writable mapping of a file is persistent memory, as with a DAX file; COREPLANE_PM=PREFIX keeps to
 * files whose path begins so. */
static int is_persistent(int fd, int protection, int flags) {
    if (fd < 0 || !(protection & PROT_WRITE) || !((flags & 0xF) == MAP_SHARED || (flags & 0xF) == MAP_SHARED_VALIDATE)) return 0;
    const char *prefix = getenv("COREPLANE_PM");
    if (!prefix || !*prefix) return 1;
    char link[64], path[4096];
    int at = 0;
    __real_memcpy(link, "/proc/self/fd/", 14);
    char digits[12];
    do digits[at++] = (char)('0' + fd % 10); while (fd /= 10);
    for (int i = 0; i < at; i++) link[14 + i] = digits[at - 1 - i];
    link[14 + at] = 0;
    ssize_t n = readlink(link, path, sizeof path - 1);
    return n > 0 && (size_t)n >= strlen(prefix) && !memcmp(path, prefix, strlen(prefix));
}

static void mapped(const void *address, uint64_t bytes, uint32_t location) {
    struct buffer *b = begin();
    if (b) emit(b, MAP, 0, (uint64_t)address, location, bytes, next_stamp());
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    begin();
    void *p = __real_mmap(at, bytes, protection, flags, fd, offset);
    if (p != MAP_FAILED && is_persistent(fd, protection, flags)) mapped(p, bytes, PC);
    return p;
}
void *__real_mmap64(void *, size_t, int, int, int, off64_t);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset) {
    begin();
    void *p = __real_mmap64(at, bytes, protection, flags, fd, offset);
    if (p != MAP_FAILED && is_persistent(fd, protection, flags)) mapped(p, bytes, PC);
    return p;
}
int __real_munmap(void *, size_t);
int __wrap_munmap(void *address, size_t bytes) {
    struct buffer *b = begin();
    if (b) emit(b, UNMAP, 0, (uint64_t)address, PC, bytes, next_stamp());
    return __real_munmap(address, bytes);
}
void __wrap_free(void *p) {
    /* The allocator may give the memory back: a pending store is read before. */
    begin();
    __real_free(p);
}
void __real__exit(int) __attribute__((noreturn));
void __wrap__exit(int code) {
    finish();
    __real__exit(code);
}

EXPORT void coreplane_persistent(const void *address, size_t bytes) { mapped(address, bytes, PC); }
EXPORT void coreplane_mark(unsigned long number) {
    struct buffer *b = begin();
    if (b) emit(b, MARK, 0, 0, PC, number, 0);
}
