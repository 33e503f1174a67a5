/* Follows pointers through so many lines of a mapped file, in one random cycle: chase FILE LINES HOPS. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words)
{
    size_t lines = count == 4 ? strtoull(words[2], NULL, 10) : 0, hops = count == 4 ? strtoull(words[3], NULL, 10) : 0;
    int file = count == 4 ? open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (!lines || file < 0 || ftruncate(file, (off_t)lines * 64))
        return 1;
    void **memory = mmap(NULL, lines * 64, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint32_t *order = malloc(lines * sizeof *order);
    if (memory == MAP_FAILED || !order)
        return 1;
    for (size_t n = 0; n < lines; n++)
        order[n] = n;
    uint64_t random = 1;
    for (size_t n = lines - 1; n > 0; n--) { /* Sattolo's shuffle makes one cycle. */
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t other = (random >> 33) % n;
        uint32_t keep = order[n];
        order[n] = order[other], order[other] = keep;
    }
    for (size_t n = 0; n < lines; n++)
        memory[8 * (size_t)order[n]] = memory + 8 * (size_t)order[(n + 1) % lines];
    free(order);
    void **at = memory;
    for (size_t n = 0; n < hops; n++)
        at = *at;
    printf("%d\n", at == NULL);
    return 0;
}
