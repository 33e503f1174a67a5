/* A process whose first thread ends before its other one, which is replaced by a thread, or whose children outlive it: what it
 * changes then is known. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 50, GENERATIONS = 8 };

static pthread_t first;
static const char *mode;

/* Three bytes in line 7 and two in line 33 of each of fifty pages. */
static void change(void)
{
    static unsigned char *memory;
    if (!memory)
        memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < PAGES; i++)
        for (int byte = 0; byte < 5; byte++)
            memory[i * PAGE + (byte < 3 ? 7 : 33) * 64 + byte]++;
}

static void *other(void *unused)
{
    if (!strcmp(mode, "replaced"))
        execl("/proc/self/exe", "ends", "alone", NULL);
    pthread_join(first, NULL);
    if (!strcmp(mode, "outlived"))
        change();
    if (!strcmp(mode, "steps")) {
        setvbuf(stdout, NULL, _IONBF, 0);
        printf("ready\n");
        for (int c; (c = getchar()) != EOF; printf("done\n"))
            if (c == 's')
                change();
    }
    return unused;
}

int main(int count, char **words)
{
    mode = count > 1 ? words[1] : "alone";
    if (!strcmp(mode, "orphan"))
        for (int i = 0; i < GENERATIONS; i++)
            if (fork())
                _exit(0);
    if (!strcmp(mode, "orphan") || !strcmp(mode, "alone")) {
        change();
        return 0;
    }
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, other, NULL);
    while (!strcmp(mode, "replaced"))
        pause();
    pthread_exit(NULL);
}
