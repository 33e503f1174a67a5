/* What programs of hosts that share memory need: to write back, to wait, to drop, to tell, to look. */
#ifndef HOSTS_H
#define HOSTS_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "../flushes.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The mistake that is in the program; 0 is none. */
#ifndef BUG
#define BUG 0
#endif

static inline void flush(const void *p, size_t n) {
    for (uintptr_t a = (uintptr_t)p & ~63ul; a < (uintptr_t)p + n; a += 64) _mm_clwb((void *)a);
}
static inline void persist(const void *p, size_t n) {
    flush(p, n);
    _mm_sfence();
}
static inline void invalidate(const void *p, size_t n) {
    for (uintptr_t a = (uintptr_t)p & ~63ul; a < (uintptr_t)p + n; a += 64) _mm_clflushopt((void *)a);
    _mm_mfence();
}
static inline uint64_t look(volatile uint64_t *w) {
    invalidate((const void *)w, 8);
    return *w;
}
static inline void tell(volatile uint64_t *w, uint64_t v) {
    *w = v;
    persist((const void *)w, 8);
}
/* Memory that the children of this process share with it. */
static inline void *shared(size_t n) {
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(9);
    return p;
}
#endif
