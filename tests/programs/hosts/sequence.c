/* A sequence lock with two readers. BUG 1: the odd number is not written back before the data; 2: readers do not look at the number again; 3: they look
 * again at the copy that they have. */
#include "hosts.h"
enum { ROUNDS = 30, WORDS = 16 };
struct table { _Alignas(64) volatile uint64_t number; _Alignas(64) volatile uint64_t data[WORDS]; };
static int get(struct table *t, uint64_t *out, uint64_t *at) {
    *at = look(&t->number);
    if (*at & 1) return 0;
    invalidate((const void *)t->data, sizeof t->data);
    for (int i = 0; i < WORDS; i++) out[i] = t->data[i];
#if BUG == 2
    return 1;
#elif BUG == 3
    return t->number == *at;
#else
    return look(&t->number) == *at;
#endif
}
static int follow(struct table *t) {
    uint64_t out[WORDS], at = 0;
    int bad = 0;
    while (at < 2 * ROUNDS) {
        if (!get(t, out, &at)) continue;
        for (int i = 0; i < WORDS; i++) bad += out[i] != at / 2;
        usleep(50);
    }
    return bad;
}
int main(void) {
    struct table *t = shared(sizeof *t);
    int status, bad = 0;
    for (int reader = 0; reader < 2; reader++)
        if (!fork()) _exit(follow(t) != 0);
    usleep(1000);
    for (uint64_t n = 1; n <= ROUNDS; n++) {
        t->number = 2 * n - 1;
#if BUG != 1
        persist((const void *)&t->number, 8);
#endif
        for (int i = 0; i < WORDS; i++) t->data[i] = n;
        persist((const void *)t->data, sizeof t->data);
        tell(&t->number, 2 * n);
        usleep(100);
    }
    while (wait(&status) > 0) bad |= status;
    return bad != 0;
}
