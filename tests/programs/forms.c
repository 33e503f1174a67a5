/* Accesses of every size, place and length, drawn at random: ./forms FILE THREADS ACCESSES writes what it did to FILE. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AREA = 1 << 16, LOAD = 0, STORE, SET, COPY };

struct step {
    uint64_t what, address, size, value;
};
struct job {
    uint64_t seed, steps;
    char *area;
    struct step *done;
};

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static uint64_t load(const void *p, unsigned size) {
    switch (size) {
    case 1: return *(const volatile uint8_t *)p;
    case 2: return *(const volatile uint16_t *)p;
    case 4: return *(const volatile uint32_t *)p;
    default: return *(const volatile uint64_t *)p;
    }
}

static void store(void *p, unsigned size, uint64_t v) {
    switch (size) {
    case 1: *(volatile uint8_t *)p = (uint8_t)v; break;
    case 2: *(volatile uint16_t *)p = (uint16_t)v; break;
    case 4: *(volatile uint32_t *)p = (uint32_t)v; break;
    default: *(volatile uint64_t *)p = v;
    }
}

/* More instructions than a foretold record can count. */
static void compute(void) {
    for (long i = 0; i < 20000000; i++) __asm__ volatile("" : "+r"(i));
}

static void *run(void *p) {
    struct job *job = p;
    uint64_t seed = job->seed, sum = 0;
    for (uint64_t i = 0; i < job->steps; i++) {
        uint64_t r = next(&seed), v = next(&seed) >> next(&seed) % 64;
        struct step s = {r % 64 < 2 ? SET + r % 2 : (r >> 8) % 3 == 0, 0, 1u << (r >> 16) % 4, v};
        /* Of three steps two go on where the last of their size was, most of them aligned. */
        uint64_t at = (r >> 20) % 3 ? i * 8 % (AREA / 2) : (r >> 32) % (AREA / 2 - 512);
        if ((r >> 24) % 8) at &= -s.size;
        if (s.what >= SET) s.size = (r >> 48) % 500;
        s.address = (uint64_t)job->area + at;
        if (s.what == LOAD) sum += load((void *)s.address, (unsigned)s.size);
        else if (s.what == STORE) store((void *)s.address, (unsigned)s.size, v);
        else if (s.what == SET) memset((void *)s.address, (int)(s.value &= 0xFF), s.size);
        else memcpy((void *)s.address, (void *)(s.value = (uint64_t)job->area + AREA / 2 + v % 4096), s.size);
        if (i == job->steps / 2) compute();
        job->done[i] = s;
    }
    return (void *)sum;
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int threads = atoi(argv[2]);
    uint64_t steps = (uint64_t)atol(argv[3]);
    pthread_t t[16];
    struct job jobs[16];
    FILE *out = fopen(argv[1], "wb");
    if (!out || threads > 16) return 2;
    for (int i = 0; i < threads; i++) {
        jobs[i] = (struct job){0x9E3779B97F4A7C15u * (uint64_t)(i + 1), steps, aligned_alloc(4096, AREA), malloc(steps * sizeof(struct step))};
        memset(jobs[i].area, 0, AREA / 2);
        for (int at = AREA / 2; at < AREA; at++) jobs[i].area[at] = (char)(at % 3 ? 0 : at);
        pthread_create(&t[i], NULL, run, &jobs[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(t[i], NULL);
        uint64_t head[2] = {(uint64_t)jobs[i].area, steps};
        fwrite(head, sizeof head, 1, out);
        fwrite(jobs[i].done, sizeof(struct step), steps, out);
    }
    return fclose(out);
}
