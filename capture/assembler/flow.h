/* The flow of control through compiler-made code: instructions, blocks, and where flags and a register are live. */

enum { FLAGS = 1, R11 = 2 };
enum leaves { GOES_ON, MAY_JUMP, JUMPS };

struct node {
    const struct statement *first, *last; /* one instruction, or a whole piece of inline assembly */
    size_t target;                        /* where it jumps to; `node_count` when that is elsewhere */
    unsigned weight;                      /* instructions of the program's own */
    unsigned char uses, kills, leaves, app, leader, anywhere, closed;
    unsigned char live; /* before it */
};

static struct node *nodes;
static size_t node_count;

/* Labels by name: the node that follows, and whether code or data refer to it. */
struct label {
    const char *name;
    size_t length, node;
    unsigned char here, jumped, taken;
};
static struct label *label_table;
static size_t label_capacity, label_count;

static struct label *find_label(const char *name, size_t length) {
    size_t hash = 1469598103934665603u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
    for (size_t i = hash & (label_capacity - 1);; i = (i + 1) & (label_capacity - 1)) {
        struct label *l = &label_table[i];
        if (!l->name || (l->length == length && !memcmp(l->name, name, length))) return l;
    }
}

static struct label *label_of(const char *name, size_t length) {
    if (2 * label_count >= label_capacity) {
        struct label *old = label_table;
        size_t n = label_capacity;
        label_capacity = n ? 2 * n : 1024;
        label_table = must(calloc(label_capacity, sizeof *label_table));
        for (size_t i = 0; i < n; i++)
            if (old[i].name) *find_label(old[i].name, old[i].length) = old[i];
        free(old);
    }
    struct label *l = find_label(name, length);
    if (l->name) return l;
    l->name = name;
    l->length = length;
    label_count++;
    return l;
}

/* The first local label (.L...) at or after `s`; `*length` tells how long it is. */
static const char *local_label(const char *s, size_t *length) {
    for (; (s = strstr(s, ".L")); s++) {
        if (in_name(s[-1])) continue;
        size_t n = 0;
        while (in_name(s[n]) && s[n] != '@') n++;
        *length = n;
        return s;
    }
    return NULL;
}

/* Labels of exception tables and of debugging that are no places to jump to. */
static int only_marks(const char *name) {
    static const char *const MARKS[] = {".LEHB", ".LEHE", ".LFB", ".LFE", ".LVL", ".LB", ".Lfunc_begin", ".Lfunc_end"};
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
        if (strncmp(name, MARKS[i], strlen(MARKS[i]))) continue;
        /* clang's blocks are .LBB0_1; gcc's lexical blocks .LBB1. */
        if (!strncmp(name, ".LBB", 4)) return !memchr(name, '_', strcspn(name, "-+ ,\t"));
        return 1;
    }
    return 0;
}

static char *past_prefixes(char *c) {
    for (;;) {
        if (*c == '{') c += strcspn(c, "}") + (strchr(c, '}') != NULL);
        else if (prefix_word(c) >= 0) c += strcspn(c, " \t");
        else return c;
        c += strspn(c, " \t,");
    }
}

/* Whether the mnemonic is one of the words, with or without a suffix of size. */
static int one_of(const char *s, const char *list) {
    size_t n = 0;
    while (in_name(s[n])) n++;
    for (const char *w = list; *w; w += strspn(w, " ")) {
        size_t length = strcspn(w, " ");
        if (n >= length && n <= length + 1 && !strncasecmp(s, w, length) && (n == length || strchr("bwlqBWLQ", s[length]))) return 1;
        w += length;
    }
    return 0;
}

static int conditional_jump(const char *m) {
    return (tolower((unsigned char)*m) == 'j' && strncasecmp(m, "jmp", 3)) || !strncasecmp(m, "loop", 4) || is_word(m, "xbegin");
}

static int reads_flags(const char *m) {
    if (conditional_jump(m)) return strncasecmp(m, "jrcxz", 5) && strncasecmp(m, "jecxz", 5) && !is_word(m, "loop");
    return !strncasecmp(m, "set", 3) || !strncasecmp(m, "cmov", 4) || !strncasecmp(m, "fcmov", 5)
        || one_of(m, "adc sbb rcl rcr lahf pushf cmc adcx adox seto salc");
}

