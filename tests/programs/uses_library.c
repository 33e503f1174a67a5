/* Maps a file, and lets a library store to it 100 words: one that is linked, or one that is loaded by name. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void store_all(uint64_t *pm, uint64_t from, int n) __attribute__((weak));
uint64_t *map_words(int fd, size_t bytes) __attribute__((weak));

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, 4096)) return 1;
    void (*store)(uint64_t *, uint64_t, int) = store_all;
    uint64_t *(*map)(int, size_t) = map_words;
    if (argc > 2) {
        void *library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        store = (void (*)(uint64_t *, uint64_t, int))dlsym(library, "store_all");
        map = (uint64_t * (*)(int, size_t)) dlsym(library, "map_words");
    }
    uint64_t *pm = map(fd, 4096);
    if (!pm) return 1;
    store(pm, 1000, 100);
    pm[200] = 7;
    return 0;
}
