/* Stands before the assembler: puts hooks of the recorder into the text (assembler/persist.h) and counts
 * instructions (assembler/count.h). Then it runs the real
 * assembler, named by COREPLANE_AS, on the changed text. GNU syntax, x86-64. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "assembler/text.h"
#include "assembler/bytes.h"
#include "assembler/persist.h"
#include "assembler/flow.h"
#include "assembler/count.h"

static int fail(const char *name) {
    fprintf(stderr, "coreplane: %s: %s\n", name, strerror(errno));
    return 2;
}

static void read_text(FILE *in) {
    size_t capacity = 1 << 16, n;
    text = must(malloc(capacity));
    while ((n = fread(text + text_size, 1, capacity - text_size - 1, in)) > 0) {
        text_size += n;
        if (capacity - text_size < 2) text = must(realloc(text, capacity *= 2));
    }
    text[text_size] = 0;
    /* A zero would end the words: it stands for itself nowhere in assembly text. */
    for (size_t i = 0; i < text_size; i++)
        if (!text[i]) text[i] = ' ';
}

static int is_source(const char *name) {
    size_t n = strlen(name);
    return n > 2 && (!strcmp(name + n - 2, ".s") || !strcmp(name + n - 2, ".S")) && !access(name, R_OK);
}

/* Runs the real assembler on the text at `path` instead of argument `input`. */
static int assemble(int argc, char **argv, int input, char *path) {
    const char *real = getenv("COREPLANE_AS");
    if (!real) real = "/usr/bin/as";
    char **arguments = must(calloc((size_t)argc + 3, sizeof *arguments));
    int m = 0;
    arguments[m++] = (char *)real;
    for (int i = 1; i < argc; i++)
        if (i != input && strcmp(argv[i], "-")) arguments[m++] = argv[i];
    arguments[m++] = path;
    pid_t child = fork();
    if (child == 0) {
        execvp(real, arguments);
        _exit(fail(real));
    }
    free(arguments);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv) {
    int input = 0;
    for (int i = 1; i < argc; i++)
        if (is_source(argv[i])) input = i;
    if (input) text_name = argv[input];
    FILE *in = input ? fopen(argv[input], "r") : stdin;
    if (!in) return fail(argv[input]);
    read_text(in);
    split();
    count();
    persist();
    char path[4096];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/coreplane-as-XXXXXX.s", folder && *folder ? folder : "/tmp");
    int fd = mkstemps(path, 2);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) return fail(path);
    /* Messages and debugging information name the file that was given. */
    if (input) fprintf(out, "# 1 \"%s\"\n", text_name);
    write_text(out);
    if (unseen_texts) fprintf(out, "\n\t.att_syntax\n\t.section coreplane_unseen,\"a\",@progbits\n%s", unseen_texts);
    int failed = ferror(out);
    failed |= fclose(out);
    int status = failed ? fail(path) : assemble(argc, argv, input, path);
    unlink(path);
    return status;
}
