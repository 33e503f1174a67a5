/* A log with one writer and two readers, in anonymous memory. BUG 1: of a record, the first line alone is written back; 2: no fence; 3: written back
 * after it was told of; 4: readers keep what they looked at before; 5: and the tail, too. */
#include "hosts.h"
enum { RECORDS = 16 };
struct record { uint64_t length; char bytes[120]; };
struct log { _Alignas(64) volatile uint64_t tail; _Alignas(64) struct record records[RECORDS]; };
static void writer(struct log *l) {
    for (int n = 0; n < RECORDS; n++) {
        struct record *r = &l->records[n];
        r->length = (uint64_t)snprintf(r->bytes, sizeof r->bytes, "record %d of the log, long enough that it takes more than one line of the cache", n);
#if BUG == 1
        flush(r, 64); _mm_sfence();          /* the first line only */
#elif BUG == 2
        flush(r, sizeof *r);                 /* no fence */
#elif BUG != 3
        persist(r, sizeof *r);
#endif
        tell(&l->tail, (uint64_t)n + 1);
#if BUG == 3
        persist(r, sizeof *r);               /* too late */
#endif
        usleep(200);
    }
}
static int reader(struct log *l) {
    uint64_t seen = 0, bad = 0;
    while (seen < RECORDS) {
#if BUG == 5
        uint64_t tail = l->tail;             /* never dropped */
#else
        uint64_t tail = look(&l->tail);
#endif
        for (; seen < tail; seen++) {
            struct record *r = &l->records[seen];
#if BUG == 4
            if (seen == 0) for (int i = 0; i < RECORDS; i++) bad += ((volatile struct record *)l->records)[i].length > 1000;
#endif
#if BUG != 4
            invalidate(r, sizeof *r);
#endif
            bad += strlen(r->bytes) != r->length;
        }
        usleep(50);
    }
    return bad != 0;
}
int main(void) {
    struct log *l = shared(sizeof *l);
    for (int n = 0; n < 2; n++) if (!fork()) _exit(reader(l));
    writer(l);
    int status, failed = 0;
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
