/* A call of the recorder before every flush, fence and non-temporal store, whether it comes from an intrinsic, from
 * inline assembly, or as bytes. What cannot be understood is said, and noted in the object. */

/* Stack that may be in use below the stack pointer (System V ABI), and what the call below puts on it. */
enum { RED_ZONE = 128, SAVED_RDI = 8, MOVED = RED_ZONE + SAVED_RDI };

static const struct { const char *name; int kind; } INSTRUCTIONS[] = {
    {"clwb", CLWB}, {"clflushopt", CLFLUSHOPT}, {"clflush", CLFLUSH}, {"sfence", SFENCE}, {"mfence", MFENCE},
    {"movnti", 0x100}, {"movntil", 0x104}, {"movntiq", 0x108}, {"movntq", 0x108}, {"movdiri", 0x100},
    {"movntdq", 0x110}, {"movntps", 0x110}, {"movntpd", 0x110}, {"movntss", 0x104}, {"movntsd", 0x108},
    {"vmovntdq", 0x100}, {"vmovntps", 0x100}, {"vmovntpd", 0x100},
    {"movdir64b", 0x140}, {"clzero", 0x140}, {"maskmovq", 0x108}, {"maskmovdqu", 0x110}, {"vmaskmovdqu", 0x110},
};

static int kind_of(const char *s) {
    for (size_t i = 0; i < sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS; i++)
        if (is_word(s, INSTRUCTIONS[i].name)) return INSTRUCTIONS[i].kind;
    return HARMLESS;
}

/* Bytes that a non-temporal store writes, from its register where the name does not tell. */
static int width(int kind, const char *operands) {
    if (kind != NON_TEMPORAL) return kind;
    if (strcasestr(operands, "zmm")) return NON_TEMPORAL + 64;
    if (strcasestr(operands, "ymm")) return NON_TEMPORAL + 32;
    if (strcasestr(operands, "xmm")) return NON_TEMPORAL + 16;
    /* The register that stands alone: rax and r8 have eight bytes, eax and r8d four. */
    const char *comma = strchr(operands, ','), *first = operands + strspn(operands, " \t%"), *other = first;
    if (comma && (*first == '[' || *first == '(' || isdigit((unsigned char)*first) || strcasestr(first, "ptr")))
        other = strrchr(operands, ',') + 1 + strspn(strrchr(operands, ',') + 1, " \t%");
    size_t n = strcspn(other, ", \t");
    return tolower((unsigned char)*other) == 'r' && n && !strchr("dDwWbB", other[n - 1]) ? NON_TEMPORAL + 8 : NON_TEMPORAL + 4;
}

/* The memory operand: in AT&T syntax the last one, in Intel syntax the first. */
static char *memory_operand(const char *operands, int intel) {
    const char *start = operands, *end = operands + strlen(operands);
    int depth = 0;
    for (const char *c = operands; *c; c++) {
        depth += *c == '(' || *c == '[';
        depth -= *c == ')' || *c == ']';
        if (*c != ',' || depth) continue;
        if (intel) {
            end = c;
            break;
        }
        start = c + 1;
    }
    while (isspace((unsigned char)*start)) start++;
    while (end > start && isspace((unsigned char)end[-1])) end--;
    const char *ptr = intel ? strcasestr(start, "ptr ") : NULL;
    if (ptr && ptr < end) start = ptr + 4;
    return must(strndup(start, (size_t)(end - start)));
}

/* The memory of instructions that name it by a register or not at all; NULL for others. */
static char *implied_operand(const char *name, const char *operands, int intel) {
    char *made, *r = NULL;
    if (is_word(name, "clzero")) r = strdup("%rax");
    else if (is_word(name, "maskmovq") || is_word(name, "maskmovdqu") || is_word(name, "vmaskmovdqu")) r = strdup("%rdi");
    else if (is_word(name, "movdir64b")) r = memory_operand(operands, intel); /* stands where others have their memory */
    else return NULL;
    must(r);
    int n = intel ? asprintf(&made, "[%s]", r + (*r == '%')) : asprintf(&made, "(%s)", r);
    if (n < 0) must(NULL);
    free(r);
    return made;
}

