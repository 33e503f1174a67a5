/* Stores to a mapped file that no hook sees, before msync, before a flush, and before the end. `./unhooked FILE` */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static void hidden(volatile uint32_t *p, uint32_t value) { __asm__ volatile("movl %1, %0" : "=m"(*p) : "r"(value)); }

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, 1 << 16)) return 3;
    uint32_t *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    p[0] = 7;
    hidden(&p[1], 0x1234);
    msync(p, 4096, MS_SYNC);
    hidden(&p[2000], 0x5678);
    _mm_clflush(&p[2000]);
    hidden(&p[3000], 0x9ABC);
    return 0;
}
