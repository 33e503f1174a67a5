/* What a check of the crash lab reads. With COREPLANE_READS in the environment nothing is recorded: the lines that the
 * program reads of the files below COREPLANE_READS_OF are noted, and written into the file that COREPLANE_READS names when
 * the program ends by itself. There is no report where something is known to be missing: children, libraries without
 * hooks, calls that are not followed. */

enum { READ_FILES = 256, READ_MAPPINGS = 4096, READ_LINE = 64 };

static char reads_path[4096], reads_of[4096];

static struct read_file {
    uint64_t device, inode, lines;
    /* Lines that the program read, and, where that is watched, touched. */
    uint8_t *bits, *touched;
    char *path;
} read_files[READ_FILES];
static unsigned read_file_count;

/* Never taken away: a line too many does no harm. */
static struct {
    uint64_t from, bytes, offset;
    struct read_file *file;
} read_mappings[READ_MAPPINGS];
/* Those before it are whole: they are looked at without the lock. */
static atomic_uint read_mapping_count;
static uint64_t read_from = UINT64_MAX, read_to;
static atomic_flag reads_lock = ATOMIC_FLAG_INIT;
static atomic_int reads_missing;

/* The file of a descriptor, if it is one of those that count; with the lock held. */
static struct read_file *read_file_of(int fd) {
    struct stat s;
    char link[40], path[4096];
    if (fd < 0 || raw_fstat(fd, &s) || !S_ISREG(s.st_mode)) return NULL;
    for (unsigned i = 0; i < read_file_count; i++)
        if (read_files[i].device == s.st_dev && read_files[i].inode == s.st_ino) return &read_files[i];
    numbered(link, "/proc/self/fd/", (uint64_t)fd);
    long n = raw_readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    /* Longer than the kernel tells; and the report has a line for each. */
    if (n < 0 || (strchr(path, '\n') && !strncmp(path, reads_of, strlen(reads_of)))) reads_missing = 1;
    if (strncmp(path, reads_of, strlen(reads_of)) || strchr(path, '\n')) return NULL;
    uint64_t lines = ((uint64_t)s.st_size + READ_LINE - 1) / READ_LINE;
    struct read_file *f = &read_files[read_file_count];
    char *kept = raw_memory(strlen(path) + 1);
    uint8_t *bits = raw_memory(2 * (lines / 8 + 1));
    if (read_file_count == READ_FILES || !kept || !bits) {
        reads_missing = 1;
        return NULL;
    }
    __real_memcpy(kept, path, strlen(path) + 1);
    *f = (struct read_file){s.st_dev, s.st_ino, lines, bits, bits + lines / 8 + 1, kept};
    read_file_count++;
    return f;
}

