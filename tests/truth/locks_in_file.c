/* Locks of the thread library lie in the mapped file, one in the line of the count that it guards, which is flushed while the
 * lock is held. Correct: recovery makes them anew. */
#include "truth.h"
#include <pthread.h>
#include <semaphore.h>

struct pool {
    pthread_mutex_t mutex;
    uint64_t count, unused[2];
    struct cell entry[ENTRIES];
    sem_t semaphore;
    pthread_rwlock_t readers;
    pthread_spinlock_t spin;
    pthread_barrier_t barrier;
};
static struct pool *pool;

static void *body(void *unused) {
    pthread_barrier_wait(&pool->barrier);
    for (int i = 0; i < ENTRIES / 2; i++) {
        sem_wait(&pool->semaphore);
        pthread_rwlock_wrlock(&pool->readers);
        pthread_spin_lock(&pool->spin);
        pthread_mutex_lock(&pool->mutex);
        uint64_t n = pool->count + 1;
        pool->entry[n - 1].word = value(n);
        persist(&pool->entry[n - 1], 8);
        pool->count = n;
        persist(&pool->count, 8);
        coreplane_mark_here(n);
        pthread_mutex_unlock(&pool->mutex);
        pthread_spin_unlock(&pool->spin);
        pthread_rwlock_unlock(&pool->readers);
        sem_post(&pool->semaphore);
    }
    return unused;
}

static void work(const char *file) {
    pthread_t ids[2];
    pool = (struct pool *)fresh(file, PAGE);
    pthread_mutex_init(&pool->mutex, NULL);
    sem_init(&pool->semaphore, 1, 1);
    pthread_rwlock_init(&pool->readers, NULL);
    pthread_spin_init(&pool->spin, PTHREAD_PROCESS_PRIVATE);
    pthread_barrier_init(&pool->barrier, NULL, 2);
    for (int i = 0; i < 2; i++) need(!pthread_create(&ids[i], NULL, body, NULL), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&pool->barrier);
    sem_destroy(&pool->semaphore);
}

static void check(const char *file, uint64_t acknowledged) {
    const struct pool *p = (const struct pool *)found(file, sizeof *p);
    if (p->count < acknowledged || p->count > ENTRIES) lost("the count is %lu", (unsigned long)p->count);
    for (uint64_t n = 1; n <= p->count; n++)
        if (p->entry[n - 1].word != value(n)) lost("entry %lu", (unsigned long)n);
}

PROGRAM
