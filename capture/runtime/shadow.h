/* Shared mappings of files, and a copy of each mapped file as the records have it: what differs was stored by code that
 * has no hooks. */

/* The copy of these bytes, if there is one. */
static uint8_t *copy_at(const struct mapping *m, uint64_t address, uint64_t size) {
    uint64_t offset = m->offset + (address - m->from);
    return m->file->copy && offset + size <= m->file->copy_bytes ? m->file->copy + offset : NULL;
}

static void shadow(struct buffer *b, uint64_t address, unsigned size) {
    struct mapping *m = find_mapping(b, address);
    uint8_t *copy = m ? copy_at(m, address, size) : NULL;
    uint64_t v = 0, again = 0;
    if (!copy) return;
    /* Two threads may come here for one word: the last of them leaves what memory holds. */
    do {
        if (!peek(address, size, &v)) return;
        switch (size) {
        case 1: __atomic_store_n(copy, (uint8_t)v, __ATOMIC_SEQ_CST); break;
        case 2: __atomic_store_n((uint16_t *)copy, (uint16_t)v, __ATOMIC_SEQ_CST); break;
        case 4: __atomic_store_n((uint32_t *)copy, (uint32_t)v, __ATOMIC_SEQ_CST); break;
        default: __atomic_store_n((uint64_t *)copy, v, __ATOMIC_SEQ_CST);
        }
    } while (peek(address, size, &again) && again != v);
}

/* Whether a store to these bytes is under way in a thread with hooks. */
static int is_pending(uint64_t address, uint64_t size, const struct buffer *me) {
    for (struct buffer *b = atomic_load(&all_buffers); b; b = b->next) {
        if (b == me) continue;
        uint32_t n = *(volatile uint32_t *)&b->pending_size;
        uint64_t at = *(volatile uint64_t *)&b->pending;
        if ((n && address < at + n && at < address + size) || *(stamp_lock *volatile *)&b->held) return 1;
    }
    return 0;
}

/* Records the bytes of a word that differ, as one piece. An operand before it says that a library which is known to do
 * so wrote them. Returns how many bytes it has. */
static unsigned observe_word(struct buffer *b, uint64_t address, uint8_t *copy, uint32_t location, int is_fact) {
    uint64_t now, old;
    if (!peek(address, 8, &now)) return 0;
    __builtin_memcpy(&old, copy, 8);
    if (now == old || is_pending(address, 8, b)) return 0;
    __builtin_memcpy(&old, copy, 8);
    if (!peek(address, 8, &now) || now == old) return 0;
    uint64_t differs = now ^ old;
    unsigned first = (unsigned)__builtin_ctzll(differs) / 8, last = 7 - (unsigned)__builtin_clzll(differs) / 8, log2size = 0;
    while (first >> log2size != last >> log2size) log2size++;
    first = first >> log2size << log2size;
    if (is_fact) emit(b, OPERAND, 0, address + first, location, 1, 0);
    emit(b, OBSERVED, log2size, address + first, location, log2size == 3 ? now : now >> first * 8 & ((1ull << (8u << log2size)) - 1), 0);
    __builtin_memcpy(copy + first, (uint8_t *)&now + first, 1u << log2size);
    return 1u << log2size;
}

/* Compares a piece of a mapping with the copy; pages that are not in memory cannot have been stored to. Returns how
 * many bytes differed, and the first of them. */
static uint64_t compare_piece(struct buffer *b, const struct mapping *m, uint64_t from, uint64_t end, uint32_t location, int is_fact, uint64_t *first) {
    uint64_t differed = 0;
    uint8_t page[4096];
    for (uint64_t at = from & ~4095ull; at < end; at += 4096) {
        unsigned char there = 0;
        uint64_t start = at < from ? from & ~7ull : at, stop_at = at + 4096 < end ? at + 4096 : end;
        uint8_t *copy = copy_at(m, start, stop_at - start);
        if (!copy || (stop_at - start > 64 && (raw(SYS_mincore, (long)at, 4096, (long)&there, 0, 0, 0) || !(there & 1)))) continue;
        if (stop_at - start > 64) {
            struct iovec to = {page, stop_at - start}, what = {(void *)start, stop_at - start};
            if (raw(SYS_process_vm_readv, raw_pid(), (long)&to, 1, (long)&what, 1, 0) != (long)(stop_at - start)) continue;
            if (!memcmp(page, copy, stop_at - start)) continue;
        }
        for (uint64_t word = start; word < stop_at; word += 8) {
            unsigned n = observe_word(b, word, copy + (word - start), location, is_fact);
            if (n && !differed) *first = word;
            differed += n;
        }
    }
    return differed;
}

static void unseen(struct buffer *b, const char *text, uint64_t address, uint64_t bytes, uint32_t location);


/* Says once a place and file that code without hooks wrote. */
static void say_unhooked(struct buffer *b, const struct mapping *m, uint64_t first, uint64_t bytes, uint32_t location, const char *when) {
    static struct { const struct file *file; uint32_t location; } said[256];
    static atomic_uint count;
    unsigned n = atomic_load(&count);
    for (unsigned i = 0; i < n; i++)
        if (said[i].file == m->file && said[i].location == location) return;
    if (n < 256) said[n].file = m->file, said[n].location = location, atomic_store(&count, n + 1);
    char text[500];
    const char *path = m->file->path ? m->file->path : "a file";
    size_t n_path = strlen(path);
    if (n_path > 300) path += n_path - 300;
    format_text(text, sizeof text, "%lu bytes of %s from byte %lu on were written by code that has no hooks, found at %s",
                        bytes, path, m->offset + (first - m->from), when);
    unseen(b, text, first, bytes, location);
}

/* Compares what of a range is mapped. `when` is NULL where such stores are expected. */
static void compare(struct buffer *b, uint64_t from, uint64_t bytes, uint32_t location, const char *when) {
    uint64_t end = from + bytes < from ? UINT64_MAX : from + bytes;
    if (b->library) when = NULL;
    if (end <= shadowed_from || from >= shadowed_from + shadowed_bytes) return;
    for (struct mapping *m = mappings; m < mappings + mapping_count; m++) {
        uint64_t start = m->from < from ? from : m->from, stop_at = m->from + m->bytes < end ? m->from + m->bytes : end, first = 0;
        uint64_t differed = start < stop_at && m->file->copy ? compare_piece(b, m, start, stop_at, location, !when || m->file->library, &first) : 0;
        if (differed && when && !m->file->library) say_unhooked(b, m, first, differed, location, when);
    }
}

/* Held while a thread looks at what a library function changed. */
static atomic_flag looking_lock = ATOMIC_FLAG_INIT;

/* Library functions that store to memory: where it is a file's, what they changed is told when they return. Threads change a
 * lock at once: who looks later sees at least as much, and its record has the later place. */
static void changed(const void *at, uint64_t bytes, uint32_t location) {
    if ((uint64_t)at - shadowed_from >= shadowed_bytes) return;
    struct buffer *b = begin();
    if (!b) return;
    uint64_t signals = block_signals();
    take(&looking_lock);
    turn(b, (uint64_t)at, location, next_stamp(), 1);
    compare(b, (uint64_t)at, bytes, location, NULL);
    give(&looking_lock);
    restore_signals(signals);
}
