/* Pages that three hosts hand on in turn, in a memfd. BUG 1: a page is not written back; 2: its last line is not; 3: who gets it keeps what it had; 4: the
 * owner's word is written back after the page was handed on. */
#include "hosts.h"
enum { PAGE = 512, PAGES = 4, ROUNDS = 12 };
struct meta { _Alignas(64) volatile uint64_t turn; };
struct pool { struct meta page[PAGES]; _Alignas(64) uint64_t owner[PAGES][8]; _Alignas(64) uint64_t words[PAGES][PAGE / 8]; };
/* All words go through these. */
static __attribute__((noinline)) void put_word(uint64_t *w, uint64_t v) { *w = v; }
static __attribute__((noinline)) uint64_t get_word(const uint64_t *w) { return *w; }
static int host(struct pool *p, uint64_t me, uint64_t hosts) {
    int bad = 0;
    for (uint64_t n = 0; n < ROUNDS; n++) {
        for (int page = 0; page < PAGES; page++) {
            uint64_t turn = n * hosts + me;
            while (look(&p->page[page].turn) != turn) usleep(20);
            uint64_t *words = p->words[page];
#if BUG != 3
            invalidate(words, PAGE);
#endif
            if (turn) for (int i = 0; i < PAGE / 8; i++) bad += get_word(&words[i]) != turn - 1 + (uint64_t)i;
            for (int i = 0; i < PAGE / 8; i++) put_word(&words[i], turn + (uint64_t)i);
            invalidate(p->owner[page], 8);
            put_word(&p->owner[page][0], me);
#if BUG != 4
            persist(p->owner[page], 8);
#endif
#if BUG == 2
            persist(words, PAGE - 64);
#elif BUG != 1
            persist(words, PAGE);
#endif
            tell(&p->page[page].turn, turn + 1);
#if BUG == 4
            persist(p->owner[page], 8);
#endif
        }
    }
    return bad;
}
int main(void) {
    int fd = memfd_create("pool", 0);
    if (fd < 0 || ftruncate(fd, sizeof(struct pool))) return 9;
    struct pool *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (uint64_t n = 1; n < 3; n++) if (!fork()) _exit(host(p, n, 3));
    int failed = host(p, 0, 3), status;
    while (wait(&status) > 0) failed |= status;
    return failed != 0;
}
