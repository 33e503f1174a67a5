/* Code that is written through one mapping and executed through another, as just-in-time compilers do: it returns 1, then 2. Each answer is stored to the file. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    (void)argc;
    uint8_t code[] = {0xB8, 0, 0, 0, 0, 0xC3}; /* mov eax, 0; ret */
    int memory = memfd_create("code", 0), file = open(argv[1], O_RDWR | O_CREAT, 0644);
    if (memory < 0 || file < 0 || ftruncate(memory, 4096) || ftruncate(file, 4096)) return 1;
    uint8_t *written = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    int (*executed)(void) = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, memory, 0);
    volatile uint8_t *answers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (uint8_t answer = 1; answer <= 2; answer++) {
        code[1] = answer;
        memcpy(written, code, sizeof code);
        answers[answer] = (uint8_t)executed();
    }
    return answers[1] == 1 && answers[2] == 2 ? 0 : 2;
}
