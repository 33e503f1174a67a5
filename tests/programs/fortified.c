/* Copies of whole pages and of text into a mapped file, which checked versions of memcpy and strcpy would make in line. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct page {
    char bytes[4096];
};

int main(int argc, char **argv) {
    static struct page from;
    int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
    if (argc < 2 || fd < 0 || ftruncate(fd, 2 * sizeof from)) return 1;
    struct page *to = mmap(NULL, 2 * sizeof from, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (to == MAP_FAILED) return 1;
    for (unsigned i = 0; i < sizeof from; i++) from.bytes[i] = (char)(i % 251);
    memcpy(to, &from, sizeof from);
    strcpy(to[1].bytes, "a text that is longer than a register");
    memset(to[1].bytes + 100, 7, 300);
    return msync(to, 2 * sizeof from, MS_SYNC);
}
