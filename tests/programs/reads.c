/* Reads and writes known pages of memory and of a mapped file, when a line of input says so. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, OWN = 3000, FILE_PAGES = 500 };

static volatile unsigned char *own;
static atomic_int stops, sum;

static void read_pages(volatile unsigned char *from, int first, int count)
{
    for (int i = first; i < first + count; i++)
        sum += from[i * PAGE + 100];
}

/* Pages 2,900 to 2,963, as fast as it goes: their translations stay in the processor. */
static void *again_and_again(void *unused)
{
    while (!stops)
        read_pages(own, 2900, 64);
    return unused;
}

int main(int count, char **words)
{
    (void)count;
    int file = open(words[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, FILE_PAGES * PAGE))
        return 1;
    /* Of the heap, whose name tells it apart. */
    own = (unsigned char *)(((unsigned long)sbrk((OWN + 1) * PAGE) + PAGE - 1) & -PAGE);
    volatile unsigned char *mapped = mmap(NULL, FILE_PAGES * PAGE, PROT_READ, MAP_SHARED, file, 0);
    memset((void *)own, 1, OWN * PAGE);
    read_pages(mapped, 0, FILE_PAGES);
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("ready\n");
    pthread_t thread;
    for (int what; (what = getchar()) != EOF;) {
        if (what == 'r') /* 700 pages are read, 40 others written, with what was there and with something else. */
            read_pages(own, 0, 700);
        if (what == 'w')
            for (int i = 1000; i < 1040; i++)
                own[i * PAGE] = (unsigned char)(own[i * PAGE] + i % 2);
        if (what == 'f')
            read_pages(mapped, 10, 120);
        if (what == 'l' && pthread_create(&thread, NULL, again_and_again, NULL))
            return 2;
        printf("done\n");
    }
    stops = 1;
    return 0;
}
