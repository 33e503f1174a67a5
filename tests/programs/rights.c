/* Changes known bytes of memory that it then makes read-only, takes every right to, or moves, when a line of input says so. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 100, CHANGED = 50 };

static unsigned char *map(int how)
{
    unsigned char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, how | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, PAGES * PAGE);
    return memory;
}

/* Three bytes in line 7 and two in line 33 of each of fifty pages. */
static void change(unsigned char *memory)
{
    for (int i = 0; i < CHANGED; i++)
        for (int byte = 0; byte < 5; byte++)
            memory[i * PAGE + (byte < 3 ? 7 : 33) * 64 + byte]++;
}

int main(void)
{
    unsigned char *readable = map(MAP_PRIVATE), *closed = map(MAP_PRIVATE), *code = map(MAP_PRIVATE);
    unsigned char *shared = map(MAP_SHARED), *moved = map(MAP_PRIVATE);
    mprotect(code, PAGES * PAGE, PROT_READ);
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("ready\n");
    for (int c; (c = getchar()) != EOF; printf("done\n")) {
        if (c == 'r') {
            change(readable);
            mprotect(readable, CHANGED * PAGE, PROT_READ);
        }
        if (c == 'n') {
            change(closed);
            mprotect(closed, PAGES * PAGE, PROT_NONE);
        }
        if (c == 'x') { /* As compilers do that make code while the program runs. */
            mprotect(code, PAGES * PAGE, PROT_READ | PROT_WRITE);
            change(code);
            mprotect(code, PAGES * PAGE, PROT_READ);
        }
        if (c == 's') {
            change(shared);
            mprotect(shared, PAGES * PAGE, PROT_READ);
        }
        if (c == 'm') { /* As realloc does. */
            moved = mremap(moved, PAGES * PAGE, 3 * PAGES * PAGE, MREMAP_MAYMOVE);
            change(moved);
        }
        if (c == 'f') { /* To a place where something was, and on from there, and a change of what lies behind. */
            unsigned char *place = map(MAP_PRIVATE);
            moved = mremap(moved, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
            moved = mremap(moved, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE);
            change(moved);
            change(moved + PAGES * PAGE);
        }
    }
    return 0;
}
