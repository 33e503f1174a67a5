/* run PATH HOW: two threads that take turns by a store that releases and a load that acquires, which are plain moves on x86.
 *   flushed     one stores an entry, the other flushes it, the first publishes it
 *   synced      the same with msync
 *   consumed    one stores an entry, the other flushes and publishes it
 *   too-early   the other flushes the line before the entry is stored, and synced-early so with msync
 * check PATH COUNT: every published entry is there, and no fewer are published than were acknowledged. */
#include <coreplane.h>
#include <emmintrin.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ENTRIES = 6, PAGES = 8192 };
static volatile uint64_t *words;
static atomic_int asked, done;
static int syncs, consumes, early;

static volatile uint64_t *entry(int i) { return words + 512 + 8 * i; }
static void flush(volatile uint64_t *at) {
    _mm_clflush((void *)at);
    _mm_sfence();
}
static void publish(int i) {
    words[0] = (uint64_t)i;
    flush(words);
    coreplane_mark_here(i);
}
static void *other(void *unused) {
    for (int i = 1; i <= ENTRIES; i++) {
        while (atomic_load_explicit(&asked, memory_order_acquire) < i) sched_yield();
        if (syncs) msync((void *)words, PAGES, MS_SYNC);
        else flush(entry(i));
        if (consumes) publish(i);
        atomic_store_explicit(&done, i, memory_order_release);
    }
    return unused;
}
static void ask(int i) {
    atomic_store_explicit(&asked, i, memory_order_release);
    while (atomic_load_explicit(&done, memory_order_acquire) < i) sched_yield();
}
static int check(long acknowledged) {
    if ((long)words[0] < acknowledged) return printf("%lu published, %ld acknowledged\n", words[0], acknowledged);
    for (int i = 1; i <= (int)words[0]; i++)
        if (*entry(i) != (uint64_t)i * 77) return printf("entry %d of %lu\n", i, words[0]);
    return 0;
}
int main(int argc, char **argv) {
    int checks = argc == 4 && !strcmp(argv[1], "check"), fd = open(argv[2], checks ? O_RDONLY : O_CREAT | O_RDWR, 0644);
    if (!checks && (ftruncate(fd, PAGES) || fsync(fd))) return 2;
    words = mmap(NULL, PAGES, checks ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (checks) return check(atol(argv[3])) != 0;
    syncs = !strncmp(argv[3], "synced", 6);
    consumes = !strcmp(argv[3], "consumed");
    early = strstr(argv[3], "early") != NULL;
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    for (int i = 1; i <= ENTRIES; i++) {
        if (early) ask(i);
        *entry(i) = (uint64_t)i * 77;
        if (!early) ask(i);
        if (!consumes) publish(i);
    }
    return pthread_join(thread, NULL);
}
