/* Changes known bytes in each round, and waits for a line of input between rounds. */
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PAGES = 4096, PAGE = 4096 };

static unsigned char *map(size_t pages)
{
    return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
    unsigned char *memory = map(PAGES), *other = NULL;
    setvbuf(stdout, NULL, _IONBF, 0);
    memset(memory, 1, (size_t)PAGES * PAGE);
    printf("ready\n");
    for (int c; (c = getchar()) != EOF;) {
        if (c == 's') /* Three bytes in two lines of each of 1,000 pages, and a silent store beside. */
            for (size_t i = 0; i < 1000; i++) {
                unsigned char *page = memory + 2 * i * PAGE;
                page[0]++, page[1]++, page[64]++;
                *(volatile unsigned char *)(page + 2048) = 1;
            }
        if (c == 'm') { /* A mapping that comes, and one that goes. */
            other = map(512);
            memset(other, 7, 512 * PAGE);
        }
        if (c == 'k') /* From here on any call but read, write and exit ends the program. */
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        if (c == 'u')
            munmap(other, 512 * PAGE);
        printf("done\n");
    }
    /* Not exit_group, which a strict filter forbids. */
    syscall(SYS_exit, 0);
    return 0;
}
