/* Calls that make, change and take away names of files. */

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

static int find_going(struct named *n, int folder, const char *path, uint32_t location) {
    int known = find_named(n, begin(), folder, path, location);
    look_at_name(n, location);
    return known;
}
LIBRARY(unlink)
INSTEAD int unlink(const char *path) {
    struct named n;
    int known = find_going(&n, AT_FDCWD, path, PC), failed = REAL(unlink)(path);
    if (known && !failed) unlinked(&n, PC);
    return failed;
}
LIBRARY(unlinkat)
INSTEAD int unlinkat(int folder, const char *path, int flags) {
    struct named n;
    int known = find_going(&n, folder, path, PC);
    if (flags & AT_REMOVEDIR) find_folder(&n, folder, path);
    int failed = REAL(unlinkat)(folder, path, flags);
    if (known && !failed) unlinked(&n, PC);
    else if (!failed) folder_gone(&n, PC);
    return failed;
}
LIBRARY(remove)
INSTEAD int remove(const char *path) {
    struct named n;
    int known = find_going(&n, AT_FDCWD, path, PC);
    if (!known) find_folder(&n, AT_FDCWD, path);
    int failed = REAL(remove)(path);
    if (known && !failed) unlinked(&n, PC);
    else if (!failed) folder_gone(&n, PC);
    return failed;
}
LIBRARY(rmdir)
INSTEAD int rmdir(const char *path) {
    struct named n = {.b = begin()};
    find_folder(&n, AT_FDCWD, path);
    int failed = REAL(rmdir)(path);
    if (!failed) folder_gone(&n, PC);
    return failed;
}

LIBRARY(mkdir)
INSTEAD int mkdir(const char *path, mode_t mode) {
    struct buffer *b = begin();
    int failed = REAL(mkdir)(path, mode);
    if (!failed) folder_made(b, AT_FDCWD, path, PC);
    return failed;
}
LIBRARY(mkdirat)
INSTEAD int mkdirat(int folder, const char *path, mode_t mode) {
    struct buffer *b = begin();
    int failed = REAL(mkdirat)(folder, path, mode);
    if (!failed) folder_made(b, folder, path, PC);
    return failed;
}
LIBRARY(mkdtemp)
INSTEAD char *mkdtemp(char *path) {
    struct buffer *b = begin();
    char *made = REAL(mkdtemp)(path);
    if (made) folder_made(b, AT_FDCWD, path, PC);
    return made;
}

static int rename_recorded(int folder, const char *old, int to_folder, const char *new, unsigned flags, uint32_t location,
                           int (*call)(int, const char *, int, const char *, unsigned)) {
    struct renaming r;
    before_rename(&r, folder, old, to_folder, new, location);
    if (r.b) look_at_name(&r.from, location), look_at_name(&r.to, location);
    int failed = call(folder, old, to_folder, new, flags);
    if (!failed) after_rename(&r, to_folder, new, flags, location);
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
    if (!failed) after_link(&n, b, to_folder, new, PC);
    return failed;
}

LIBRARY(symlink)
INSTEAD int symlink(const char *to, const char *path) {
    struct buffer *b = begin();
    int failed = REAL(symlink)(to, path);
    if (!failed) made_link(b, AT_FDCWD, path, PC);
    return failed;
}
LIBRARY(symlinkat)
INSTEAD int symlinkat(const char *to, int folder, const char *path) {
    struct buffer *b = begin();
    int failed = REAL(symlinkat)(to, folder, path);
    if (!failed) made_link(b, folder, path, PC);
    return failed;
}

/* Calls that change what a file has beside its bytes and its names. */
#define CHANGES_ATTRIBUTES(name, changed, parameters, arguments) \
    extern int name parameters; \
    LIBRARY(name) \
    INSTEAD int name parameters { \
        struct buffer *b = begin(); \
        int failed = REAL(name) arguments; \
        if (b && !failed) changed; \
        return failed; \
    }
CHANGES_ATTRIBUTES(chmod, attributes_changed_of(AT_FDCWD, path, 0), (const char *path, mode_t mode), (path, mode))
CHANGES_ATTRIBUTES(fchmod, attributes_changed(fd, 0), (int fd, mode_t mode), (fd, mode))
CHANGES_ATTRIBUTES(fchmodat, attributes_changed_of(folder, path, 0), (int folder, const char *path, mode_t mode, int flags), (folder, path, mode, flags))
CHANGES_ATTRIBUTES(chown, attributes_changed_of(AT_FDCWD, path, 0), (const char *path, uid_t user, gid_t group), (path, user, group))
CHANGES_ATTRIBUTES(lchown, attributes_changed_of(AT_FDCWD, path, 0), (const char *path, uid_t user, gid_t group), (path, user, group))
CHANGES_ATTRIBUTES(fchown, attributes_changed(fd, 0), (int fd, uid_t user, gid_t group), (fd, user, group))
CHANGES_ATTRIBUTES(fchownat, attributes_changed_of(folder, path, 0), (int folder, const char *path, uid_t user, gid_t group, int flags),
                   (folder, path, user, group, flags))
CHANGES_ATTRIBUTES(setxattr, attributes_changed_of(AT_FDCWD, path, 1), (const char *path, const char *name, const void *value, size_t n, int flags),
                   (path, name, value, n, flags))
CHANGES_ATTRIBUTES(lsetxattr, attributes_changed_of(AT_FDCWD, path, 1), (const char *path, const char *name, const void *value, size_t n, int flags),
                   (path, name, value, n, flags))
CHANGES_ATTRIBUTES(fsetxattr, attributes_changed(fd, 1), (int fd, const char *name, const void *value, size_t n, int flags), (fd, name, value, n, flags))
CHANGES_ATTRIBUTES(removexattr, attributes_changed_of(AT_FDCWD, path, 1), (const char *path, const char *name), (path, name))
CHANGES_ATTRIBUTES(lremovexattr, attributes_changed_of(AT_FDCWD, path, 1), (const char *path, const char *name), (path, name))
CHANGES_ATTRIBUTES(fremovexattr, attributes_changed(fd, 1), (int fd, const char *name), (fd, name))
