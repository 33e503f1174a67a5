/* What a locked instruction of inline assembly stores, and where. */

/* The bytes of the register that is the operand here; 0 for what is none. */
static int register_bytes(const char *operand) {
    static const char *const WORDS[] = {"ax", "cx", "dx", "bx", "bp", "si", "di"};
    static const char *const BYTES[] = {"al", "cl", "dl", "bl", "ah", "ch", "dh", "bh", "sil", "dil", "bpl"};
    const char *r = operand + strspn(operand, " \t%");
    for (size_t i = 0; i < 16; i++) {
        if (is_word(r, REGISTERS64[i])) return 8;
        if (is_word(r, REGISTERS32[i])) return 4;
        size_t n = strlen(REGISTERS64[i]);
        if (i >= 8 && !strncasecmp(r, REGISTERS64[i], n) && r[n] && !in_name(r[n + 1])) {
            int last = tolower((unsigned char)r[n]);
            return last == 'w' ? 2 : last == 'b' || last == 'l' ? 1 : 0;
        }
    }
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (is_word(r, WORDS[i])) return 2;
    for (size_t i = 0; i < sizeof BYTES / sizeof *BYTES; i++)
        if (is_word(r, BYTES[i])) return 1;
    return 0;
}

/* What operands tell, by a size that Intel syntax names or by a register. */
static int operand_bytes(const char *operands, int intel) {
    static const struct { const char *word; int bytes; } SIZES[] = {{"byte ptr", 1}, {"qword ptr", 8}, {"dword ptr", 4}, {"word ptr", 2}};
    for (size_t k = 0; intel && k < sizeof SIZES / sizeof *SIZES; k++)
        if (strcasestr(operands, SIZES[k].word)) return SIZES[k].bytes;
    int first = register_bytes(operands);
    const char *comma = strrchr(operands, ',');
    return first || !comma ? first : register_bytes(comma + 1);
}

/* How many bytes it stores; 0 where neither its name nor its operands tell. */
static int locked_bytes(const char *name, const char *operands, int intel) {
    static const char *const NAMES[] = {"xchg", "cmpxchg", "xadd", "add", "adc", "and", "or", "xor", "sub", "sbb", "inc", "dec", "neg", "not"};
    static const char SUFFIXES[] = "bwlq";
    if (is_word(name, "cmpxchg16b")) return 16;
    if (is_word(name, "cmpxchg8b")) return 8;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        size_t n = strlen(NAMES[i]);
        if (is_word(name, NAMES[i])) return operand_bytes(operands, intel);
        const char *suffix = strncasecmp(name, NAMES[i], n) || !name[n] ? NULL : strchr(SUFFIXES, tolower((unsigned char)name[n]));
        if (suffix && !in_name(name[n + 1])) return 1 << (suffix - SUFFIXES);
    }
    return 0;
}

/* The operand in memory, whichever of two it is; NULL where it is not plain to see, or a thread's own. */
static char *locked_memory(const char *operands, int intel) {
    if (!strpbrk(operands, "([") || strchr(operands, '\\')) return NULL;
    char *memory = memory_operand(operands, intel);
    if (!strpbrk(memory, "([")) {
        free(memory);
        memory = memory_operand(operands, !intel);
    }
    if (strpbrk(memory, "([") && !strcasestr(memory, "fs:") && !strcasestr(memory, "gs:")) return memory;
    free(memory);
    return NULL;
}

static int is_on_stack(const char *memory) {
    for (const char *at = memory; *at; at++)
        if ((at == memory || !in_name(at[-1])) && (is_word(at, "rsp") || is_word(at, "esp") || is_word(at, "sp"))) return 1;
    return 0;
}

/* A locked instruction waits for flushes; its place among those of other threads is that of its memory, where it is
 * plain to see, and then it is a store too. One to the stack is a fence alone. */
static void locked(const struct statement *s, size_t at, const char *name, const char *operands) {
    char *memory = locked_memory(operands, s->intel);
    int bytes = memory && !is_on_stack(memory) ? locked_bytes(name, operands, s->intel) : 0;
    hook(s, at, !memory ? MFENCE : bytes ? LOCKED_STORE + bytes : LOCKED, memory);
    free(memory);
}
