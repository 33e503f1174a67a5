/* More mappings of a file than a small table has, and more files than the recorder has numbers for. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void need(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(1);
}

/* 4,200 mappings at once, of which the last hundred are made durable. */
static void many_mappings(int file) {
    need(!ftruncate(file, 4096), "ftruncate");
    for (long n = 0; n < 4200; n++) {
        long *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        need(at != MAP_FAILED, "mmap");
        *at = n;
        if (n >= 4100) need(!msync(at, 4096, MS_SYNC), "msync");
    }
}

/* One after the other, as a database makes a journal for each transaction. */
static void many_files(int file, const char *journal) {
    for (int n = 0; n < 1 << 16; n++) {
        int fd = open(journal, O_CREAT | O_EXCL | O_WRONLY, 0600);
        need(fd >= 0, journal);
        need(!close(fd) && !unlink(journal), journal);
    }
    need(write(file, "x", 1) == 1 && !fsync(file), "write");
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    int file = open(arguments[1], O_CREAT | O_RDWR | O_TRUNC, 0600);
    need(file >= 0, arguments[1]);
    if (count > 2) many_files(file, arguments[2]);
    else many_mappings(file);
    return 0;
}
