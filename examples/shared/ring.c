/* A ring between two hosts that share memory without coherence: a process each, and one mapped file.
 *
 *   ring FILE           both, by fork
 *   ring FILE produce   one of them; start the other one too, with a new file
 *   ring FILE consume
 *
 * What another host is to see is flushed, and waited for, before it is told of. What another host may have written is dropped
 * from the own caches before it is read. With -DBUG one of the two is left out. */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 64, SLOTS = 4, ITEMS = 20 };

struct line {
    uint64_t words[LINE / 8];
};
struct ring {
    struct line tail, head, slots[SLOTS];
};

/* Writes a line back, and waits until it is there. */
static void publish(struct line *l) {
    _mm_clflush(l);
    _mm_mfence();
}

/* The same instructions, on a line that this host has not written: the next load is of what the device has. */
static void drop(struct line *l) { publish(l); }

static uint64_t look(struct line *l) {
    drop(l);
    return *(volatile uint64_t *)l->words;
}

static void tell(struct line *l, uint64_t n) {
    *(volatile uint64_t *)l->words = n;
    publish(l);
}

static int produce(struct ring *r) {
    for (uint64_t n = 0; n < ITEMS; n++) {
        while (n - look(&r->head) >= SLOTS) usleep(100);
        struct line *slot = &r->slots[n % SLOTS];
        for (uint64_t i = 0; i < LINE / 8; i++) slot->words[i] = n * 8 + i;
#ifndef BUG
        publish(slot);
#endif
        tell(&r->tail, n + 1);
    }
    return 0;
}

static int consume(struct ring *r) {
    uint64_t wrong = 0;
    for (uint64_t n = 0; n < ITEMS; n++) {
        while (look(&r->tail) <= n) usleep(100);
        struct line *slot = &r->slots[n % SLOTS];
        drop(slot);
        for (uint64_t i = 0; i < LINE / 8; i++) wrong += slot->words[i] != n * 8 + i;
        tell(&r->head, n + 1);
    }
    printf("%d items, %lu words wrong\n", ITEMS, (unsigned long)wrong);
    return wrong != 0;
}

int main(int argc, char **argv) {
    /* Who starts both begins anew; of two that are started apart, neither knows who is first. */
    int fd = argc < 2 ? -1 : open(argv[1], O_RDWR | O_CREAT | (argc == 2 ? O_TRUNC : 0), 0644);
    if (fd < 0 || ftruncate(fd, sizeof(struct ring))) {
        fprintf(stderr, "usage: ring FILE [produce|consume]\n");
        return 1;
    }
    struct ring *r = mmap(NULL, sizeof *r, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (r == MAP_FAILED) return 1;
    if (argc > 2) return strcmp(argv[2], "produce") ? consume(r) : produce(r);
    pid_t child = fork();
    if (child == 0) return produce(r);
    int failed = consume(r);
    waitpid(child, NULL, 0);
    return failed;
}
