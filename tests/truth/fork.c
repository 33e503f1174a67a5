/* Two processes append. What the second does is not recorded: refused. */
#include "truth.h"
#include <sys/wait.h>

static void work(const char *file) {
    struct log *log = fresh(file, PAGE);
    append(log, 1);
    pid_t child = fork();
    need(child >= 0, "fork");
    if (!child) {
        append(log, 2);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    append(log, 3);
}

LOG_PROGRAM
