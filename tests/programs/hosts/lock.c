/* Peterson's lock of two hosts, around a count. BUG 1: the release is not written back; 2: the count is not; 3: nor dropped when the lock is taken;
 * 4: what each host counts for itself lies in one line; 5: no fence before the release. */
#include "hosts.h"
struct state {
    _Alignas(64) volatile uint64_t flag[2][8];
    _Alignas(64) volatile uint64_t turn;
    struct { _Alignas(64) volatile uint64_t is; } here[2];
    _Alignas(64) uint64_t count; uint64_t sum;
#if BUG == 4
    _Alignas(64) uint64_t stats[2];
#else
    struct { _Alignas(64) uint64_t n; } stats[2];
#endif
};
static void take(struct state *s, int me) {
    tell(&s->flag[me][0], 1);
    tell(&s->turn, (uint64_t)!me);
    while (look(&s->flag[!me][0]) && look(&s->turn) == (uint64_t)!me) usleep(20);
}
static void release(struct state *s, int me) {
    s->flag[me][0] = 0;
#if BUG != 1
    persist((void *)&s->flag[me][0], 8);
#endif
}
static void work(struct state *s, int me) {
    /* Neither is through before the other begins. */
    tell(&s->here[me].is, 1);
    while (!look(&s->here[!me].is)) usleep(20);
    for (int n = 0; n < 15; n++) {
        take(s, me);
#if BUG != 3
        invalidate(&s->count, 16);
#endif
        s->count++;
        s->sum += (uint64_t)n;
#if BUG == 5
        flush(&s->count, 16);
#elif BUG != 2
        persist(&s->count, 16);
#endif
        release(s, me);
#if BUG == 4
        s->stats[me]++;
        persist(&s->stats[me], 8);
#else
        s->stats[me].n++;
        persist(&s->stats[me].n, 8);
#endif
        usleep(60);
    }
}
int main(void) {
    struct state *s = shared(sizeof *s);
    if (!fork()) { work(s, 0); _exit(0); }
    if (!fork()) { work(s, 1); _exit(0); }
    while (wait(NULL) > 0) {}
    invalidate(s, sizeof *s);
    printf("%lu\n", (unsigned long)s->count);
    return s->count != 30;
}
