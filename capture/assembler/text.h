/* Assembly text, taken apart: statements with their section, syntax and source place. The text itself stays as it is;
 * what is put in is a list of insertions. */

enum what { LABEL, DIRECTIVE, INSTRUCTION };

struct statement {
    size_t at, end;   /* in `text`: without labels before it and blanks behind it */
    char *words;      /* the same characters without comments, ended by a zero */
    const char *file; /* source place; NULL where the text names none */
    unsigned line;
    unsigned region; /* changes from one piece of inline assembly to the next */
    size_t app_at;   /* where the mark of the inline assembly stands */
    unsigned char what, code, debug, app, intel, noprefix, macro;
};

struct insertion {
    size_t at, order;
    char *text;
};

static char *text, *words;
static size_t text_size;
static const char *text_name = "<stdin>";
static struct statement *statements;
static size_t statement_count;
static struct insertion *insertions;
static size_t insertion_count;

static void *must(void *p) {
    if (!p) {
        fprintf(stderr, "coreplane: no memory\n");
        exit(2);
    }
    return p;
}

/* One more element; capacities are powers of two. */
static void *grown(void *array, size_t count, size_t size) {
    if (count & (count - 1)) return array;
    return must(realloc(array, (count ? 2 * count : 1) * size));
}

__attribute__((format(printf, 2, 3))) static void insert(size_t at, const char *format, ...) {
    insertions = grown(insertions, insertion_count, sizeof *insertions);
    struct insertion *i = &insertions[insertion_count];
    i->at = at;
    i->order = insertion_count++;
    va_list values;
    va_start(values, format);
    if (vasprintf(&i->text, format, values) < 0) must(NULL);
    va_end(values);
}

static int blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f'; }
static int in_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$' || c == '@'; }

/* Whether the text at `s` is this word. */
static int is_word(const char *s, const char *word) {
    size_t n = strlen(word);
    return !strncasecmp(s, word, n) && !in_name(s[n]);
}

/* Sections: those that hold code, and the stack of .pushsection. */
struct sections {
    int code[64], debug[64], depth, previous_code, previous_debug;
};

static void enter_section(struct sections *s, const char *rest) {
    char name[64] = "";
    size_t n = 0;
    for (rest += *rest == '"'; *rest && !strchr("\", \t", *rest) && n < sizeof name - 1; rest++) name[n++] = *rest;
    const char *flags = strchr(rest, ',');
    const char *quoted = flags ? strchr(flags, '"') : NULL;
    int code = !strncmp(name, ".text", 5) || !strncmp(name, ".init", 5) || !strncmp(name, ".fini", 5);
    code = code && strncmp(name, ".init_array", 11) && strncmp(name, ".fini_array", 11);
    if (quoted) code = !!memchr(quoted + 1, 'x', strcspn(quoted + 1, "\""));
    s->previous_code = s->code[s->depth];
    s->previous_debug = s->debug[s->depth];
    s->code[s->depth] = code;
    s->debug[s->depth] = !strncmp(name, ".debug", 6);
}

/* Follows directives that change the section; 1 when this was one. */
static int follow_section(struct sections *s, const char *d) {
    const char *rest = d + strcspn(d, " \t");
    rest += strspn(rest, " \t");
    if (is_word(d, ".text")) enter_section(s, ".text");
    else if (is_word(d, ".data")) enter_section(s, ".data");
    else if (is_word(d, ".bss")) enter_section(s, ".bss");
    else if (is_word(d, ".section")) enter_section(s, rest);
    else if (is_word(d, ".pushsection")) {
        if (s->depth < 63) s->depth++;
        enter_section(s, rest);
    } else if (is_word(d, ".popsection")) s->depth -= s->depth > 0;
    else if (is_word(d, ".previous")) {
        int code = s->code[s->depth], debug = s->debug[s->depth];
        s->code[s->depth] = s->previous_code;
        s->debug[s->depth] = s->previous_debug;
        s->previous_code = code;
        s->previous_debug = debug;
    } else return 0;
    return 1;
}

/* What the directives before a place say. */
struct place {
    struct sections sections;
    int app, intel, noprefix, macro, marked;
    unsigned region;
    size_t app_at;
    const char *file;
    unsigned line;
    const char **files;
    size_t file_count;
};

static const char *copy(const char *s, size_t n) { return must(strndup(s, n)); }

/* .file NUMBER ["folder"] "name" */
static void name_file(struct place *p, const char *d) {
    char *after;
    unsigned long number = strtoul(d + 5, &after, 10);
    if (after == d + 5 || number > 1 << 20) return;
    const char *last = strrchr(after, '"'), *open = last;
    const char *md5 = strstr(after, " md5 ");
    if (md5) {
        for (last = md5; last > after && *last != '"'; last--) {}
        open = last;
    }
    while (open && open > after && open[-1] != '"') open--;
    if (!open || open == after) return;
    while (p->file_count <= number) {
        p->files = grown(p->files, p->file_count, sizeof *p->files);
        p->files[p->file_count++] = NULL;
    }
    p->files[number] = copy(open, (size_t)(last - open));
}

/* .loc FILE LINE */
static void locate(struct place *p, const char *d) {
    char *after;
    unsigned long file = strtoul(d + 4, &after, 10);
    if (p->marked) return;
    p->file = file < p->file_count ? p->files[file] : NULL;
    p->line = (unsigned)strtoul(after, NULL, 10);
}

