/* One addition a block to the thread's counter of instructions: those of the program's own, not the hooks' calls and
 * what is moved for them. Flags and registers stay as they are. */

/* Whether the linker may put the code into a library: then the counter's place is known at run time alone. */
static int position_independent;

static int made_by_compiler(void) {
    for (size_t i = statement_count; i-- > 0;)
        if (statements[i].what == DIRECTIVE && is_word(statements[i].words, ".ident"))
            return strstr(statements[i].words, "GCC: ") || strstr(statements[i].words, "clang version");
    return 0;
}

/* What a call of the recorder stands for: 1 for operations that it carries out, 0 for announcements, -1 for others. */
static int stands_for(const struct statement *s) {
    const char *m = past_prefixes(s->words);
    if (!one_of(m, "call")) return -1;
    const char *name = m + strcspn(m, " \t");
    name += strspn(name, " \t*");
    if (strncmp(name, "__tsan_", 7)) return strncmp(name, "__sanitizer", 11) ? -1 : 0;
    return !strncmp(name, "__tsan_atomic", 13) || !strncmp(name, "__tsan_mem", 10);
}

/* Whether the instruction does nothing but put an argument into this register. */
static int fills(const struct statement *s, const char *const *names) {
    const char *m = past_prefixes(s->words);
    if (!one_of(m, "mov lea movabs xor movz movs movzb movzw movsb movsw movsl")) return 0;
    const char *to = s->intel ? m + strcspn(m, " \t") : strrchr(m, ',');
    if (!to) return 0;
    to += strspn(to, ", \t%");
    for (; *names; names++)
        if (is_word(to, *names)) return 1;
    return 0;
}

/* Takes the arguments of a hook's call out of the count: for each register, what filled it last. */
static void discount(size_t call, int atomic) {
    static const char *const RDI[] = {"rdi", "edi", NULL}, *const RSI[] = {"rsi", "esi", NULL};
    static const char *const RDX[] = {"rdx", "edx", NULL}, *const RCX[] = {"rcx", "ecx", NULL};
    static const char *const R8[] = {"r8", "r8d", NULL};
    static const char *const *const ARGUMENTS[] = {RDI, RSI, RDX, RCX, R8};
    for (int a = 0; a < (atomic ? 5 : 1); a++) {
        for (size_t i = call; i-- > 0;) {
            struct node *n = &nodes[i];
            if (n->app || n->leaves != GOES_ON || one_of(past_prefixes(n->first->words), "call")) break;
            if (fills(n->first, ARGUMENTS[a])) {
                n->weight = 0;
                break;
            }
            if (n->leader) break;
        }
    }
}

static void weigh(void) {
    for (size_t i = 0; i < node_count; i++) {
        if (nodes[i].app) continue;
        int stands = stands_for(nodes[i].first);
        if (stands < 0) continue;
        nodes[i].weight = (unsigned)stands;
        discount(i, stands);
    }
}

/* The addition, by what is free: the flags, and r11. */
static void add_work(const struct node *node, unsigned n) {
    const struct statement *s = node->first;
    /* Before the mark of inline assembly: a label of its own may stand before its first instruction. */
    size_t at = node->app ? s->app_at : s->at;
    const char *fs = "%fs:coreplane_work@tpoff";
    int flags = !(node->live & FLAGS), r11 = !(node->live & R11);
    if (s->intel) insert(at, ".att_syntax prefix; ");
    if (!position_independent && flags) insert(at, "addq $%u, %s; ", n, fs);
    else {
        if (!r11) insert(at, "leaq -%d(%%rsp), %%rsp; pushq %%r11; ", RED_ZONE);
        if (!position_independent) insert(at, "movq %s, %%r11; leaq %u(%%r11), %%r11; movq %%r11, %s; ", fs, n, fs);
        else {
            insert(at, "movq coreplane_work@gottpoff(%%rip), %%r11; ");
            if (flags) insert(at, "addq $%u, %%fs:(%%r11); ", n);
            else {
                if (r11) insert(at, "leaq -%d(%%rsp), %%rsp; ", RED_ZONE);
                insert(at, "pushq %%r10; movq %%fs:(%%r11), %%r10; leaq %u(%%r10), %%r10; movq %%r10, %%fs:(%%r11); popq %%r10; ", n);
                if (r11) insert(at, "leaq %d(%%rsp), %%rsp; ", RED_ZONE);
            }
        }
        if (!r11) insert(at, "popq %%r11; leaq %d(%%rsp), %%rsp; ", RED_ZONE);
    }
    if (s->intel) insert(at, ".intel_syntax %s; ", s->noprefix ? "noprefix" : "prefix");
    if (node->app) insert(at, "\n");
}

/* The best place of a block: the first with all free, else with the flags, else any. */
static void count_block(size_t from, size_t to) {
    unsigned weight = 0;
    for (size_t i = from; i < to; i++) weight += nodes[i].weight;
    if (!weight) return;
    static const unsigned WANTED[] = {FLAGS | R11, FLAGS, 0};
    for (int w = position_independent ? 0 : 1; w < 3; w++) {
        for (size_t i = from; i < to; i++) {
            if (nodes[i].closed || (nodes[i].live & WANTED[w])) continue;
            add_work(&nodes[i], weight);
            return;
        }
    }
}

static void count(void) {
    const char *pic = getenv("COREPLANE_PIC");
    if (!made_by_compiler()) return;
    position_independent = pic && *pic;
    take_nodes();
    mark_leaders();
    find_live();
    weigh();
    for (size_t from = 0, to; from < node_count; from = to) {
        for (to = from + 1; to < node_count && !nodes[to].leader; to++) {}
        count_block(from, to);
    }
}
