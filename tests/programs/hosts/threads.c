/* Two hosts of two threads, and a queue between each pair of these. BUG 1: items of the second queue are not written back; 2: its reader drops
 * none; 3: both readers count in one line, which is right in one host: they share its caches. */
#include "hosts.h"
#include <pthread.h>

enum { ITEMS = 12 };
struct queue {
    _Alignas(64) volatile uint64_t tail;
    struct { _Alignas(64) uint64_t words[8]; } items[ITEMS];
};
struct memory {
    struct queue queues[2];
    _Alignas(64) uint64_t read[2];
};
static struct memory *all;

static void *produce(void *number) {
    struct queue *q = &all->queues[(uintptr_t)number];
    for (uint64_t n = 0; n < ITEMS; n++) {
        for (int i = 0; i < 8; i++) q->items[n].words[i] = n + 1;
        if (BUG != 1 || number == NULL) persist(q->items[n].words, 64);
        tell(&q->tail, n + 1);
        usleep(100);
    }
    return NULL;
}

static void *consume(void *number) {
    struct queue *q = &all->queues[(uintptr_t)number];
    uint64_t bad = 0, seen = 0;
    for (uint64_t n = 0; n < ITEMS; n++) bad += ((volatile struct queue *)q)->items[n].words[0] > ITEMS;
    for (; seen < ITEMS; usleep(30)) {
        for (uint64_t tail = look(&q->tail); seen < tail; seen++) {
            if (BUG != 2 || number == NULL) invalidate(q->items[seen].words, 64);
            for (int i = 0; i < 8; i++) bad += q->items[seen].words[i] != seen + 1;
            all->read[(uintptr_t)number]++;
        }
    }
    return (void *)(uintptr_t)bad;
}

static int host(void *(*run)(void *)) {
    pthread_t threads[2];
    void *bad[2];
    for (uintptr_t n = 0; n < 2; n++) pthread_create(&threads[n], NULL, run, (void *)n);
    for (int n = 0; n < 2; n++) pthread_join(threads[n], &bad[n]);
    return run == consume && (bad[0] || bad[1]);
}

int main(void) {
    all = shared(sizeof *all);
    if (!fork()) return host(produce);
    int failed = host(consume), status;
    wait(&status);
    return failed || status;
}
