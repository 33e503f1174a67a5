/* A file that a function of the C library writes to which the recorder does not know; in `threads`, another thread does it. The file is
 * gone at the end. */
#include <mntent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *grow(void *nothing) {
    struct mntent line = {.mnt_fsname = "/dev/a", .mnt_dir = "/a", .mnt_type = "ext4", .mnt_opts = "defaults"};
    FILE *f = fopen("grown", "w");
    addmntent(f, &line);
    fflush(f);
    fsync(fileno(f));
    fclose(f);
    return nothing;
}

int main(int count, char **words) {
    pthread_t thread;
    if (count < 2) return 2;
    if (strcmp(words[1], "threads")) grow(NULL);
    else if (pthread_create(&thread, NULL, grow, NULL) || pthread_join(thread, NULL)) return 3;
    return unlink("grown");
}
