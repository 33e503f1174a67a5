/* Right programs that are hard on a recorder: each ends as it would without one. `./robust CASE FILE` */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 16 };

static const char *path;
static atomic_ulong total;
static volatile uint64_t many[1 << 12];

static void *map(size_t bytes, int fd) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
}
static uint64_t *pool(void) {
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, BYTES)) exit(3);
    uint64_t *p = map(BYTES, fd);
    close(fd);
    return p;
}
static void work(int rounds) {
    for (int n = 0; n < rounds; n++) many[n % 4096] += (uint64_t)n;
}

/* A library, or code in assembly, takes memory away behind the recorder's back. */
static int gone(void) {
    char *p = map(BYTES, -1);
    uint64_t *q = pool();
    p[BYTES / 2] = 1;
    syscall(SYS_munmap, p, BYTES);
    q[5] = 7;
    syscall(SYS_munmap, q, BYTES);
    return 0;
}
static int forbidden(void) {
    char *p = map(BYTES, -1);
    p[17] = 1;
    mprotect(p, BYTES, PROT_NONE);
    p = map(BYTES, -1);
    p[18] = 1;
    syscall(SYS_mprotect, p, BYTES, PROT_NONE);
    return 0;
}
static int moved(void) {
    char *p = malloc(1 << 20);
    p[1 << 19] = 1;
    p = realloc(p, 1 << 28);
    printf("%d\n", p[1 << 19]);
    p[1 << 27] = 2;
    free(p);
    return 0;
}

static void *forever(void *unused) {
    (void)unused;
    for (;;) {
        atomic_fetch_add(&total, 1);
        work(100);
        write(-1, "", 0);
    }
    return NULL;
}
static void *forever_anywhere(void *argument) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    return forever(argument);
}
static int cancelled(void) {
    for (int n = 0; n < 40; n++) {
        pthread_t t;
        pthread_create(&t, NULL, n % 2 ? forever : forever_anywhere, NULL);
        usleep(2000);
        pthread_cancel(t);
        pthread_join(t, NULL);
        atomic_fetch_add(&total, 1);
    }
    return 0;
}
/* A thread that is cancelled at any instruction is cleaned up: often enough to meet the midst of a record. */
static atomic_int under_way;
static void clean(void *counter) { ++*(uint64_t *)counter; }
static void *store_for_ever(void *words) {
    volatile uint64_t *p = words;
    pthread_cleanup_push(clean, words);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    atomic_store(&under_way, 1);
    for (uint64_t n = 0;; n++) p[1 + n % 7] = n, many[n % 4096] += n;
    pthread_cleanup_pop(0);
    return NULL;
}
static int cleaned(void) {
    uint64_t *p = pool();
    p[0] = 0;
    for (int n = 0; n < 300; n++) {
        pthread_t t;
        atomic_store(&under_way, 0);
        pthread_create(&t, NULL, store_for_ever, p);
        while (!atomic_load(&under_way)) sched_yield();
        pthread_cancel(t);
        pthread_join(t, NULL);
    }
    printf("%lu\n", p[0]);
    return 0;
}
static void *leave(void *p) {
    atomic_fetch_add(&total, 1);
    pthread_exit(p);
}
static int threads(void) {
    for (int n = 0; n < 5000; n++) {
        pthread_t t;
        if (pthread_create(&t, NULL, leave, NULL)) return 1;
        pthread_join(t, NULL);
    }
    printf("%lu\n", atomic_load(&total));
    return 0;
}

static atomic_ulong alarms;
static void on_alarm(int number) {
    int saved = errno;
    (void)number;
    atomic_fetch_add(&total, 1);
    atomic_fetch_add(&alarms, 1);
    work(20);
    errno = saved;
}
static void every(long microseconds) {
    struct itimerval t = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &t, NULL);
}
static int interrupted(void) {
    struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &a, NULL);
    every(200);
    unsigned long own = 0;
    while (atomic_load(&alarms) < 500) atomic_fetch_add(&total, 1), own++, work(10);
    every(0);
    /* The last alarm was perhaps counted in between. */
    printf("%d\n", atomic_load(&total) >= own + 500);
    return 0;
}
static sigjmp_buf out;
static void jump_out(int number) {
    (void)number;
    atomic_fetch_add(&alarms, 1);
    siglongjmp(out, 1);
}
static int jumped(void) {
    signal(SIGALRM, jump_out);
    volatile int jumps = 0;
    while (jumps < 200) {
        if (sigsetjmp(out, 1)) {
            jumps++;
            continue;
        }
        every(300);
        for (;;) atomic_fetch_add(&total, 1), work(10);
    }
    every(0);
    printf("%d\n", jumps);
    return 0;
}
/* Its own handler for faults works as ever. */
static volatile char *page;
static void allow(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
    atomic_fetch_add(&alarms, 1);
}
static int faults(void) {
    struct sigaction a = {.sa_sigaction = allow, .sa_flags = SA_SIGINFO}, now;
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGSEGV, NULL, &now);
    page = mmap(NULL, 4096 * 8, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int n = 0; n < 8; n++) page[n * 4096 + n] = (char)n;
    printf("%d %lu %d\n", now.sa_sigaction == allow, atomic_load(&alarms), page[7 * 4096 + 7]);
    return 0;
}

