/* A file that is mapped, written, grown, and as asked for: changed unseen, left without a sync, or gone. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *how = argv[1], *path = argv[2];
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (ftruncate(fd, 8192)) return 1;
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (int i = 0; i < 100; i++) p[64 * i] = (char)i;
    if (pwrite(fd, "hello", 5, 8000) != 5) return 1;
    if (strcmp(how, "undurable")) msync(p, 8192, MS_SYNC);
    munmap(p, 8192);
    close(fd);
    if (!strcmp(how, "gone")) unlink(path);
    if (!strcmp(how, "unseen")) {
        char command[300];
        snprintf(command, sizeof command, "printf xyz | dd of=%s bs=1 seek=4100 conv=notrunc 2>/dev/null", path);
        if (system(command)) return 1;
    }
    return !strcmp(how, "fail") ? 3 : 0;
}
