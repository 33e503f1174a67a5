/* Twenty lines that are stored and never flushed. `store FILE`, or a check: HOW FILE [RULE]. Recovery looks at the fourth
 * and the eighteenth alone; with RULE it wants that the eighteenth is there only where the fourth is. */
#include <fcntl.h>
#include <emmintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINES = 20, FIRST = 3, SECOND = 17, BYTES = 8192 };

static uint64_t *map(const char *path, int flags) {
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, BYTES)) exit(2);
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    return p == MAP_FAILED ? exit(2), NULL : p;
}

static int store(const char *path) {
    volatile uint64_t *p = map(path, MAP_SHARED);
    for (int i = 0; i < LINES; i++) p[8 * i] = 1;
    /* Power may fail before the last line is durable. */
    p[8 * LINES] = 1;
    _mm_clflush((void *)&p[8 * LINES]);
    _mm_sfence();
    return 0;
}

static int is_there(const char *how, const char *path, int line) {
    if (!strcmp(how, "pread")) {
        uint64_t word;
        int fd = open(path, O_RDONLY);
        if (fd < 0 || pread(fd, &word, 8, 64 * line) != 8) exit(2);
        close(fd);
        return word == 1;
    }
    volatile uint64_t *p = map(path, MAP_PRIVATE);
    /* The C library reads the memory: of some functions the calls are seen, and no hook sees others. */
    if (!strcmp(how, "strlen")) return strlen((const char *)&p[8 * line]) == 1;
    if (!strcmp(how, "memcmp")) return !memcmp((const char *)&p[8 * line], "\1", 2);
    if (!strcmp(how, "flush")) _mm_clflush((const void *)&p[8 * (line + 1)]);
    if (!strcmp(how, "strspn")) return strspn((const char *)&p[8 * line], "\1") == 1;
    return p[8 * line] == 1;
}

int main(int argc, char **argv) {
    const char *how = argv[1], *path = argv[2];
    if (!strcmp(how, "store")) return store(path);
    if (!strcmp(how, "child") && system("true")) return 2;
    int first = is_there(how, path, FIRST), second = is_there(how, path, SECOND);
    if (!strcmp(how, "killed")) abort();
    return argc > 3 && second && !first;
}
