/* libpmem as its users call it. */
#include <libpmem.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    size_t bytes;
    int is_pmem;
    if (argc < 2) return 2;
    char *pm = pmem_map_file(argv[1], 1 << 16, PMEM_FILE_CREATE, 0644, &bytes, &is_pmem);
    if (!pm) {
        perror(argv[1]);
        return 1;
    }
    for (int n = 0; n < 50; n++) {
        sprintf(pm + n * 128, "entry %d", n);
        pmem_persist(pm + n * 128, 128);
    }
    pmem_memcpy_persist(pm + 32768, "copied by the library", 22);
    memset(pm + 40000, 7, 300);
    pmem_flush(pm + 40000, 300);
    pmem_drain();
    pmem_unmap(pm, bytes);
    return 0;
}
