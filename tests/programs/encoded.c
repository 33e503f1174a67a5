/* Persist instructions in every form that real programs use, 100 rounds each; every round changes one word a line. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 100, BYTES = 1 << 16 };
#define LINE(n) (*(volatile char *)(pm + 8 * (n)))

static uint64_t counted;
static uint64_t *pm;

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, BYTES)) return 1;
    pm = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (uint64_t n = 1; n <= ROUNDS; n++) {
        for (int line = 0; line < 16; line++) pm[8 * line] = n;
        /* clwb: six forms */
        __asm__ volatile(".byte 0x66; xsaveopt %0" : "+m"(LINE(0)));
        __asm__ volatile(".byte 0x66,0x0f,0xae,0x30" : : "a"(&LINE(1)) : "memory");
        __asm__ volatile(".byte 0x66,0x0f\n\t.byte 0xae,0x74,0x88,0x10" : : "a"(&LINE(2) - 16 - 4 * n), "c"(n) : "memory");
        __asm__ volatile("1: clwb %0; 2: nop" : "+m"(LINE(3)));
        __asm__ volatile("CLWB %0 # a comment; sfence" : "+m"(LINE(4)));
        __asm__ volatile("push %1\n\tclwb (%%rsp)\n\tpop %1\n\t/* clwb (0) */" : "+m"(counted) : "r"(n) : "memory");
        /* clflushopt: four forms */
        __asm__ volatile(".byte 0x66; clflush %0" : "+m"(LINE(5)));
        __asm__ volatile("data16 clflush %0" : "+m"(LINE(6)));
        __asm__ volatile("rep; nop; clflushopt %0" : "+m"(LINE(7)));
        __asm__ volatile(".value 0x0f66; .byte 0xae,0x38" : : "a"(&LINE(8)) : "memory");
        /* clflush: two forms */
        __asm__ volatile(".intel_syntax noprefix; clflush [rax+64]; .att_syntax prefix" : : "a"(&LINE(8)) : "memory");
        __asm__ volatile(".byte 0x3e; clflush %0" : "+m"(LINE(10)));
        /* non-temporal stores: two forms */
        __asm__ volatile(".intel_syntax noprefix; movnti QWORD PTR [rax], rcx; .att_syntax prefix" : : "a"(&LINE(11)), "c"(n) : "memory");
        __asm__ volatile(".byte 0x48,0x0f,0xc3,0x08" : : "a"(&LINE(12)), "c"(n) : "memory");
        /* sfence: three forms, mfence: one */
        __asm__ volatile("sfence; mfence; sfence" ::: "memory");
        __asm__ volatile(".byte 0x0f,0xae,0xf8" ::: "memory");
        /* none of these */
        __asm__ volatile("prefetcht0 %0; .byte 0x0f,0x1c,0x00; .byte 0xf3,0x90; xsaveopt8 = 1; .ascii \"\"" : "+m"(LINE(13)) : "a"(pm));
    }
    return 0;
}
