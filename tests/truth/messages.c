/* One thread tells the other by a message queue of POSIX or System V, and is told by signals: one that is waited for, one the
 * handler of which sets a flag. Correct. */
#define _GNU_SOURCE
#include "two_threads.h"
#include <mqueue.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/msg.h>

static mqd_t queue;
static int other_queue;
static uint64_t told, awaited;
static pthread_t ids[2];
static volatile sig_atomic_t flag;
struct message {
    long type;
    char text[8];
};

static void on_signal(int number) {
    (void)number;
    flag = 1;
}

static void tell(enum who other) {
    struct message m = {1, "entry"};
    if (other == WRITER) pthread_kill(ids[WRITER], ++awaited % 2 ? SIGUSR1 : SIGUSR2);
    else if (++told % 2) need(!mq_send(queue, m.text, sizeof m.text, 0), "mq_send");
    else need(!msgsnd(other_queue, &m, sizeof m.text, 0), "msgsnd");
}

static void await(enum who self) {
    static uint64_t got, seen;
    struct message m;
    sigset_t one;
    int number;
    if (self == COMMITTER && ++got % 2) need(mq_receive(queue, m.text, sizeof m.text, NULL) == sizeof m.text, "mq_receive");
    else if (self == COMMITTER) need(msgrcv(other_queue, &m, sizeof m.text, 0, 0) == sizeof m.text, "msgrcv");
    else if (++seen % 2) {
        sigemptyset(&one);
        sigaddset(&one, SIGUSR1);
        need(!sigwait(&one, &number), "sigwait");
    } else {
        sigemptyset(&one);
        while (!flag) sigsuspend(&one);
        flag = 0;
    }
}

static void work(const char *file) {
    struct mq_attr how = {.mq_maxmsg = 4, .mq_msgsize = sizeof(((struct message *)0)->text)};
    char name[40];
    snprintf(name, sizeof name, "/coreplane-%d", (int)getpid());
    queue = mq_open(name, O_RDWR | O_CREAT, 0600, &how);
    other_queue = msgget(IPC_PRIVATE, 0600);
    need(queue >= 0 && other_queue >= 0, "queues");
    mq_unlink(name);
    sigset_t both_signals;
    sigemptyset(&both_signals);
    sigaddset(&both_signals, SIGUSR1);
    sigaddset(&both_signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &both_signals, NULL);
    signal(SIGUSR2, on_signal);
    shared = (struct log *)fresh(file, PAGE);
    ids[WRITER] = pthread_self();
    need(!pthread_create(&ids[COMMITTER], NULL, run, (void *)committer), "pthread_create");
    writer();
    pthread_join(ids[COMMITTER], NULL);
    msgctl(other_queue, IPC_RMID, NULL);
}

LOG_PROGRAM
