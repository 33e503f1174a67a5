/* Objects that one host allocates and lends to another one, by a line for each way. BUG 1: an object is not written back before it is lent; 2: nor
 * is the line that lends it; 3: the borrower uses what it had of the object before; 4: what each host counts lies in one line; 5: an object is
 * given back and not written back. */
#include "hosts.h"
#include <cstdio>
#include <cstring>
struct Object { uint64_t size, owner; char text[48]; };
static_assert(sizeof(Object) == 64);
struct alignas(64) Mailbox { volatile uint64_t at; };
#if BUG == 4
struct Count { uint64_t n; };
#else
struct alignas(64) Count { uint64_t n; };
#endif
struct alignas(64) Pool { Mailbox to[2]; alignas(64) Object objects[8]; alignas(64) Count counts[2]; };
static void count(Count &c) {
    c.n++;
    persist(&c.n, 8);
}
static int owner(Pool &p) {
    int bad = 0;
    for (uint64_t n = 1; n <= 24; n++) {
        Object &o = p.objects[n % 8];
        o.size = n; o.owner = 0;
        std::snprintf(o.text, sizeof o.text, "object %lu", (unsigned long)n);
#if BUG != 1
        persist(&o, sizeof o);
#endif
        p.to[1].at = n;
#if BUG != 2
        persist((void *)&p.to[1].at, 8);
#endif
        count(p.counts[0]);
        while (look(&p.to[0].at) != n) usleep(20);
        invalidate(&o, sizeof o);
        bad += o.owner != 1 || o.size != n * 2;
    }
    return bad;
}
static int borrower(Pool &p) {
    int bad = 0;
    char warm = 0;
    for (auto &o : p.objects) warm += ((volatile Object &)o).text[0];
    for (uint64_t n = 1; n <= 24; n++) {
        while (look(&p.to[1].at) != n) usleep(20);
        Object &o = p.objects[n % 8];
#if BUG != 3
        invalidate(&o, sizeof o);
#endif
        bad += o.size != n;
        o.size = n * 2; o.owner = 1;
#if BUG != 5
        persist(&o, sizeof o);
#endif
        tell(&p.to[0].at, n);
        count(p.counts[1]);
    }
    return bad;
}
int main() {
    auto &p = *static_cast<Pool *>(shared(sizeof(Pool)));
    if (!fork()) _exit(borrower(p));
    int bad = owner(p), status;
    wait(&status);
    return bad || status;
}
