/* Two threads make a cell durable, swap the root to it by an exchange of inline assembly, and make the root durable. Clean,
 * or refused: whose number the root holds is found by a comparison. */
#include "truth.h"

#include <pthread.h>

enum { ROUNDS = 60, BYTES = 2 * PAGE * 2 };

struct pool {
    struct cell root, cell[2 * ROUNDS];
};

static struct pool *pool;

static void publish(uint64_t *word, uint64_t v) { __asm__ volatile("xchgq %0, %1" : "+r"(v), "+m"(*word)::"memory"); }

static void *swaps(void *which) {
    for (uint64_t n = 0; n < ROUNDS; n++) {
        uint64_t i = (uint64_t)which * ROUNDS + n;
        pool->cell[i].word = value(i);
        persist(&pool->cell[i], 8);
        publish(&pool->root.word, i + 1);
        persist(&pool->root, 8);
    }
    return NULL;
}

static void work(const char *file) {
    pool = fresh(file, BYTES);
    pthread_t ids[2];
    for (uintptr_t i = 0; i < 2; i++) need(!pthread_create(&ids[i], NULL, swaps, (void *)i), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

static void check(const char *file, uint64_t acknowledged) {
    (void)acknowledged;
    const struct pool *p = found(file, BYTES);
    uint64_t root = p->root.word;
    if (root > 2 * ROUNDS) lost("the root is %lu", (unsigned long)root);
    if (root && p->cell[root - 1].word != value(root - 1)) lost("the root names cell %lu, which is empty", (unsigned long)root);
}

PROGRAM