/* Instructions after which nothing of the flags before can be asked for. */
static int sets_flags(const char *m, const char *operands) {
    if (one_of(m, "shl sal shr sar shld shrd")) return operands[0] == '$' ? strcmp(operands, "$0") && strncmp(operands, "$0,", 3) : 0;
    return one_of(m, "add sub cmp test and or xor neg imul mul div idiv popcnt lzcnt tzcnt bsf bsr andn blsr blsi blsmsk "
                     "bextr bzhi cmpxchg xadd popf sahf call ucomiss ucomisd comiss comisd vucomiss vucomisd vcomiss "
                     "vcomisd ptest vptest fcomi fcomip fucomi fucomip kortest ktest");
}

/* The register r11: written whole without being read, or else read when it is named. */
static void follow_r11(struct node *n, const struct statement *s, const char *m) {
    const char *at = strcasestr(s->words, "r11"), *comma;
    if (one_of(m, "call")) n->kills |= R11;
    if (!at) return;
    comma = strrchr(m, ',');
    int whole = !s->intel && comma && one_of(m, "mov movabs lea movzb movzw movsb movsw movsl movslq")
        && (is_word(comma + 1 + strspn(comma + 1, " \t"), "%r11") || is_word(comma + 1 + strspn(comma + 1, " \t"), "%r11d")) && at > comma;
    if (whole) n->kills |= R11;
    else n->uses |= R11;
}

static void describe(struct node *n, const struct statement *s) {
    char *m = past_prefixes(s->words);
    const char *operands = m + strcspn(m, " \t");
    operands += strspn(operands, " \t");
    n->weight = *m != 0;
    n->leaves = conditional_jump(m) ? MAY_JUMP : one_of(m, "jmp ret ud2 hlt") ? JUMPS : GOES_ON;
    if (reads_flags(m)) n->uses |= FLAGS;
    else if (sets_flags(m, operands)) n->kills |= FLAGS;
    follow_r11(n, s, m);
    /* Through a table, to any label whose address is taken. */
    n->anywhere = n->leaves == JUMPS && one_of(m, "jmp") && (*operands == '*' || (s->intel && !isalpha((unsigned char)*operands) && *operands != '.'));
    if (s->intel && n->leaves == JUMPS && one_of(m, "jmp") && strpbrk(operands, "[")) n->anywhere = 1;
    /* Nothing stands between a prefix, or data, and what follows, nor in the sequences that the linker rewrites. */
    n->closed = !*m || strcasestr(s->words, "@tls") || is_word(m, "endbr64") || is_word(m, "endbr32");
}

static struct node *new_node(const struct statement *s) {
    nodes = grown(nodes, node_count, sizeof *nodes);
    struct node *n = &nodes[node_count++];
    *n = (struct node){.first = s, .last = s, .app = s->app};
    return n;
}

/* Notes what a statement refers to: jumps or addresses. */
static void refer(const struct statement *s) {
    size_t length;
    for (const char *l = s->words; (l = local_label(l, &length)); l += length) {
        if (only_marks(l)) continue;
        struct label *label = label_of(l, length);
        const char *m = past_prefixes(s->words);
        int jump = s->what == INSTRUCTION && (s->app || conditional_jump(m) || (one_of(m, "jmp") && l > m && l[-1] != '*' && !strpbrk(m, "*[")));
        if (jump) label->jumped = 1;
        else label->taken = 1;
    }
    if (s->what != INSTRUCTION) return;
    /* A jump to a function of the same text. */
    const char *m = past_prefixes(s->words), *target = m + strcspn(m, " \t");
    if (!one_of(m, "jmp") && !conditional_jump(m)) return;
    target += strspn(target, " \t");
    size_t n = 0;
    while (in_name(target[n]) && target[n] != '@') n++;
    if (n && *target != '.') label_of(target, n)->jumped = 1;
}

static int is_reference(const char *d) {
    return element_size(d) || is_word(d, ".uleb128") || is_word(d, ".sleb128") || is_word(d, ".set") || is_word(d, ".equ") || *d != '.';
}

