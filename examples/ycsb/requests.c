/* Tells a recorder of each request that a server reads from a socket, without compiling the server:
 *
 *   cc -O2 -shared -fPIC -I capture examples/ycsb/requests.c -o requests.so
 *   REGION=20001,22001,32001 LD_PRELOAD=$PWD/requests.so coreplane record --region --out server.cpt -- server
 *
 * The warm-up begins with the first of these requests, the region of interest with the second, and with the third it ends. Each
 * is an operation: its time goes to the next one's arrival. */
#include <coreplane.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long requests, warm_up, begin, end;

__attribute__((constructor)) static void region(void) {
    const char *told = getenv("REGION");
    if (told && sscanf(told, "%lu,%lu,%lu", &warm_up, &begin, &end) != 3) {
        fprintf(stderr, "requests: REGION=%s: give three numbers of requests, as in 20001,22001,32001\n", told);
        _exit(2);
    }
}

static int is_socket(int descriptor) {
    struct stat found;
    return fstat(descriptor, &found) == 0 && S_ISSOCK(found.st_mode);
}

ssize_t read(int descriptor, void *bytes, size_t most) {
    ssize_t count = syscall(SYS_read, descriptor, bytes, most);
    if (count > 0 && is_socket(descriptor)) {
        requests++;
        if (requests == warm_up) coreplane_roi_warm_up();
        if (requests == begin) coreplane_roi_begin();
        if (requests == end) coreplane_roi_end();
        coreplane_mark_here(requests);
    }
    return count;
}