static void note_range(struct read_file *f, uint64_t offset, uint64_t bytes) {
    if (!f || !bytes) return;
    uint64_t last = offset + (bytes - 1);
    if (last < offset) last = UINT64_MAX;
    for (uint64_t line = offset / READ_LINE; line < f->lines && line <= last / READ_LINE; line++) {
        uint8_t bit = (uint8_t)(1u << line % 8);
        if (!(__atomic_load_n(&f->bits[line / 8], __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(&f->bits[line / 8], bit, __ATOMIC_RELAXED);
    }
}

static uint64_t enter_reads(void) {
    uint64_t signals = block_signals();
    take(&reads_lock);
    return signals;
}
static void leave_reads(uint64_t signals) {
    give(&reads_lock);
    restore_signals(signals);
}

/* The program read through a descriptor. At -1 it was where the descriptor stood. */
static void read_through(int fd, int64_t at, int64_t bytes) {
    if (!reading || bytes <= 0) return;
    uint64_t signals = enter_reads();
    struct read_file *f = read_file_of(fd);
    if (f && at < 0) at = raw_seek(fd, 0, SEEK_CUR) - bytes;
    note_range(f, at < 0 ? 0 : (uint64_t)at, at < 0 ? UINT64_MAX : (uint64_t)bytes);
    leave_reads(signals);
}

/* The C library reads the file by itself. */
static void read_whole(int fd) { read_through(fd, 0, INT64_MAX); }

static void watch_mapping(uint64_t from, uint64_t bytes);
static int touched_more(void);
static unsigned steps_made(void);

/* With the lock held; 0 where there is no room. */
static int add_read_mapping(uint64_t from, uint64_t bytes, uint64_t offset, struct read_file *f) {
    unsigned i = read_mapping_count;
    if (i == READ_MAPPINGS) {
        reads_missing = 1;
        return 0;
    }
    read_mappings[i].from = from, read_mappings[i].bytes = bytes;
    read_mappings[i].offset = offset, read_mappings[i].file = f;
    if (from < read_from) read_from = from;
    if (from + bytes > read_to) read_to = from + bytes;
    read_mapping_count = i + 1;
    return 1;
}

/* A mapping, private ones too. */
static void reads_mapped(const void *address, uint64_t bytes, int flags, int fd, uint64_t offset) {
    if (flags & MAP_ANONYMOUS) return;
    uint64_t signals = enter_reads(), from = (uint64_t)address;
    struct read_file *f = read_file_of(fd);
    if (f && add_read_mapping(from, bytes, offset, f)) watch_mapping(from, bytes);
    leave_reads(signals);
}
static void reads_moved(uint64_t from, uint64_t to, uint64_t bytes) {
    uint64_t signals = enter_reads();
    for (unsigned i = 0, n = read_mapping_count; i < n; i++) {
        uint64_t at = from - read_mappings[i].from;
        if (at < read_mappings[i].bytes) add_read_mapping(to, bytes, read_mappings[i].offset + at, read_mappings[i].file);
    }
    leave_reads(signals);
}

static void note_load(uint64_t address, uint64_t bytes) {
    if (address - read_from >= read_to - read_from) return;
    for (unsigned i = 0, n = read_mapping_count; i < n; i++) {
        uint64_t at = address - read_mappings[i].from;
        if (at < read_mappings[i].bytes) note_range(read_mappings[i].file, read_mappings[i].offset + at, bytes);
    }
}

/* What the C library or that of threads reads of a mapping for the program: at most so many bytes, which is a line too many at times. */
static void compared(const void *p, size_t bytes) {
    if (reading && bytes) note_load((uint64_t)p, bytes);
}

static void note_loads(const uint8_t *at, const uint8_t *end) {
    /* Only its table of what foretells what is used. */
    static struct buffer *reader;
    struct unpacked r = {0};
    if (!reader && !(reader = raw_memory(sizeof *reader))) {
        reads_missing = 1;
        return;
    }
    forget(reader);
    while ((at = unpack(reader, at, end, &r)))
        if (r.kind == LOAD || r.kind == LOAD_ACQUIRE || r.kind == RMW) note_load(r.address, 1u << r.log2size);
        else if (r.kind == LOCK || r.kind == UNLOCK) note_load(r.address, sizeof(pthread_rwlock_t));
}

/* Libraries that read nothing but what calls of the program give them, which is for the most part seen. */
static int is_harmless(const char *path) {
    static const char *const names[] = {"linux-vdso", "ld-linux", "libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "libgcc_s.so", "libstdc++.so"};
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(base, names[i], strlen(names[i]))) return 1;
    return 0;
}

static int has_no_hooks(struct dl_phdr_info *info, size_t size, void *first) {
    int program = *(int *)first;
    (void)size;
    *(int *)first = 0;
    if (!program && info->dlpi_name && is_harmless(info->dlpi_name)) return 0;
    for (unsigned i = 0; i < atomic_load(&object_count); i++) {
        uintptr_t from = atomic_load(&objects[i].from), to = atomic_load(&objects[i].to);
        for (int k = 0; k < info->dlpi_phnum; k++)
            if (info->dlpi_phdr[k].p_type == PT_LOAD && info->dlpi_addr + info->dlpi_phdr[k].p_vaddr - from < to - from) return 0;
    }
    return 1;
}

/* Whether another process may have read for this one. */
static int had_children(void) {
    struct rusage used;
    struct sigaction now;
    siginfo_t info;
    if (getrusage(RUSAGE_CHILDREN, &used) || used.ru_maxrss) return 1;
    if (REAL(sigaction)(SIGCHLD, NULL, &now) || now.sa_handler == SIG_IGN || now.sa_flags & SA_NOCLDWAIT) return 1;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Text on its way into the report. */
static struct {
    int fd, failed;
    size_t n;
    char bytes[8192];
} report;

static void send_report(void) {
    report.failed |= raw_write(report.fd, report.bytes, report.n) != (long)report.n;
    report.n = 0;
}
static void tell(const char *text) {
    size_t n = strlen(text);
    if (report.n + n > sizeof report.bytes) send_report();
    __real_memcpy(report.bytes + report.n, text, n);
    report.n += n;
}
static void tell_number(const char *before, uint64_t number) {
    char text[48];
    numbered(text, before, number);
    tell(text);
}

static void write_report(void) {
    if (reads_missing || had_children()) return;
    int program = 1;
    if (dl_iterate_phdr(has_no_hooks, &program)) return;
    report.fd = raw_open(reads_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (report.fd < 0) return;
    tell("coreplane reads 1\n");
    for (unsigned i = 0; i < read_file_count; i++) {
        const struct read_file *f = &read_files[i];
        tell("file ");
        tell(f->path);
        tell("\n");
        for (uint64_t line = 0, n; line < f->lines; line += n + 1) {
            for (n = 0; line + n < f->lines && f->bits[(line + n) / 8] >> (line + n) % 8 & 1; n++) {}
            if (!n) continue;
            tell_number("lines ", line);
            tell_number(" ", n);
            tell("\n");
        }
    }
    /* What a process that was cut off has written has no end. */
    if (touched_more()) tell("more\n");
    if (steps_made()) {
        tell_number("steps ", steps_made());
        tell("\n");
    }
    tell_number(report.failed ? "failed " : "end ", (uint64_t)raw_pid());
    tell("\n");
    send_report();
    raw_close(report.fd);
}

/* What would be a block of the trace. */
static void note_block(const uint8_t *contents, uint32_t kind, uint32_t n) {
    if (atomic_load_explicit(&recording, memory_order_relaxed) == 0) return;
    uint64_t signals = enter_reads();
    if (kind == BLOCK_FIRST || kind == BLOCK_NEXT) note_loads(contents, contents + n);
    /* Remarks are of what is missing, but for those on the program's own instructions. */
    if (kind == BLOCK_TEXT && n > 5 && !memcmp(contents, "note\n", 5) && (n < 9 || memcmp(contents + 5, "not ", 4))) reads_missing = 1;
    if (kind == BLOCK_END) {
        write_report();
        atomic_store(&recording, 0);
    }
    leave_reads(signals);
}

/* Whether this run is one of a check that is to report. */
static int watching;
static int is_check(void) {
    const char *path = getenv("COREPLANE_READS"), *of = getenv("COREPLANE_READS_OF");
    if (!path || !of || !*path || strlen(path) >= sizeof reads_path || strlen(of) >= sizeof reads_of) return 0;
    __real_memcpy(reads_path, path, strlen(path) + 1);
    __real_memcpy(reads_of, of, strlen(of) + 1);
    /* Not of what it starts. */
    unsetenv("COREPLANE_READS");
    unsetenv("COREPLANE_READS_OF");
    watching = getenv("COREPLANE_READS_WATCHED") != NULL;
    unsetenv("COREPLANE_READS_WATCHED");
    return reading = 1;
}
