/* Two threads add to a count in a file: with a lock, or as a second argument says: unlocked, or in turns by a word that is stored
 * and looked at relaxed, with fences (fenced; of sequential consistency: full) or without (relaxed). */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile uint64_t *count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *how = "locked";
static atomic_long turn = 1;

static int is(const char *word) { return !strcmp(how, word); }

static void begin(long self) {
    if (is("locked")) pthread_mutex_lock(&lock);
    if (is("locked") || is("unlocked")) return;
    while (atomic_load_explicit(&turn, memory_order_relaxed) != self) sched_yield();
    if (is("fenced")) atomic_thread_fence(memory_order_acquire);
    if (is("full")) atomic_thread_fence(memory_order_seq_cst);
}

static void end(long other) {
    if (is("locked")) pthread_mutex_unlock(&lock);
    if (is("locked") || is("unlocked")) return;
    if (is("fenced")) atomic_thread_fence(memory_order_release);
    if (is("full")) atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&turn, other, memory_order_relaxed);
}

static void *add(void *by) {
    for (int i = 0; i < 20; i++) {
        begin((long)by);
        *count = *count + (uintptr_t)by;
        end(3 - (long)by);
    }
    return 0;
}

int main(int argc, char **argv) {
    int file = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096)) return 1;
    count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count == MAP_FAILED) return 1;
    if (argc > 2) how = argv[2];
    pthread_t other;
    pthread_create(&other, 0, add, (void *)1);
    add((void *)2);
    pthread_join(other, 0);
    msync((void *)count, 4096, MS_SYNC);
    return 0;
}
