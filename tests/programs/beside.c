/* What a recording has to say of calls that change files in other ways than by their bytes and names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* The second page goes, between two that are synced. */
static int takes_pages(int fd) {
    if (ftruncate(fd, 3 * PAGE)) return 1;
    char *m = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memset(m, 'z', 3 * PAGE);
    return msync(m, 3 * PAGE, MS_SYNC) || madvise(m + PAGE, PAGE, MADV_REMOVE) || m[PAGE] || m[2 * PAGE] != 'z';
}

/* Linux syncs what is mapped on both sides of the hole, and says ENOMEM. */
static int syncs_over_hole(int fd) {
    if (ftruncate(fd, 3 * PAGE)) return 1;
    char *m = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    munmap(m + PAGE, PAGE);
    m[0] = m[2 * PAGE] = 1;
    return msync(m, 3 * PAGE, MS_SYNC) == 0 || errno != ENOMEM;
}

int main(int count, char **words) {
    int fd = count == 3 ? open(words[2], O_CREAT | O_RDWR, 0666) : -1;
    if (fd < 0) return 2;
    switch (*words[1]) {
    case 't': return takes_pages(fd);
    default: return syncs_over_hole(fd);
    }
}
