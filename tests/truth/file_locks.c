/* Two threads with descriptors of their own keep out of one another's way by flock, and by locks of open files, one of which
 * is given back by closing. Correct. */
#define _GNU_SOURCE
#include "truth.h"
#include <pthread.h>
#include <sys/file.h>

static struct log *shared;
static const char *name;

static void append_next(void) {
    append(shared, shared->count.word + 1);
    coreplane_mark_here(shared->count.word);
}

static void *body(void *unused) {
    char lock[300];
    snprintf(lock, sizeof lock, "%s.lock", name);
    for (int i = 0; i < ENTRIES / 2; i++) {
        int fd = open(lock, O_RDWR | O_CREAT, 0644);
        struct flock whole = {.l_type = F_WRLCK};
        need(!flock(fd, LOCK_EX), "flock");
        need(!fcntl(fd, F_OFD_SETLKW, &whole), "fcntl");
        append_next();
        if (i == 0) flock(fd, LOCK_UN);
        close(fd);
        usleep(100);
    }
    return unused;
}

static void work(const char *file) {
    pthread_t ids[2];
    name = file;
    shared = (struct log *)fresh(file, PAGE);
    for (int i = 0; i < 2; i++) need(!pthread_create(&ids[i], NULL, body, NULL), "pthread_create");
    for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
}

LOG_PROGRAM
