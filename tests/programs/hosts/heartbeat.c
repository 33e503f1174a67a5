/* A configuration that is renewed and a heartbeat beside it, which tells nothing of it. BUG 1: every other version is not written back, and the
 * reader looks rarely. */
#include "hosts.h"
enum { VERSIONS = 60 };
struct state { _Alignas(64) volatile uint64_t beat; _Alignas(64) volatile uint64_t version; _Alignas(64) uint64_t config[VERSIONS + 1][8]; };
static int follow(struct state *s) {
    uint64_t version = 0, bad = 0, beat = 0;
    while (version < VERSIONS) {
        beat = look(&s->beat);
        version = look(&s->version);
        invalidate(s->config[version], 64);
        for (int i = 0; i < 8; i++) bad += s->config[version][i] != version;
        usleep(230);
    }
    return bad != 0 || !beat;
}
int main(void) {
    struct state *s = shared(sizeof *s);
    int status;
    if (!fork()) _exit(follow(s));
    for (uint64_t n = 1; n <= VERSIONS; n++) {
        for (int i = 0; i < 8; i++) s->config[n][i] = n;
        tell(&s->beat, n);
        usleep(60);
#if BUG == 1
        if (n % 2)
#endif
            persist(s->config[n], 64);
        tell(&s->version, n);
        usleep(60);
    }
    wait(&status);
    return status != 0;
}
