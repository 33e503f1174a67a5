/* A shared library that stores to memory that its caller mapped; also a plug-in. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static int ready;

__attribute__((constructor)) static void prepare(void) { ready = 1; }

void store_all(uint64_t *pm, uint64_t from, int n) {
    for (int i = 0; ready && i < n; i++) {
        pm[i] = from + (uint64_t)i;
        __builtin_ia32_clflush(&pm[i]);
    }
    __builtin_ia32_sfence();
}

uint64_t *map_words(int fd, size_t bytes) {
    void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? 0 : p;
}