static void follow_directive(struct place *p, const char *d) {
    if (follow_section(&p->sections, d)) return;
    if (is_word(d, ".intel_syntax")) p->intel = 1, p->noprefix = !!strstr(d, "noprefix");
    else if (is_word(d, ".att_syntax")) p->intel = 0, p->noprefix = !!strstr(d, "noprefix");
    else if (is_word(d, ".macro")) p->macro++;
    else if (is_word(d, ".endm")) p->macro -= p->macro > 0;
    else if (is_word(d, ".file")) name_file(p, d);
    else if (is_word(d, ".loc")) locate(p, d);
}

/* A whole line that begins with #: the compiler's marks, and `# LINE "file"` of the preprocessor. */
static void follow_mark(struct place *p, const char *line) {
    p->region++;
    if (!strncmp(line, "#APP", 4)) {
        p->app = 1;
        p->app_at = (size_t)(line - text);
    }
    else if (!strncmp(line, "#NO_APP", 7)) p->app = p->marked = 0;
    else {
        char *after;
        unsigned long number = strtoul(line + 1, &after, 10);
        if (after == line + 1 || strncmp(after, " \"", 2)) return;
        size_t n = strcspn(after + 2, "\"\n");
        p->marked = n > 0;
        if (!n) return;
        if (!p->file || strlen(p->file) != n || memcmp(p->file, after + 2, n)) p->file = copy(after + 2, n);
        p->line = (unsigned)number - !p->app; /* of the mark itself, but for inline assembly, which has one place */
    }
}

static void add(const struct place *p, enum what what, size_t at, size_t end) {
    statements = grown(statements, statement_count, sizeof *statements);
    words[end] = 0;
    statements[statement_count++] = (struct statement){
        .at = at, .end = end, .words = words + at, .file = p->file, .line = p->line, .region = p->region, .app_at = p->app_at, .what = (unsigned char)what,
        .code = !!p->sections.code[p->sections.depth], .debug = !!p->sections.debug[p->sections.depth], .app = !!p->app, .intel = !!p->intel,
        .noprefix = !!p->noprefix, .macro = !!p->macro,
    };
}

/* One statement: its labels, then a directive or an instruction. */
static void take(struct place *p, size_t at, size_t end) {
    for (;;) {
        while (at < end && blank(words[at])) at++;
        while (end > at && blank(words[end - 1])) end--;
        if (at == end) return;
        size_t n = at;
        if (words[n] == '"') {
            for (n++; n < end && words[n] != '"'; n++) {}
            n++;
        } else while (n < end && in_name(words[n])) n++;
        size_t colon = n;
        while (colon < end && blank(words[colon])) colon++;
        if (n == at || colon >= end || words[colon] != ':') break;
        add(p, LABEL, at, n);
        at = colon + 1;
    }
    int directive = words[at] == '.';
    if (!directive) {
        size_t n = at;
        while (n < end && in_name(words[n])) n++;
        while (n < end && blank(words[n])) n++;
        directive = n < end && words[n] == '=' && n > at;
    }
    add(p, directive ? DIRECTIVE : INSTRUCTION, at, end);
    if (directive) follow_directive(p, words + at);
}

/* Splits the text into statements; `words` is the text with blanks for comments. */
static void split(void) {
    struct place p = {.sections.code[0] = 1};
    words = must(malloc(text_size + 1));
    memcpy(words, text, text_size + 1);
    size_t start = 0;
    int line_start = 1;
    for (size_t i = 0; i <= text_size; i++) {
        char c = i < text_size ? text[i] : '\n';
        if (line_start && c == '#') follow_mark(&p, text + i);
        if (line_start && blank(c) && text[i + strspn(text + i, " \t")] == '#') {
            i += strspn(text + i, " \t");
            follow_mark(&p, text + i);
            c = '#';
        }
        if (c == '#' || (line_start && c == '/' && text[i + 1] != '*')) {
            for (; i < text_size && text[i] != '\n'; i++) words[i] = ' ';
            c = '\n';
        } else if (c == '/' && text[i + 1] == '*') {
            const char *close = strstr(text + i + 2, "*/");
            size_t end = close ? (size_t)(close - text) + 2 : text_size;
            for (; i < end; i++) {
                p.line += text[i] == '\n' && p.marked;
                words[i] = ' ';
            }
            i--;
            continue;
        } else if (c == '"') {
            for (i++; i < text_size && text[i] != '"' && text[i] != '\n'; i++) i += text[i] == '\\' && i + 1 < text_size;
            if (i < text_size && text[i] == '"') {
                line_start = 0;
                continue;
            }
            c = '\n';
        } else if (c == '\'' && i + 1 < text_size && text[i + 1] != '\n' && i && strchr("$ ,\t(", text[i - 1])) {
            i += 1 + (text[i + 1] == '\\');
            continue;
        }
        line_start = c == '\n';
        if (c != '\n' && c != ';') continue;
        take(&p, start, i < text_size ? i : text_size);
        start = i + 1;
        p.line += c == '\n' && p.marked && !p.app;
    }
}

static int by_place(const void *a, const void *b) {
    const struct insertion *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void write_text(FILE *out) {
    qsort(insertions, insertion_count, sizeof *insertions, by_place);
    size_t at = 0;
    for (size_t i = 0; i < insertion_count; i++) {
        fwrite(text + at, 1, insertions[i].at - at, out);
        fputs(insertions[i].text, out);
        at = insertions[i].at;
    }
    fwrite(text + at, 1, text_size - at, out);
}
