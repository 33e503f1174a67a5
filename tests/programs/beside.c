/* What a recording has to say of calls that change files in other ways than by their bytes and names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static int sets_mode(int fd, mode_t mode) { return write(fd, "key", 3) != 3 || fchmod(fd, mode) || fchown(fd, geteuid(), getegid()) || fsync(fd); }

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

static int is_limited(int fd) {
    struct rlimit limit = {100, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    return setrlimit(RLIMIT_FSIZE, &limit) || write(fd, "key", 3) != 3 || fsync(fd);
}

int main(int count, char **words) {
    int fd = count == 3 ? open(words[2], O_CREAT | O_RDWR, 0666) : -1;
    if (fd < 0) return 2;
    switch (*words[1]) {
    case 'm': return sets_mode(fd, 0600);
    case 'u': return sets_mode(fd, 0644);
    case 't': return takes_pages(fd);
    case 's': return syncs_over_hole(fd);
    default: return is_limited(fd);
    }
}
