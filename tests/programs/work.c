/* 1000 persists, each after a loop of so many rounds; the loop touches no memory. */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    int rounds = atoi(argv[2]), fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, 4096)) return 1;
    volatile uint64_t *pm = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    double x = 1;
    for (uint64_t n = 0; n < 1000; n++) {
        for (int i = 0; i < rounds; i++) x = x * 1.0000001 + 1e-9;
        pm[n % 512] = n;
        _mm_clflush((const void *)&pm[n % 512]);
        _mm_sfence();
    }
    return x > 1e9;
}
