/* Calls of ioctl that change what a file holds: ranges that are allocated, freed or made zeros, as fallocate does
 * (linux/falloc.h), and files that get another one's bytes (linux/fs.h). */

#define SPACE(number) _IOW('X', number, struct space_range)
#define CLONE_ALL _IOW(0x94, 9, int)
#define CLONE_RANGE _IOW(0x94, 13, struct cloned_range)

/* `struct space_resv`. */
struct space_range {
    int16_t type, whence;
    int64_t start, length;
    int32_t system;
    uint32_t process;
    int32_t unused[4];
};
/* `struct file_clone_range`. */
struct cloned_range {
    int64_t from;
    uint64_t from_at, bytes, at;
};

/* One such call: an allocation, or a file that is copied. */
struct by_ioctl {
    struct allocation allocation;
    struct change change;
    struct cloned_range clone;
    int known;
};

/* fallocate's mode, or -1. */
static int allocation_by(unsigned long request) {
    switch (request) {
    case SPACE(40): case SPACE(42): return FALLOC_FL_KEEP_SIZE;
    case SPACE(41): case SPACE(43): return FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE;
    case SPACE(57): return FALLOC_FL_KEEP_SIZE | FALLOC_FL_ZERO_RANGE;
    default: return -1;
    }
}

/* What the program gives with the call, as far as it may be read. */
static int read_argument(void *to, uint64_t from, unsigned words) {
    for (unsigned i = 0; i < words; i++)
        if (!peek(from + 8 * i, 8, (uint64_t *)to + i)) return 0;
    return 1;
}

static void before_ioctl(struct by_ioctl *x, int fd, unsigned long request, uint64_t argument, uint32_t location) {
    struct space_range range;
    struct stat s;
    int mode = allocation_by(request);
    x->known = 0;
    x->allocation = (struct allocation){0};
    if (mode >= 0 && read_argument(&range, argument, sizeof range / 8) && !raw_fstat(fd, &s)) {
        int64_t base = range.whence == SEEK_CUR ? raw_seek(fd, 0, SEEK_CUR) : range.whence == SEEK_END ? (int64_t)s.st_size : 0;
        before_allocate(&x->allocation, fd, mode, (uint64_t)(base + range.start), (uint64_t)range.length, location);
    }
    x->clone = (struct cloned_range){.from = (int)argument};
    if (request == CLONE_ALL || (request == CLONE_RANGE && read_argument(&x->clone, argument, sizeof x->clone / 8)))
        x->known = before_change(&x->change, fd, location);
}

static void after_ioctl(struct by_ioctl *x, int failed, uint32_t location) {
    struct stat s;
    uint64_t bytes = x->clone.bytes;
    after_allocate(&x->allocation, failed, location);
    if (!x->known || failed) return;
    if (!bytes && !raw_fstat((int)x->clone.from, &s)) bytes = (uint64_t)s.st_size - x->clone.from_at;
    after_copy(&x->change, (int)x->clone.from, x->clone.from_at, x->clone.at, (ssize_t)bytes, location);
}
