/* Stands before the assembler: puts a call of the recorder before every flush, fence and non-temporal store,
 * whether it comes from an intrinsic or from inline assembly. Then it runs the real assembler, named by
 * COREPLANE_AS, on the changed text. GNU syntax, x86-64. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stack that may be in use below the stack pointer (System V ABI), and what the call below puts on it. */
enum { RED_ZONE = 128, SAVED_RDI = 8 };

struct instruction {
    const char *name;
    int kind; /* as in the trace format; 0x100 + bytes for non-temporal stores */
};

static const struct instruction INSTRUCTIONS[] = {
    {"clwb", 6}, {"clflushopt", 7}, {"clflush", 8}, {"sfence", 9}, {"mfence", 10},
    {"movnti", 0x100}, {"movntil", 0x104}, {"movntiq", 0x108}, {"movntq", 0x108},
    {"movntdq", 0x110}, {"movntps", 0x110}, {"movntpd", 0x110},
    {"vmovntdq", 0x100}, {"vmovntps", 0x100}, {"vmovntpd", 0x100},
};

static const struct instruction *find(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS; i++)
        if (strlen(INSTRUCTIONS[i].name) == n && !memcmp(INSTRUCTIONS[i].name, name, n)) return &INSTRUCTIONS[i];
    return NULL;
}

/* Bytes that a non-temporal store writes, from its register where the name does not tell. */
static int width(int kind, const char *operands) {
    if (kind != 0x100) return kind;
    if (strstr(operands, "%zmm")) return 0x140;
    if (strstr(operands, "%ymm")) return 0x120;
    if (strstr(operands, "%xmm")) return 0x110;
    const char *r = strstr(operands, "%r");
    return r && operands[0] == '%' && !strchr("dwb", r[strcspn(r, ",") - 1]) ? 0x108 : 0x104;
}

static void call(FILE *out, int kind, const char *memory) {
    fprintf(out, "\tleaq\t-%d(%%rsp), %%rsp\n\tpushq\t%%rdi\n", RED_ZONE);
    if (memory) {
        /* The operand as it is now: the stack pointer has moved. */
        if (strstr(memory, "%rsp")) fprintf(out, "\tleaq\t%d+%s, %%rdi\n", RED_ZONE + SAVED_RDI, memory);
        else fprintf(out, "\tleaq\t%s, %%rdi\n", memory);
    }
    fprintf(out, "\tpushq\t$%d\n\tcall\t__coreplane_persist\n\tpopq\t%%rdi\n\tleaq\t%d(%%rsp), %%rsp\n", kind, RED_ZONE);
}

/* The memory operand: the last one, up to a comment or separator. */
static char *last_operand(char *operands) {
    char *start = operands;
    int depth = 0;
    for (char *c = operands; *c; c++) {
        if (*c == '(') depth++;
        if (*c == ')') depth--;
        if (*c == ',' && depth == 0) start = c + 1;
    }
    while (isspace((unsigned char)*start)) start++;
    return start;
}

static void filter(FILE *in, FILE *out) {
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, in) >= 0) {
        const char *name = line + strspn(line, " \t");
        size_t n = strcspn(name, " \t\n;#");
        const struct instruction *found = find(name, n);
        if (found) {
            char *operands = strdup(name + n + strspn(name + n, " \t"));
            operands[strcspn(operands, "\n;#")] = 0;
            for (size_t k = strlen(operands); k && isspace((unsigned char)operands[k - 1]);) operands[--k] = 0;
            int fence = found->kind == 9 || found->kind == 10;
            call(out, width(found->kind, operands), fence ? NULL : last_operand(operands));
            free(operands);
        }
        fputs(line, out);
    }
    free(line);
}

int main(int argc, char **argv) {
    const char *real = getenv("COREPLANE_AS");
    if (!real) real = "/usr/bin/as";
    char path[] = "/tmp/coreplane-as-XXXXXX.s";
    int fd = mkstemps(path, 2);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) {
        fprintf(stderr, "coreplane: %s: %s\n", path, strerror(errno));
        return 2;
    }
    int input = 0;
    for (int i = 1; i < argc; i++) {
        size_t n = strlen(argv[i]);
        if (n > 2 && (!strcmp(argv[i] + n - 2, ".s") || !strcmp(argv[i] + n - 2, ".S")) && access(argv[i], R_OK) == 0) input = i;
    }
    FILE *in = input ? fopen(argv[input], "r") : stdin;
    if (!in) {
        fprintf(stderr, "coreplane: %s: %s\n", argv[input], strerror(errno));
        return 2;
    }
    filter(in, out);
    fclose(out);
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    arguments[0] = (char *)real;
    int m = 1;
    for (int i = 1; i < argc; i++)
        if (i != input && strcmp(argv[i], "-")) arguments[m++] = argv[i];
    arguments[m++] = path;
    pid_t child = fork();
    if (child == 0) {
        execvp(real, arguments);
        fprintf(stderr, "coreplane: %s: %s\n", real, strerror(errno));
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    unlink(path);
    free(arguments);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
