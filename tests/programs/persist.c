/* Every kind of persist instruction, a known number of times, from four threads; atomics beside them. */
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 100, BYTES = 1 << 16 };

static uint64_t *pm;
static atomic_ulong total;

struct record {
    uint64_t a, b, c;
    char text[40];
};

static void *work(void *argument) {
    uint64_t thread = (uintptr_t)argument;
    uint64_t *own = pm + thread * 1024;
    struct record record = {thread, 0, 0, "some text that is copied"};
    for (uint64_t n = 0; n < ROUNDS; n++) {
        own[n] = n * THREADS + thread;
        _mm_clflush(&own[n]);
        _mm_sfence();
        _mm_stream_si64((long long *)&own[n + 256], (long long)(n + 1));
        _mm_stream_si128((__m128i *)&own[2 * n + 512], _mm_set1_epi8((char)n));
        __asm__ volatile("clflush %0" : "+m"(own[n + 256]));
        __asm__ volatile("mfence" ::: "memory");
        record.b = n;
        memcpy(&own[800], &record, sizeof record);
        *(struct record *)&own[850] = record;
        ((char *)own)[7500 + n] = (char)n;
        atomic_fetch_add(&total, n);
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t ids[THREADS];
    if (argc < 2) return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, BYTES)) return 1;
    pm = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (uintptr_t t = 0; t < THREADS; t++) pthread_create(&ids[t], NULL, work, (void *)t);
    for (int t = 0; t < THREADS; t++) pthread_join(ids[t], NULL);
    pm[8000] = atomic_load(&total);
    return 0;
}
