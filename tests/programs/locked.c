/* Locked instructions of inline assembly in their forms, each on a word of its own of a file, which it leaves at its number. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define ON(n, text, ...) __asm__ volatile(text : : "r"(word + n), ##__VA_ARGS__ : "memory", "cc", "rcx", "r9", "rbx", "rdx")

int main(int argc, char **argv) {
    int fd = open(argc > 1 ? argv[1] : "locked.pm", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, 4096)) return 1;
    uint64_t *word = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (word == MAP_FAILED) return 1;
    ON(1, "movq $1, %%rcx; xchgq %%rcx, (%0)");
    ON(2, "movl $2, %%r9d; xchg (%0), %%r9d");
    ON(3, "movb $3, %%cl; lock; cmpxchgb %%cl, (%0)", "a"(0));
    ON(4, "lock addw $4, (%0)");
    ON(5, "movl $5, %%ecx; lock xadd %%cl, (%0)");
    ON(6, ".intel_syntax noprefix; lock or dword ptr [%q0], 6; .att_syntax prefix");
    ON(7, "movq $7, %%rcx; .intel_syntax noprefix; xchg [%q0], rcx; .att_syntax prefix");
    ON(8, "movq $8, %%rbx; movq $0, %%rcx; movq $0, %%rdx; lock cmpxchg16b (%0)", "a"(0L));
    ON(10, "lock orq $10, (%0)");
    __asm__ volatile("lock; addl $0, -4(%%rsp)" ::: "memory", "cc");
    return munmap(word, 4096);
}
