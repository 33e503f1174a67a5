/* Counts its own stores, flushes, fences and non-temporal stores to a file, and says how many records of each there are to be. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 1 << 16, THREADS = 4, ROUNDS = 50 };
static char *memory;

#define AS(text, ...) __asm__ volatile(text : : __VA_ARGS__ : "memory", "rdi", "rcx", "rax", "r9", "xmm0")

static void *work(void *number) {
    char *own = memory + (BYTES / THREADS) * (uintptr_t)number;
    static const char bytes[64] = "abcdefghijklmnopqrstuvwxyz0123456789";
    static const long double wide = 1.25L;
    for (int i = 0; i < ROUNDS; i++) {
        char *at = own + 256 * i % 4096;
        AS("movb %b1, (%0)", "r"(at), "q"(i));
        AS("movw %w1, 2(%0)", "r"(at), "r"(i));
        AS("movl %k1, 4(%0)", "r"(at), "r"(i));
        AS("movq %q1, 8(%0)", "r"(at), "r"((uint64_t)i));
        AS("movups (%1), %%xmm0; movups %%xmm0, 16(%0)", "r"(at), "r"(bytes));
        AS("vmovdqu (%1), %%ymm0; vmovdqu %%ymm0, 32(%0); vzeroupper", "r"(at), "r"(bytes));
        AS("movnti %q1, 64(%0)", "r"(at), "r"((uint64_t)i));
        AS("movdqu (%1), %%xmm0; movntdq %%xmm0, 80(%0)", "r"(at), "r"(bytes));
        AS("vmovdqu (%1), %%ymm0; vmovntdq %%ymm0, 96(%0); vzeroupper", "r"(at), "r"(bytes));
        AS("lock; addq $1, 128(%0)", "r"(at));
        AS("movq $7, %%rax; xchgq %%rax, 136(%0)", "r"(at));
        AS("fldt (%1); fstpt 144(%0)", "r"(at), "r"(&wide));
        AS("leaq 160(%0), %%rdi; movl $9, %%ecx; rep stosb", "r"(at));
        AS("clwb (%0); clflushopt 64(%0); clflush 128(%0)", "r"(at));
        AS("leaq -64(%0), %%r9; clwb 64(%%r9,%1,1)", "r"(at), "r"((uintptr_t)128));
        AS("sfence; lfence; mfence", "r"(at));
    }
    return NULL;
}

int main(int n, char **v) {
    int file = open(v[n - 1], O_RDWR | O_CREAT, 0644);
    pthread_t threads[THREADS];
    if (file < 0 || ftruncate(file, BYTES)) return 1;
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    /* Records have at most eight bytes: of the vectors two and four, of the ten bytes two; two locked operations. */
    int rounds = THREADS * ROUNDS;
    printf("{\"stores\": %d, \"store-nt\": %d, \"clwb\": %d, \"clflushopt\": %d, \"clflush\": %d, \"sfence\": %d, \"mfence\": %d}\n",
           rounds * (4 + 2 + 4 + 7 + 2 + 2 + 9), rounds * 7, rounds * 2, rounds, rounds, rounds, rounds);
    return 0;
}
