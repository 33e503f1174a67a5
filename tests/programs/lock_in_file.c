/* A lock that lies in a mapped file, as those of persistent pools do, beside a counter that is made durable. */
#include <coreplane.h>
#include <fcntl.h>
#include <emmintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct pool {
    uint64_t count, pad[7];
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
};

int main(int argc, char **argv) {
    int check = argc > 3, fd = open(argv[2], O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, 4096)) return 2;
    struct pool *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, check ? MAP_PRIVATE : MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return 2;
    if (check) return p->count < strtoul(argv[3], NULL, 10);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_rwlock_init(&p->rwlock, NULL);
    pthread_cond_init(&p->cond, NULL);
    for (uint64_t n = 1; n <= 5; n++) {
        pthread_mutex_lock(&p->mutex);
        p->count = n;
        _mm_clflush(p);
        _mm_sfence();
        pthread_mutex_unlock(&p->mutex);
        coreplane_mark(n);
    }
    pthread_mutex_destroy(&p->mutex);
    pthread_rwlock_destroy(&p->rwlock);
    pthread_cond_destroy(&p->cond);
    return munmap(p, 4096);
}
