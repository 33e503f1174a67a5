/* Every way to change files by calls. `./changes OLD NEW`: OLD is there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

static int must(int result) {
    if (result < 0) perror("changes"), exit(3);
    return result;
}

static void mapped(const char *path) {
    int fd = must(open(path, O_RDWR));
    uint64_t *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint64_t *second = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
    p[3] = 33;
    second[4] = 44;
    must(pwrite(fd, "over", 4, 4096 + 64));
    must(ftruncate(fd, 20000));
    p = mremap(p, 8192, 20000, MREMAP_MAYMOVE);
    p[2000] = 2000;
    must(msync(p, 20000, MS_SYNC));
    must(munmap(p, 4096));
    p[1024] = 1;
    must(msync(second, 4096, MS_ASYNC));
    second = mmap(second, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 12288);
    second[5] = 55;
    close(fd);
}

int main(int argc, char **argv) {
    char name[300], last[300];
    if (argc != 3) return 2;
    mapped(argv[1]);
    int fd = must(open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0644));
    struct iovec v[2] = {{"one", 3}, {"and two", 7}};
    must(write(fd, "begin", 5));
    must((int)writev(fd, v, 2));
    must((int)pwritev(fd, v, 2, 100));
    must((int)pwritev2(fd, v, 2, 200, RWF_DSYNC));
    must(fdatasync(fd));
    must(posix_fallocate(fd, 0, 9000));
    must(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 3));
    int old = must(open(argv[1], O_RDONLY));
    lseek(fd, 5000, SEEK_SET);
    must((int)sendfile(fd, old, NULL, 600));
    off64_t from = 700, to = 6000;
    must((int)copy_file_range(old, &from, fd, &to, 900, 0));
    close(fd);
    fd = must(open(argv[2], O_WRONLY | O_APPEND));
    must(write(fd, "appended", 8));
    must(pwrite(fd, "too", 3, 0));
    must(fsync(fd));
    must(truncate(argv[2], 8000));
    snprintf(name, sizeof name, "%s.copy", argv[2]);
    must(link(argv[2], name));
    must(unlink(name));
    /* Another file, perhaps by the same inode. */
    fd = must(creat(name, 0644));
    must(write(fd, "copy", 4));
    snprintf(last, sizeof last, "%s.tmp", argv[2]);
    fd = must(open(last, O_WRONLY | O_CREAT | O_SYNC, 0644));
    must(write(fd, "last", 4));
    char target[300];
    snprintf(target, sizeof target, "%s.last", argv[2]);
    must(rename(last, target));
    fd = must(open(".", O_RDONLY | O_DIRECTORY));
    must(fsync(fd));
    must(unlink("gone"));
    fd = must(open(argv[2], O_WRONLY | O_TRUNC));
    must(write(fd, "short", 5));
    return 0;
}
