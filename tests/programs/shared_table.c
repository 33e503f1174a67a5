/* A table that two processes fill under a lock, and two read without one: each process is a host. NO_FLUSH, NO_FENCE and NO_DROP leave
 * one step out. */
#include <fcntl.h>
#include "flushes.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct entry { char key[16]; uint32_t length; char value[40]; };
struct table {
    pthread_mutex_t lock;
    _Alignas(64) _Atomic uint64_t count;
    _Alignas(64) struct entry entries[64];
};
static void flush(const void *p, size_t n) {
    for (uintptr_t a = (uintptr_t)p & ~63ul; a < (uintptr_t)p + n; a += 64) _mm_clwb((void *)a);
}
static void persist(const void *p, size_t n) {
    flush(p, n);
    _mm_sfence();
}
static void invalidate(const void *p, size_t n) {
    _mm_mfence();
    for (uintptr_t a = (uintptr_t)p & ~63ul; a < (uintptr_t)p + n; a += 64) _mm_clflushopt((void *)a);
    _mm_mfence();
}
static void put(struct table *t, int who, int n) {
    pthread_mutex_lock(&t->lock);
    invalidate(&t->count, 8);
    uint64_t at = atomic_load_explicit(&t->count, memory_order_relaxed);
    struct entry e;
    memset(&e, 0, sizeof e);
    snprintf(e.key, sizeof e.key, "k%d.%d", who, n);
    e.length = (uint32_t)snprintf(e.value, sizeof e.value, "value %d of %d", n, who);
    t->entries[at] = e;
#ifndef NO_FLUSH
    flush(&t->entries[at], sizeof e);
#ifndef NO_FENCE
    _mm_sfence();
#endif
#endif
    atomic_store_explicit(&t->count, at + 1, memory_order_release);
    persist(&t->count, 8);
    pthread_mutex_unlock(&t->lock);
}
static int look(struct table *t, uint64_t until, int ready) {
    uint64_t seen = 0, sum = 0;
    /* What the entries held before is in this host's caches from here on. */
    for (int n = 0; n < 64; n++) sum += ((volatile struct entry *)t->entries)[n].length;
    if (write(ready, "r", 1) != 1) return 1;
    sum = 0;
    while (seen < until) {
        invalidate(&t->count, 8);
        uint64_t count = atomic_load_explicit(&t->count, memory_order_acquire);
        for (; seen < count; seen++) {
#ifndef NO_DROP
            invalidate(&t->entries[seen], sizeof t->entries[seen]);
#endif
            struct entry e;
            memcpy(&e, &t->entries[seen], sizeof e);
            sum += strlen(e.value) == e.length;
        }
    }
    return sum != until;
}
int main(int argc, char **argv) {
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(struct table))) return 1;
    struct table *t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&t->lock, &how);
    int ready[2];
    char byte;
    if (pipe(ready)) return 1;
    for (int who = 0; who < 2; who++)
        if (!fork()) return look(t, 20, ready[1]);
    for (int who = 0; who < 2; who++)
        if (read(ready[0], &byte, 1) != 1) return 1;
    for (int who = 0; who < 2; who++) {
        if (fork()) continue;
        for (int n = 0; n < 10; n++) put(t, who, n);
        return 0;
    }
    while (wait(NULL) > 0) {}
    return 0;
}
