/* One host stores by inline assembly and is killed after that, in a loop that looks. The other one loads each of its values: were it late and
 * got only the last, no word would change under its eyes. */
#include "hosts.h"
#include <signal.h>
struct state { _Alignas(64) volatile uint64_t go; _Alignas(64) uint64_t data[8]; _Alignas(64) volatile uint64_t never; _Alignas(64) volatile uint64_t back; };
static void store(struct state *s) {
    for (uint64_t n = 1; n <= 5; n++) {
        __asm__ volatile("movq %1, %0" : "=m"(s->data[0]) : "r"(n) : "memory");
        persist(s->data, 64);
        tell(&s->go, n);
        while (look(&s->back) < n) usleep(10);
    }
    while (!look(&s->never)) usleep(10);
}
int main(void) {
    struct state *s = shared(sizeof *s);
    int status, bad = 0;
    pid_t other = fork();
    if (!other) {
        store(s);
        _exit(0);
    }
    for (uint64_t n = 1; n <= 5; n++) {
        while (look(&s->go) < n) usleep(10);
        invalidate(s->data, 64);
        bad += s->data[0] < n;
        tell(&s->back, n);
    }
    kill(other, SIGKILL);
    wait(&status);
    return bad;
}
