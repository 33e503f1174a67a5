/* Tickets that are served in turn, around balances in a segment of shmget. BUG 1: the number that is served is not written back; 2: the balances
 * are not; 3: nor dropped; 4: no fence before the next is served. */
#include "hosts.h"
#include <sys/shm.h>
struct bank { _Alignas(64) volatile uint64_t serving; _Alignas(64) uint64_t balance[16]; };
static void host(struct bank *b, uint64_t me, uint64_t hosts) {
    for (uint64_t n = 0; n < 10; n++) {
        uint64_t ticket = n * hosts + me;
        while (look(&b->serving) != ticket) usleep(20);
#if BUG != 3
        invalidate(b->balance, sizeof b->balance);
#endif
        for (int i = 0; i < 16; i++) b->balance[i] += me + 1;
#if BUG == 4
        flush(b->balance, sizeof b->balance);
#elif BUG != 2
        persist(b->balance, sizeof b->balance);
#endif
        b->serving = ticket + 1;
#if BUG != 1
        persist((void *)&b->serving, 8);
#endif
    }
}
int main(void) {
    int id = shmget(IPC_PRIVATE, sizeof(struct bank), IPC_CREAT | 0600);
    struct bank *b = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL);
    if (b == (void *)-1) return 9;
    for (uint64_t n = 1; n < 3; n++) if (!fork()) { host(b, n, 3); _exit(0); }
    host(b, 0, 3);
    while (wait(NULL) > 0) {}
    invalidate(b, sizeof *b);
    return b->balance[3] != 60;
}
