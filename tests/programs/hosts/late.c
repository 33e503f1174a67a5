/* A process that has to wait between the hook of its load and the load itself: what the other one stored meanwhile is what it gets, and the recorder was
 * told of what was there before. A hook is called here by hand, and what the processes wait for meanwhile has none. BUG 1: the data are not written back. */
#include "hosts.h"
enum { ROUNDS = 8 };
struct box {
    _Alignas(64) volatile uint64_t told;
    _Alignas(64) uint64_t data[8];
    _Alignas(64) volatile uint64_t has_looked, has_told;
};
#define UNSEEN __attribute__((noinline, no_sanitize("thread")))
extern void __tsan_volatile_read8(void *) __attribute__((weak));
UNSEEN static uint64_t get(volatile uint64_t *w) { return *w; }
UNSEEN static void set(volatile uint64_t *w, uint64_t v) { *w = v; }
UNSEEN static void wait_for(volatile uint64_t *w, uint64_t v) {
    while (*w != v) _mm_pause();
}
/* Whether the other one has told, by a look that takes long. */
static int look_for_long(struct box *b, uint64_t round) {
    invalidate((const void *)&b->told, 8);
    if (__tsan_volatile_read8) __tsan_volatile_read8((void *)&b->told);
    set(&b->has_looked, round);
    wait_for(&b->has_told, round);
    return get(&b->told) == round;
}
int main(void) {
    struct box *b = shared(sizeof *b);
    int status, bad = 0;
    if (!fork()) {
        for (uint64_t round = 1; round <= ROUNDS; round++) {
            bad += !look_for_long(b, round);
            invalidate(b->data, 64);
            for (int i = 0; i < 8; i++) bad += b->data[i] != round;
        }
        _exit(bad != 0);
    }
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        wait_for(&b->has_looked, round);
        for (int i = 0; i < 8; i++) b->data[i] = round;
#if BUG != 1
        persist(b->data, 64);
#endif
        tell(&b->told, round);
        set(&b->has_told, round);
    }
    wait(&status);
    return status != 0;
}