/* The operand as it is after the call's pushes: the stack pointer has moved. */
static char *moved(const char *memory, int intel) {
    char *made = NULL;
    int n;
    if (!strcasestr(memory, "rsp")) return must(strdup(memory));
    if (!intel) n = asprintf(&made, "%d%s%s", MOVED, *memory == '(' ? "" : "+", memory);
    else {
        int before = (int)(strrchr(memory, ']') - memory);
        n = asprintf(&made, "%.*s+%d%s", before, memory, MOVED, memory + before);
    }
    if (n < 0) must(NULL);
    return made;
}

/* Everything is on the line of the instruction, so that the numbers of lines stay. */
static void hook(const struct statement *s, size_t at, int kind, const char *memory) {
    char *address = memory ? moved(memory, s->intel) : NULL;
    /* By the table of addresses: a lazily bound call would lose registers that the program uses. */
    if (s->intel) {
        const char *r = s->noprefix ? "" : "%";
        insert(at, "lea %srsp, [%srsp-%d]; push %srdi; ", r, r, RED_ZONE, r);
        if (address) insert(at, "lea %srdi, %s; ", r, address);
        insert(at, "push %d; call [QWORD PTR __coreplane_persist@GOTPCREL[%srip]]; ", kind, r);
        insert(at, "pop %srdi; lea %srsp, [%srsp+%d]; ", r, r, r, RED_ZONE);
    } else {
        insert(at, "leaq -%d(%%rsp), %%rsp; pushq %%rdi; ", RED_ZONE);
        if (address) insert(at, "leaq %s, %%rdi; ", address);
        insert(at, "pushq $%d; call *__coreplane_persist@GOTPCREL(%%rip); ", kind);
        insert(at, "popq %%rdi; leaq %d(%%rsp), %%rsp; ", RED_ZONE);
    }
    free(address);
}

static char *unseen_texts = NULL;

/* Says what is not recorded, and keeps it for the object. */
static void unseen(const struct statement *s, const char *what) {
    unsigned line = s->line;
    const char *file = s->file;
    if (!file) {
        file = text_name;
        line = 1;
        for (size_t i = 0; i < s->at; i++) line += text[i] == '\n';
    }
    fprintf(stderr, "%s:%u: coreplane: warning: %s: what it flushes, fences or stores is not recorded\n", file, line, what);
    char *more = NULL, escaped[256];
    size_t n = 0;
    for (; *file && n < sizeof escaped - 2; file++) {
        if (*file == '"' || *file == '\\') escaped[n++] = '\\';
        escaped[n++] = *file;
    }
    escaped[n] = 0;
    if (asprintf(&more, "%s\t.asciz \"%s:%u: %s\"\n", unseen_texts ? unseen_texts : "", escaped, line, what) < 0) must(NULL);
    free(unseen_texts);
    unseen_texts = more;
}

/* Bytes that stand one after the other, not decoded yet. */
static struct {
    unsigned char bytes[1 << 16];
    size_t n, known; /* from `known` on there are symbols, or too many bytes */
    const struct statement *first, *last;
} raw;

static unsigned labels;

/* The operand of decoded bytes as text. */
static char *spelled(const struct operand *o, int intel, int noprefix, unsigned label) {
    const char *const *names = o->narrow ? REGISTERS32 : REGISTERS64;
    const char *r = intel && noprefix ? "" : "%";
    char text[128] = "", *made;
    int n = 0;
    if (intel) {
        n += sprintf(text + n, "[");
        if (o->base >= 0) n += sprintf(text + n, "%s%s+", r, names[o->base]);
        if (o->index >= 0) n += sprintf(text + n, "%s%s*%d+", r, names[o->index], o->scale);
        if (o->base == 16) n += sprintf(text + n, ".Lcoreplane_end%u+", label);
        sprintf(text + n, "%ld]", o->displacement);
    } else {
        n += sprintf(text + n, "%ld", o->displacement);
        if (o->base == 16) n += sprintf(text + n, "+.Lcoreplane_end%u", label);
        n += sprintf(text + n, "(");
        if (o->base >= 0) n += sprintf(text + n, "%s%s", r, names[o->base]);
        if (o->index >= 0) n += sprintf(text + n, ",%s%s,%d", r, names[o->index], o->scale);
        sprintf(text + n, ")");
    }
    made = must(strdup(text));
    return made;
}

