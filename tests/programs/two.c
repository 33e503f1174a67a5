/* Three files: a lock that nobody makes durable, a counter in a mapped file, and entries written and synced beside it.
 * `two FOLDER` works; `two FOLDER late` syncs the entries after their counter only; `two check FOLDER` is the recovery. */
#include <coreplane.h>
#include <fcntl.h>
#include <emmintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES = 12, BYTES = 4096 };

static int open_in(const char *folder, const char *name, int flags) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, flags, 0644);
    if (fd < 0) perror(path);
    return fd;
}

static int check(const char *folder) {
    uint64_t count = 0, entry;
    int main_file = open_in(folder, "data/main", O_RDONLY), side = open_in(folder, "data/side", O_RDONLY);
    if (pread(main_file, &count, 8, 0) != 8) return 2;
    for (uint64_t i = 0; i < count; i++)
        if (pread(side, &entry, 8, (off_t)(8 * i)) != 8 || entry != i + 1) {
            printf("%lu entries, and number %lu is not there\n", count, i);
            return 1;
        }
    return 0;
}

int main(int argc, char **argv) {
    if (!strcmp(argv[1], "check")) return check(argv[2]);
    int late = argc > 2 && !strcmp(argv[2], "late");
    char path[512];
    mkdir(argv[1], 0755);
    snprintf(path, sizeof path, "%s/data", argv[1]);
    mkdir(path, 0755);
    int flags = O_RDWR | O_CREAT | O_TRUNC;
    int lock = open_in(argv[1], "lock", flags), data = open_in(argv[1], "data/main", flags);
    int side = open_in(argv[1], "data/side", flags);
    if (ftruncate(lock, BYTES) || ftruncate(data, BYTES) || fsync(data)) return 1;
    uint64_t *owner = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, lock, 0);
    uint64_t *count = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, data, 0);
    *owner = (uint64_t)getpid();
    for (uint64_t i = 0; i < ENTRIES; i++) {
        uint64_t entry = i + 1;
        if (pwrite(side, &entry, 8, (off_t)(8 * i)) != 8) return 1;
        if (!late && fdatasync(side)) return 1;
        *count = i + 1;
        _mm_clflush(count);
        _mm_sfence();
        if (late && fdatasync(side)) return 1;
        coreplane_mark_here(i + 1);
    }
    return 0;
}