/* Stores that cannot be made, and a handler that jumps away from them. */
static int refused_stores(void) {
    signal(SIGSEGV, jump_out);
    signal(SIGBUS, jump_out);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (ftruncate(fd, 4096)) return 1;
    char *file = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int *const places[] = {(int *)8, (int *)0xDEAD000000000000, (int *)(none + 64), (int *)(file + 4096)};
    for (volatile int n = 0; n < 4; n++) {
        file[n] = (char)(1 + n);
        if (!sigsetjmp(out, 1)) *places[n] = 1;
    }
    printf("%lu %d\n", atomic_load(&alarms), file[3]);
    return 0;
}

/* The number that the recorder has is closed or replaced, and then the program's own file has it. */
static int closes(void) {
    work(200000);
    for (int fd = 3; fd < 200000; fd++) close(fd);
    close_range(3, ~0u, 0);
    for (int fd = 3; fd < 200000; fd++) syscall(SYS_close, fd);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int n = 0; n < 3000; n++) dup(fd);
    for (int n = 99990; n < 100010; n++) dup2(fd, n), syscall(SYS_dup2, fd, n);
    work(400000);
    write(fd, "mine", 4);
    return 0;
}
static int children(void) {
    int status = 0;
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    child = vfork();
    if (child == 0) _exit(4);
    waitpid(child, &status, 0);
    printf("%d %d\n", WEXITSTATUS(status), system("exit 5") >> 8);
    return 0;
}
static void bye(void) { work(10), many[4000] = 1; }
static void quick(void) { write(1, "quick\n", 6); }

/* Threads that go on while the process ends. */
static int ends(void) {
    for (int n = 0; n < 4; n++) {
        pthread_t t;
        pthread_create(&t, NULL, forever, NULL);
    }
    usleep(20000);
    return 6;
}

static pthread_key_t key;
static void late(void *p) {
    atomic_fetch_add(&total, (unsigned long)(uintptr_t)p);
    if (p < (void *)3) pthread_setspecific(key, (char *)p + 1);
}
static void *with_values(void *unused) {
    pthread_setspecific(key, (void *)1);
    return unused;
}
static int destructors(void) {
    pthread_key_create(&key, late);
    for (int n = 0; n < 3; n++) {
        pthread_t t;
        pthread_create(&t, NULL, with_values, NULL);
        pthread_join(t, NULL);
    }
    printf("%lu\n", atomic_load(&total));
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    path = argv[2];
    setvbuf(stdout, NULL, _IONBF, 0);
    struct { const char *name; int (*run)(void); } cases[] = {
        {"gone", gone}, {"forbidden", forbidden}, {"moved", moved}, {"cancelled", cancelled}, {"cleaned", cleaned}, {"threads", threads},
        {"interrupted", interrupted}, {"jumped", jumped}, {"faults", faults}, {"refused_stores", refused_stores}, {"closes", closes}, {"children", children},
        {"ends", ends}, {"destructors", destructors},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        if (!strcmp(argv[1], cases[n].name)) return cases[n].run();
    work(100);
    if (!strcmp(argv[1], "exit")) atexit(bye), exit(7);
    if (!strcmp(argv[1], "quick")) at_quick_exit(quick), quick_exit(8);
    if (!strcmp(argv[1], "_Exit")) _Exit(9);
    if (!strcmp(argv[1], "last")) {
        pthread_t t;
        pthread_create(&t, NULL, leave, NULL);
        pthread_exit(NULL);
    }
    return 2;
}
