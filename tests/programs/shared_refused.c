/* Processes that share too little or too much to be hosts. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void use(const char *path, uint64_t at) {
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, 4096)) exit(2);
    volatile uint64_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    words[at] = words[at] + 1;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "alone-indeed")) {
        use("a", 0);
        return 0;
    }
    if (!strcmp(how, "anonymous")) {
        volatile uint64_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        words[0] = 1;
    }
    int processes = !strcmp(how, "five") ? 5 : !strcmp(how, "nine") ? 9 : 2;
    for (int n = 0; n < processes; n++) {
        if (fork()) {
            /* One after the other: who begins first is host 0. */
            if (!strcmp(how, "halves")) wait(NULL);
            continue;
        }
        if (!strcmp(how, "five") || !strcmp(how, "nine")) use("a", 0);
        if (!strcmp(how, "halves")) use("a", n ? 256 : 0);
        if (!strcmp(how, "apart")) use(n ? "b" : "a", 0);
        if (!strcmp(how, "alone") && n == 0) use("a", 0);
        exit(0);
    }
    while (wait(NULL) > 0) {}
    return 0;
}
