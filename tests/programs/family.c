/* A process and the child that it forks, each of which changes known bytes of its own memory and of what they share, when a
 * line of input says so. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, OWN = 100, SHARED = 10 };

static unsigned char *own, *shared;

/* Three bytes in line 7 of each of so many pages of its own, and one in `line` of each shared page. */
static void change(int pages, int line)
{
    for (int i = 0; i < pages; i++)
        for (int byte = 0; byte < 3; byte++)
            own[i * PAGE + 7 * 64 + byte]++;
    for (int i = 0; i < SHARED; i++)
        shared[i * PAGE + line * 64]++;
}

static void child(int in, int out)
{
    for (char what; read(in, &what, 1) == 1;) {
        if (what == 'c')
            change(50, 11);
        if (write(out, &what, 1) != 1 || what == 'x')
            _exit(3);
    }
    _exit(4);
}

int main(void)
{
    int to[2], from[2], pid = 0, status = 3 << 8;
    own = mmap(NULL, OWN * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    shared = mmap(NULL, SHARED * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(own, 1, OWN * PAGE);
    memset(shared, 1, SHARED * PAGE);
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("ready\n");
    for (int what; (what = getchar()) != EOF;) {
        char byte = (char)what;
        if (what == 'p')
            change(30, 9);
        if (what == 'f') {
            if (pipe(to) || pipe(from) || (pid = fork()) < 0)
                return 1;
            if (pid == 0)
                child(to[0], from[1]);
        }
        if ((what == 'c' || what == 'x') && (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1))
            return 2;
        if (what == 'x' && waitpid(pid, &status, 0) != pid)
            return 3;
        printf("done\n");
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 3 ? 0 : 4;
}
