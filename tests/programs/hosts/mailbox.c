/* A box for one letter at a time. BUG 1: the letter is not written back; 2: it is stored after the box is said to be full; 3: the reader gives the box
 * back before it has read. */
#include "hosts.h"
enum { LETTERS = 30 };
struct box { _Alignas(64) volatile uint64_t full; _Alignas(64) uint64_t letter[8]; };
static void put(struct box *b, uint64_t n) {
#if BUG == 2
    tell(&b->full, 1);
#endif
    for (int i = 0; i < 8; i++) b->letter[i] = n;
#if BUG != 1
    persist(b->letter, 64);
#endif
#if BUG != 2
    tell(&b->full, 1);
#endif
}
static int get(struct box *b, uint64_t n) {
    int bad = 0;
#if BUG == 3
    tell(&b->full, 0);
#endif
    invalidate(b->letter, 64);
    for (int i = 0; i < 8; i++) bad += b->letter[i] != n;
#if BUG != 3
    tell(&b->full, 0);
#endif
    return bad;
}
int main(void) {
    struct box *b = shared(sizeof *b);
    int status, bad = 0;
    if (!fork()) {
        for (uint64_t n = 1; n <= LETTERS; n++) {
            while (!look(&b->full)) usleep(5);
            bad += get(b, n);
        }
        _exit(bad != 0);
    }
    for (uint64_t n = 1; n <= LETTERS; n++) {
        while (look(&b->full)) usleep(5);
        put(b, n);
    }
    wait(&status);
    /* What the other host stored last, and this one has waited for. */
    invalidate(b, sizeof *b);
    return status != 0 || b->letter[0] != LETTERS;
}