/* Hooks for what the bytes hold. Returns where it ends: at prefixes of the instruction that follows, or at what is not
 * understood. */
static size_t decode_raw(void) {
    size_t i = 0;
    int changed = 0;
    while (i < raw.known && !only_prefixes(raw.bytes + i, raw.known - i)) {
        struct decoded d = decode(raw.bytes + i, raw.known - i);
        int relative = d.memory.base == 16, named = d.kind != SFENCE && d.kind != MFENCE;
        /* Only the last instruction's end has a place where a label can stand. */
        int lost = d.kind > 0 && named && (changed || (relative && i + d.length != raw.n));
        if (d.kind == UNKNOWN || lost) break;
        if (d.kind > 0 && !(named && d.memory.segment)) {
            const struct statement *s = raw.first;
            char *memory = named ? spelled(&d.memory, s->intel, s->noprefix, labels) : NULL;
            hook(s, s->at, d.kind, memory);
            if (named && relative) insert(raw.last->end, "; .Lcoreplane_end%u:", labels++);
            free(memory);
        }
        changed |= d.changes;
        i += d.length;
    }
    return i;
}

/* LOCKED_STORE + n: a locked instruction that stores n bytes. */
enum { OPERAND16 = 1, LOCK_PREFIX = 2, LOCKED = 0x200, SYSCALL = 0x201, LOCKED_STORE = 0x210 };

/* Ends the bytes; which prefixes are left for the instruction `next`. */
static int end_raw(const struct statement *next, size_t *at) {
    if (!raw.n) return 0;
    size_t i = decode_raw();
    int whole = raw.known == raw.n && only_prefixes(raw.bytes + i, raw.n - i);
    if (!whole && may_persist(raw.bytes + i, raw.n - i)) unseen(raw.first, "bytes that are not understood");
    int left = 0;
    if (next && whole) left = (memchr(raw.bytes + i, 0x66, raw.n - i) ? OPERAND16 : 0) | (memchr(raw.bytes + i, 0xF0, raw.n - i) ? LOCK_PREFIX : 0);
    if (next && whole && i < raw.n) *at = raw.first->at;
    raw.n = raw.known = 0;
    return left;
}

static void keep_raw(const struct statement *s, unsigned long value, int size, int known) {
    if (!raw.n) raw.first = s;
    raw.last = s;
    for (int i = 0; i < size && raw.n < sizeof raw.bytes; i++) {
        if (known && raw.known == raw.n) raw.known++;
        raw.bytes[raw.n++] = (unsigned char)(value >> 8 * i);
    }
}

/* Bytes of an element of a data directive; 0 for other directives. */
static int element_size(const char *d) {
    static const struct { const char *name; int size; } DATA[] = {
        {".byte", 1}, {".value", 2}, {".short", 2}, {".word", 2}, {".hword", 2}, {".2byte", 2},
        {".long", 4}, {".int", 4}, {".4byte", 4}, {".quad", 8}, {".8byte", 8},
    };
    for (size_t i = 0; i < sizeof DATA / sizeof *DATA; i++)
        if (is_word(d, DATA[i].name)) return DATA[i].size;
    return 0;
}

static void data(const struct statement *s, int size) {
    char *c = s->words + strcspn(s->words, " \t");
    for (;;) {
        char *after;
        unsigned long value = strtoul(c, &after, 0);
        after += strspn(after, " \t");
        int number = after != c && (*after == ',' || !*after);
        keep_raw(s, number ? value : 0, size, number);
        if (!number) after += strcspn(after, ",");
        if (!*after) return;
        c = after + 1;
    }
}