/* Nodes of all code, and the labels before them. */
static void take_nodes(void) {
    int closed = 0, labelled = 0;
    for (size_t i = 0; i < statement_count; i++) {
        const struct statement *s = &statements[i];
        if (s->debug) continue;
        if (s->what == INSTRUCTION ? s->code : s->what == DIRECTIVE && is_reference(s->words)) refer(s);
        if (!s->code) continue;
        struct node *before = node_count ? &nodes[node_count - 1] : NULL;
        if (s->what == LABEL && !s->app) {
            if (only_marks(s->words)) continue;
            labelled = 1;
            struct label *l = label_of(s->words, (size_t)(s->end - s->at));
            l->here = 1;
            l->node = node_count;
            closed = 0;
        } else if (s->app && s->what != LABEL && (s->what == INSTRUCTION || element_size(s->words))) {
            struct node *n = before && before->app && !labelled ? before : new_node(s);
            labelled = 0;
            n->last = s;
            n->weight += s->what == INSTRUCTION && *past_prefixes(s->words);
            /* Inline assembly may change the flags and never reads them. */
            n->kills |= FLAGS;
            if (strcasestr(s->words, "r11")) n->uses |= R11;
            size_t length;
            if (local_label(s->words, &length)) n->leaves = MAY_JUMP;
        } else if (s->what == INSTRUCTION) {
            labelled = 0;
            struct node *n = new_node(s);
            describe(n, s);
            int own = n->closed;
            n->closed = (unsigned char)(closed || is_word(s->words, "endbr64"));
            closed = own && !is_word(s->words, "endbr64");
        } else if (s->what == DIRECTIVE && element_size(s->words))
            closed = 1;
    }
}

static size_t node_of(const char *name, size_t length) {
    const struct label *l = label_of(name, length);
    return l->here ? l->node : node_count;
}

static void mark_leaders(void) {
    for (size_t i = 0; i < label_capacity; i++) {
        struct label *l = &label_table[i];
        int function = l->name && strncmp(l->name, ".L", 2);
        if (l->here && l->node < node_count && (function || l->jumped || l->taken)) nodes[l->node].leader = 1;
    }
    for (size_t i = 0; i < node_count; i++) {
        struct node *n = &nodes[i];
        if (i == 0 || nodes[i - 1].leaves != GOES_ON) n->leader = 1;
        const char *m = past_prefixes(n->first->words), *target = m + strcspn(m, " \t");
        target += strspn(target, " \t");
        size_t length = 0;
        while (in_name(target[length]) && target[length] != '@') length++;
        n->target = !n->app && n->leaves != GOES_ON && length ? node_of(target, length) : node_count;
    }
}

/* What is live where a node jumps to; `taken` is what is live at any label whose address is taken. */
static unsigned live_at_targets(const struct node *n, unsigned taken) {
    unsigned live = n->anywhere ? taken : 0;
    if (n->leaves == GOES_ON) return 0;
    if (n->target < node_count) live |= nodes[n->target].live;
    for (const struct statement *s = n->first; n->app && s <= n->last; s++) {
        size_t length;
        if (s->what != INSTRUCTION) continue;
        for (const char *l = s->words; (l = local_label(l, &length)); l += length) {
            size_t target = node_of(l, length);
            if (target < node_count) live |= nodes[target].live;
        }
    }
    return live;
}

/* Backwards until nothing changes. */
static void find_live(void) {
    unsigned taken = 0;
    for (int changed = 1; changed;) {
        changed = 0;
        for (size_t i = node_count; i-- > 0;) {
            struct node *n = &nodes[i];
            unsigned after = live_at_targets(n, taken);
            if (n->leaves != JUMPS && i + 1 < node_count) after |= nodes[i + 1].live;
            unsigned live = n->uses | (after & ~(unsigned)n->kills);
            if (n->app) live |= after & R11; /* it may keep it */
            changed |= live != n->live;
            n->live = (unsigned char)live;
        }
        for (size_t i = 0; i < label_capacity; i++) {
            const struct label *l = &label_table[i];
            if (!l->taken || !l->here || l->node >= node_count) continue;
            changed |= (nodes[l->node].live & ~taken) != 0;
            taken |= nodes[l->node].live;
        }
    }
}
