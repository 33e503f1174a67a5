/* Instructions written as bytes: `.byte 0x66; xsaveopt (%rax)`, `.byte 0x66,0x0f,0xae,0x30`. */

/* Kinds as in the trace format; NON_TEMPORAL + bytes for non-temporal stores; HARMLESS for what is none of these. */
enum { CLWB = 6, CLFLUSHOPT, CLFLUSH, SFENCE, MFENCE, NON_TEMPORAL = 0x100, HARMLESS = 0, UNKNOWN = -1 };

struct operand {
    int base, index, scale, segment; /* register numbers, -1 for none; base 16 is the instruction's end (rip) */
    long displacement;
    int narrow; /* 32-bit registers */
};

struct decoded {
    size_t length;
    int kind;
    int changes; /* registers may differ afterwards */
    struct operand memory;
};

static const char *const REGISTERS64[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
static const char *const REGISTERS32[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi",
                                          "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d", "eip"};

struct bytes {
    const unsigned char *at;
    size_t left;
    int short_of; /* more was read than there is */
};

static unsigned next_byte(struct bytes *b) {
    if (!b->left) {
        b->short_of = 1;
        return 0;
    }
    b->left--;
    return *b->at++;
}

static long next_displacement(struct bytes *b, int n) {
    unsigned long v = 0;
    for (int i = 0; i < n; i++) v |= (unsigned long)next_byte(b) << 8 * i;
    return n == 1 ? (signed char)v : (int)v;
}

struct prefixes {
    int operand16, repeat, rex, segment, narrow;
};

/* ModRM with what follows it; 1 when it names memory. */
static int operand(struct bytes *b, const struct prefixes *p, int *reg, struct operand *o) {
    unsigned modrm = next_byte(b), mod = modrm >> 6, rm = modrm & 7;
    *reg = (int)(modrm >> 3 & 7);
    *o = (struct operand){-1, -1, 1, p->segment, 0, p->narrow};
    if (mod == 3) return 0;
    if (rm == 4) {
        unsigned sib = next_byte(b), index = (sib >> 3 & 7) | (p->rex & 2) << 2;
        o->scale = 1 << (sib >> 6);
        o->index = index == 4 ? -1 : (int)index;
        o->base = (int)((sib & 7) | (p->rex & 1) << 3);
        if ((sib & 7) == 5 && mod == 0) {
            o->base = -1;
            o->displacement = next_displacement(b, 4);
        }
    } else if (rm == 5 && mod == 0) {
        o->base = 16;
        o->displacement = next_displacement(b, 4);
    } else
        o->base = (int)(rm | (p->rex & 1) << 3);
    if (mod == 1) o->displacement = next_displacement(b, 1);
    if (mod == 2) o->displacement = next_displacement(b, 4);
    return 1;
}

/* 1 and the prefix noted when `c` is one. */
static int prefix(unsigned c, struct prefixes *p) {
    switch (c) {
    case 0x66: p->operand16 = 1; return 1;
    case 0x67: p->narrow = 1; return 1;
    case 0xF2: case 0xF3: p->repeat = (int)c; return 1;
    case 0x64: case 0x65: p->segment = (int)c; return 1;
    case 0x26: case 0x2E: case 0x36: case 0x3E: case 0xF0: return 1;
    default: return 0;
    }
}

/* 0F AE: flushes, fences, and state that is saved. */
static int group15(struct bytes *b, const struct prefixes *p, struct operand *o) {
    int reg, memory = operand(b, p, &reg, o);
    if (!memory) return p->repeat || p->operand16 ? HARMLESS : reg == 6 ? MFENCE : reg == 7 ? SFENCE : HARMLESS;
    if (p->repeat) return HARMLESS;
    if (reg == 7) return p->operand16 ? CLFLUSHOPT : CLFLUSH;
    return reg == 6 && p->operand16 ? CLWB : HARMLESS;
}

/* A store of `bytes` when its operand is memory, as it must be. */
static int store(struct bytes *b, const struct prefixes *p, struct operand *o, int bytes) {
    int reg;
    return operand(b, p, &reg, o) ? NON_TEMPORAL + bytes : UNKNOWN;
}

static int two_bytes(struct bytes *b, const struct prefixes *p, struct decoded *d) {
    unsigned opcode = next_byte(b), third;
    int reg;
    switch (opcode) {
    case 0xAE: return group15(b, p, &d->memory);
    case 0xC3: return store(b, p, &d->memory, p->rex & 8 ? 8 : 4);
    case 0xE7: return store(b, p, &d->memory, p->operand16 ? 16 : 8);
    case 0x2B: return store(b, p, &d->memory, p->repeat == 0xF2 ? 8 : p->repeat ? 4 : 16);
    case 0x38:
        third = next_byte(b);
        if (third == 0xF9) return store(b, p, &d->memory, p->rex & 8 ? 8 : 4);
        if (third != 0xF8 || !p->operand16 || !operand(b, p, &reg, &d->memory)) return UNKNOWN;
        /* movdir64b: to where the register points. */
        d->memory = (struct operand){reg | (p->rex & 4) << 1, -1, 1, 0, 0, p->narrow};
        return NON_TEMPORAL + 64;
    case 0x0D: case 0x18: case 0x19: case 0x1A: case 0x1B: case 0x1C: case 0x1D: case 0x1E: case 0x1F:
        operand(b, p, &reg, &d->memory); /* prefetches, cldemote, endbr64, nops */
        return HARMLESS;
    case 0x01:
        third = next_byte(b);
        d->changes = 1;
        if (third == 0xFC) { /* clzero */
            d->memory = (struct operand){0, -1, 1, 0, 0, 0};
            d->changes = 0;
            return NON_TEMPORAL + 64;
        }
        return third >= 0xC0 ? HARMLESS : UNKNOWN;
    case 0x0B: return HARMLESS;
    case 0x31: case 0xA2: d->changes = 1; return HARMLESS; /* rdtsc, cpuid */
    case 0xC7: d->changes = 1; return operand(b, p, &reg, &d->memory) ? UNKNOWN : HARMLESS; /* rdrand, rdpid */
    default: return UNKNOWN;
    }
}

/* VEX: vmovntdq and vmovntps/pd alone. */
static int vex(struct bytes *b, unsigned first, struct prefixes *p, struct operand *o) {
    unsigned a = next_byte(b), last = first == 0xC4 ? next_byte(b) : a;
    p->rex = first == 0xC4 ? (int)(~a >> 5 & 7) : 0;
    if (first == 0xC4 && (a & 31) != 1) return UNKNOWN;
    unsigned opcode = next_byte(b);
    return opcode == 0xE7 || opcode == 0x2B ? store(b, p, o, last & 4 ? 32 : 16) : UNKNOWN;
}

/* The first instruction of the bytes; its kind is UNKNOWN when it is not one of those that matter here, or not whole. */
static struct decoded decode(const unsigned char *bytes, size_t n) {
    struct bytes b = {bytes, n, 0};
    struct prefixes p = {0};
    struct decoded d = {.kind = UNKNOWN};
    unsigned c = next_byte(&b);
    while (prefix(c, &p) && b.left) c = next_byte(&b);
    if ((c & 0xF0) == 0x40) p.rex = (int)c & 15, c = next_byte(&b);
    if (c == 0x90 || c == 0xCC) d.kind = HARMLESS;
    else if (c == 0x0F) d.kind = two_bytes(&b, &p, &d);
    else if (c == 0xC4 || c == 0xC5) d.kind = vex(&b, c, &p, &d.memory);
    else if (c == 0xC7 || c == 0xC6) { /* xbegin, xabort */
        unsigned modrm = next_byte(&b);
        next_displacement(&b, c == 0xC7 ? 4 : 1);
        d.kind = modrm == 0xF8 ? HARMLESS : UNKNOWN;
        d.changes = 1;
    }
    if (b.short_of) d.kind = UNKNOWN;
    d.length = n - b.left;
    return d;
}

static int only_prefixes(const unsigned char *bytes, size_t n) {
    struct prefixes p = {0};
    size_t i = 0;
    while (i < n && prefix(bytes[i], &p)) i++;
    return i == n || (i + 1 == n && (bytes[i] & 0xF0) == 0x40);
}

/* Whether bytes that were not decoded may hold a flush, a fence or a non-temporal store: by their opcodes. */
static int may_persist(const unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned next = i + 1 < n ? bytes[i + 1] : 0x100;
        if (bytes[i] == 0x0F && (next == 0xAE || next == 0xC3 || next == 0xE7 || next == 0x2B || next >= 0x100)) return 1;
        if (bytes[i] == 0x0F && next == 0x38 && i + 2 < n && (bytes[i + 2] == 0xF8 || bytes[i + 2] == 0xF9)) return 1;
        if (i && (bytes[i] == 0xE7 || bytes[i] == 0x2B) && (bytes[0] == 0xC4 || bytes[0] == 0xC5 || bytes[0] == 0x62)) return 1;
    }
    return 0;
}