/* The byte of a prefix that is written as a word of its own, or -1. */
static int prefix_word(const char *s) {
    static const struct { const char *name; int byte; } PREFIXES[] = {
        {"data16", 0x66}, {"addr32", 0x67}, {"rep", 0xF3}, {"repe", 0xF3}, {"repz", 0xF3}, {"repne", 0xF2},
        {"repnz", 0xF2}, {"lock", 0xF0}, {"notrack", 0x3E}, {"bnd", 0xF2}, {"cs", 0x2E}, {"ds", 0x3E}, {"es", 0x26},
        {"ss", 0x36}, {"fs", 0x64}, {"gs", 0x65}, {"xacquire", 0xF2}, {"xrelease", 0xF3}, {"rex", 0x40},
        {"rex64", 0x48}, {"rex.w", 0x48},
    };
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++)
        if (is_word(s, PREFIXES[i].name)) return PREFIXES[i].byte;
    return -1;
}

/* The mnemonic behind prefixes, each of which joins the bytes before it; NULL when there is none. */
static char *mnemonic(const struct statement *s) {
    char *c = s->words;
    for (int byte; *c; c += strspn(c, " \t,")) {
        if (*c == '{') c += strcspn(c, "}") + 1; /* {vex} */
        else if ((byte = prefix_word(c)) >= 0) {
            keep_raw(s, (unsigned long)byte, 1, 1);
            c += strcspn(c, " \t");
        } else
            return c;
    }
    return NULL;
}

static int is_exchange(const char *s) {
    static const char *const NAMES[] = {"xchg", "xchgb", "xchgw", "xchgl", "xchgq"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (is_word(s, NAMES[i])) return 1;
    return 0;
}

#include "locked.h"

static void instruction(const struct statement *s) {
    char *name = mnemonic(s);
    if (!name) return; /* a prefix alone */
    size_t at = s->at;
    int left = end_raw(s, &at), operand16 = left & OPERAND16, kind = kind_of(name);
    if (operand16 && kind == CLFLUSH) kind = CLFLUSHOPT;
    if (operand16 && (is_word(name, "xsaveopt") || is_word(name, "xsaveopt64"))) kind = CLWB;
    const char *operands = name + strcspn(name, " \t");
    operands += strspn(operands, " \t");
    if (kind == HARMLESS) {
        if (left & LOCK_PREFIX || (is_exchange(name) && strpbrk(operands, "([\\"))) locked(s, at, name, operands);
        if (is_word(name, "syscall")) hook(s, at, SYSCALL, s->intel ? s->noprefix ? "[rax]" : "[%rax]" : "(%rax)");
        return;
    }
    if (s->macro && strchr(operands, '\\')) {
        unseen(s, "an operand of a macro");
        return;
    }
    if (kind == SFENCE || kind == MFENCE) {
        hook(s, at, kind, NULL);
        return;
    }
    char *memory = implied_operand(name, operands, s->intel);
    if (!memory) memory = memory_operand(operands, s->intel);
    /* Memory of a segment is the thread's own, never a file's. */
    if (!strcasestr(memory, "fs:") && !strcasestr(memory, "gs:")) hook(s, at, width(kind, operands), memory);
    free(memory);
}

static void persist(void) {
    for (size_t i = 0; i < statement_count; i++) {
        const struct statement *s = &statements[i];
        if (raw.n && raw.last->region != s->region) end_raw(NULL, NULL);
        if (!s->code) {
            end_raw(NULL, NULL);
            continue;
        }
        if (s->what == INSTRUCTION) {
            instruction(s);
            continue;
        }
        int size = s->what == DIRECTIVE ? element_size(s->words) : 0;
        if (size) {
            data(s, size);
            continue;
        }
        end_raw(NULL, NULL);
        if (s->what == DIRECTIVE && (is_word(s->words, ".insn") || is_word(s->words, ".incbin"))) unseen(s, "an instruction in another form");
    }
    end_raw(NULL, NULL);
}
