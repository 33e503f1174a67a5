/* Threads that fork, vfork and spawn for so many rounds, among signals. Ends with 0 where every child ended as it had to, no
 * signal was lost, and nobody changed another's memory. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BYTES = 1 << 16, ENDS = 7 };

extern char **environ;
static const char *self;
static atomic_int seen, wrong;
static int rounds;

static void noted(int signal)
{
    (void)signal;
    seen++;
}

static void forked(unsigned char *memory, int value)
{
    int pid = fork();
    if (pid == 0) {
        for (int i = 0; i < BYTES; i++)
            if (memory[i] != (unsigned char)value)
                _exit(1);
        for (int i = 0; i < BYTES; i++)
            ((volatile unsigned char *)memory)[i] = (unsigned char)~value;
        _exit(ENDS);
    }
    int status;
    wrong += pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != ENDS;
}

static void replaced(int how)
{
    char *words[] = {(char *)self, NULL};
    int pid = -1, status;
    if (how == 0 && posix_spawn(&pid, self, NULL, NULL, words, environ))
        wrong++;
    if (how == 1 && (pid = vfork()) == 0) {
        execv(self, words);
        _exit(1);
    }
    if (how == 2 && (pid = fork()) == 0) {
        execv(self, words);
        _exit(1);
    }
    wrong += pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != ENDS;
}

static void *busy(void *number)
{
    unsigned char *memory = malloc(BYTES);
    for (int i = 0; i < rounds; i++) {
        int value = i + (int)(long)number;
        memset(memory, value, BYTES);
        forked(memory, value);
        replaced(i % 3);
        for (int b = 0; b < BYTES; b++)
            wrong += memory[b] != (unsigned char)value;
        /* Signals of this kind are queued: none may be lost. */
        wrong += pthread_sigqueue(pthread_self(), SIGRTMIN + 3, (union sigval){0}) != 0;
    }
    free(memory);
    return NULL;
}

int main(int count, char **words)
{
    if (count < 2)
        return ENDS;
    self = words[0];
    rounds = atoi(words[1]);
    signal(SIGRTMIN + 3, noted);
    printf("ready\n");
    fflush(stdout);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        wrong += pthread_create(&threads[i], NULL, busy, (void *)i) != 0;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d wrong, %d of %d signals\n", wrong, seen, rounds * THREADS);
    return wrong || seen != rounds * THREADS;
}
