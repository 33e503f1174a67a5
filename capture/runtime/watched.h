/* Whether the hooks see all that a check reads. With COREPLANE_READS_WATCHED in the environment the mappings of its files
 * cannot be touched: each access faults, is noted, and is made step by step, whoever makes it. It takes long, and system
 * calls that get such memory fail, so that only some runs of a check are watched, and their verdicts do not count. */

enum { TRAP_FLAG = 0x100, FAULT_WRITES = 2, PAGE = 4096, OPEN_PAGES = 16, MOST_STEPS = 100000 };

static int watching;
/* Pages that the thread's instruction has opened. */
static THREAD_LOCAL uint64_t open_pages[OPEN_PAGES];
static THREAD_LOCAL unsigned open_count;
static atomic_uint step_count;

static long allow(uint64_t from, uint64_t bytes, int protection) {
    return raw(SYS_mprotect, (long)from, (long)((bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1)), protection, 0, 0, 0);
}
static int allow_all(uint64_t from, uint64_t bytes) {
    /* Of a file that was opened for reading, a shared mapping cannot be written. */
    return allow(from, bytes, PROT_READ | PROT_WRITE) == 0 || allow(from, bytes, PROT_READ) == 0;
}

/* The program may touch nothing of a mapping any more. */
static void watch_mapping(uint64_t from, uint64_t bytes) {
    if (watching) allow(from, bytes, PROT_NONE);
}

/* Notes the line of an access; 0 when it is of no file. */
static int note_touch(uint64_t address, int reads_nothing) {
    int known = 0;
    for (unsigned i = 0, n = read_mapping_count; i < n; i++) {
        uint64_t at = address - read_mappings[i].from;
        struct read_file *f = read_mappings[i].file;
        if (at >= ((read_mappings[i].bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1))) continue;
        known = 1;
        uint64_t line = (read_mappings[i].offset + at) / READ_LINE;
        if (!reads_nothing && line < f->lines) f->touched[line / 8] |= (uint8_t)(1u << line % 8);
    }
    return known;
}

/* A flush faults as a load does, and reads nothing. */
static int is_flush(const uint8_t *code) {
    int narrow = 0;
    while (*code == 0x66 || *code == 0x3E || *code == 0x2E || (*code & 0xF0) == 0x40) narrow |= *code++ == 0x66;
    if (code[0] != 0x0F || code[1] != 0xAE || code[2] >> 6 == 3) return 0;
    unsigned which = code[2] >> 3 & 7;
    return which == 7 || (which == 6 && narrow);
}

/* A fault, or the step after it; 0 when it is another's. */
static int watched(int number, const siginfo_t *info, ucontext_t *context) {
    greg_t *registers = context->uc_mcontext.gregs;
    if (number == SIGTRAP && open_count) {
        while (open_count) allow(open_pages[--open_count], PAGE, watching ? PROT_NONE : PROT_READ | PROT_WRITE);
        registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return 1;
    }
    uint64_t address = (uint64_t)info->si_addr, page = address & ~(uint64_t)(PAGE - 1);
    if (!watching || number != SIGSEGV || info->si_code != SEGV_ACCERR || open_count == OPEN_PAGES) return 0;
    /* What the recorder looks at the program has just stored. */
    uint64_t at = (uint64_t)registers[REG_RIP];
    int reads_nothing = registers[REG_ERR] & FAULT_WRITES || is_flush((const uint8_t *)at) || peek_at(at);
    if (!note_touch(address, reads_nothing)) return 0;
    if (!allow_all(page, PAGE)) return 0;
    open_pages[open_count++] = page;
    registers[REG_EFL] |= TRAP_FLAG;
    if (atomic_fetch_add(&step_count, 1) < MOST_STEPS) return 1;
    /* Enough was seen. */
    watching = 0;
    for (unsigned i = 0; i < read_mapping_count; i++) allow_all(read_mappings[i].from, read_mappings[i].bytes);
    return 1;
}

/* Accesses that were made step by step: what it took to watch. */
static unsigned steps_made(void) { return atomic_load(&step_count); }

/* Whether code without hooks read lines that the hooks do not tell of. */
static int touched_more(void) {
    for (unsigned i = 0; i < read_file_count; i++)
        for (uint64_t k = 0; k < read_files[i].lines / 8 + 1; k++)
            if (read_files[i].touched[k] & ~read_files[i].bits[k]) return 1;
    return 0;
}
