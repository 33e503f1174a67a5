/* Two threads add to a count in a file: with a lock, or (where a second argument is given) without. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t *count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int locked;

static void *add(void *by) {
    for (int i = 0; i < 20; i++) {
        if (locked) pthread_mutex_lock(&lock);
        *count = *count + (uintptr_t)by;
        if (locked) pthread_mutex_unlock(&lock);
    }
    return 0;
}

int main(int argc, char **argv) {
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096)) return 1;
    count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count == MAP_FAILED) return 1;
    locked = argc < 3;
    pthread_t other;
    pthread_create(&other, 0, add, (void *)1);
    add((void *)2);
    pthread_join(other, 0);
    msync((void *)count, 4096, MS_SYNC);
    return 0;
}
