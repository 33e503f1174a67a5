/* Does known things to a mapped file: 3,000 stores, 1,000 clwb, 500 sfence, 250 clflushopt, 20 msync. */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 1 << 20 };

int main(int count, char **words)
{
    int file = open(count > 1 ? words[1] : "file", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, SIZE))
        return 1;
    volatile uint64_t *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return 1;
    for (int n = 0; n < 1000; n++) {
        volatile uint64_t *line = memory + 8 * n;
        line[0] = n, line[1] = n + 1, line[2] = n + 2;
        _mm_clwb((void *)line);
        if (n % 2)
            _mm_sfence();
        if (n % 4 == 0)
            _mm_clflushopt((void *)line);
        if (n % 50 == 0)
            msync((void *)memory, SIZE, MS_SYNC);
    }
    return 0;
}
