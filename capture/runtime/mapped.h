/* Files, and where they are mapped. */

struct file {
    uint64_t device, inode;
    uint32_t number, next;
    /* No record of it: not a file of the program, or filtered. */
    uint8_t ignored;
    /* Its text and first contents are recorded. */
    uint8_t described, ready;
    /* They are in that of the process that this one was forked from. */
    uint8_t inherited;
    /* libpmemobj or a like library mapped it, and stores to it. */
    uint8_t library;
    /* It has lost its last name: another file may get its inode. */
    uint8_t nameless;
    /* It is a symbolic link: a name, and the text that it leads to. */
    uint8_t link;
    /* The most bytes that it had, by what is recorded, and where it was found to have more. */
    _Atomic uint64_t most_bytes, grown;
    uint8_t *copy;
    uint64_t copy_bytes;
    const char *path;
};
struct mapping {
    uint64_t from, offset;
    struct file *file;
    /* Written last, and 0 where there is none. */
    _Atomic uint64_t bytes;
};
/* As many as Linux lets a process have, unless it is told otherwise (vm.max_map_count). */
enum { MAPPINGS = 1 << 16 };
static struct mapping mappings[MAPPINGS];
static _Atomic uint32_t mapping_count;

static inline uint64_t file_address(const struct file *f, uint64_t offset) {
    return FILE_SPACE | (uint64_t)f->number << FILE_SHIFT | offset;
}

static struct mapping *find_mapping(struct buffer *b, uint64_t address) {
    struct mapping *m = &mappings[b->mapping];
    if (address - m->from < m->bytes) return m;
    uint32_t n = mapping_count;
    for (m = mappings; m < mappings + n; m++) {
        if (address - m->from >= m->bytes) continue;
        b->mapping = (uint32_t)(m - mappings);
        return m;
    }
    return NULL;
}

static inline int is_of_file(struct buffer *b, uint64_t address) {
    return address - shadowed_from < shadowed_bytes && find_mapping(b, address) != NULL;
}

static void cover(uint64_t from, uint64_t bytes) {
    uint64_t low = shadowed_bytes && shadowed_from < from ? shadowed_from : from;
    uint64_t high = shadowed_bytes && shadowed_from + shadowed_bytes > from + bytes ? shadowed_from + shadowed_bytes : from + bytes;
    /* Never less than before, whichever of the two another thread reads first. */
    shadowed_bytes = high - low;
    shadowed_from = low;
    shadowed_bytes = high - low;
}

/* There is no room for a mapping (files.h). */
static void not_kept(struct buffer *b, const struct file *f, uint64_t bytes, uint64_t offset, uint32_t location);

static void add_mapping(struct buffer *b, struct file *f, uint64_t from, uint64_t bytes, uint64_t offset, uint32_t location) {
    struct mapping *m = mappings;
    while (m < mappings + mapping_count && m->bytes) m++;
    if (m == mappings + MAPPINGS) return not_kept(b, f, bytes, offset, location);
    m->from = from;
    m->offset = offset;
    m->file = f;
    atomic_store(&m->bytes, bytes);
    if (m == mappings + mapping_count) mapping_count++;
    cover(from, bytes);
}

/* Whether a range has something of a file; takes it out of the table. */
static int remove_mappings(struct buffer *b, uint64_t from, uint64_t bytes, uint32_t location) {
    uint64_t end = from + bytes;
    int any = 0;
    for (uint32_t i = 0, n = mapping_count; i < n; i++) {
        struct mapping *m = &mappings[i], old = {m->from, m->offset, m->file, 0};
        uint64_t old_end = m->from + m->bytes;
        if (!m->bytes || old.from >= end || old_end <= from) continue;
        any = 1;
        atomic_store(&m->bytes, old.from < from ? from - old.from : 0);
        if (end < old_end) add_mapping(b, old.file, end, old_end - end, old.offset + (end - old.from), location);
    }
    return any;
}
