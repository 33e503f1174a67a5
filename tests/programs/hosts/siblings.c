/* One process forks many at once, each of which leaves its number, in a word of its own: what a store left is read later. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIBLINGS = 16 };

int main(void) {
    volatile uint64_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED) return 1;
    words[0] = 99;
    for (uint64_t n = 0; n < SIBLINGS; n++) {
        pid_t child = fork();
        if (child < 0) return 1;
        if (!child) {
            words[n + 1] = n;
            exit(0);
        }
    }
    for (int n = 0; n < SIBLINGS; n++) wait(NULL);
    return 0;
}
