/* Folders that come, files that go by ways that are recorded or not, and ends that come from outside. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file of three bytes, synced. */
static int makes(const char *path) {
    int fd = open(path, O_CREAT | O_RDWR, 0644);
    return fd < 0 || write(fd, "key", 3) != 3 || fsync(fd) || close(fd);
}

static int syncs_folder(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    return fd < 0 || fsync(fd) || close(fd);
}

/* Its own folder is synced, its parent only where that is right; one more is empty. */
static int makes_folders(int right) {
    if (makes("f") || mkdir("new", 0755) || makes("new/f") || syncs_folder("new")) return 1;
    return (right && syncs_folder(".")) || mkdir("empty", 0755);
}

/* All that the recorder sees go, and what comes where others were. */
static int takes_away(void) {
    char path[] = "madeXXXXXX";
    int fd = open("open", O_CREAT | O_RDWR, 0644);
    if (fd < 0 || makes("unlinked") || unlink("unlinked") || makes("removed") || remove("removed") || makes("renamed") || makes("replaced")) return 1;
    if (rename("renamed", "replaced") || write(fd, "key", 3) != 3 || unlink("open") || write(fd, "key", 3) != 3 || fsync(fd)) return 1;
    if (mkdir("a", 0755) || makes("a/f") || makes("a/g") || rename("a", "b") || unlinkat(AT_FDCWD, "b/g", 0)) return 1;
    if (!mkdtemp(path) || makes("linked") || link("linked", "other") || unlink("linked") || rmdir(path)) return 1;
    FILE *temporary = tmpfile();
    if (!temporary || fputs("key", temporary) < 0 || fclose(temporary)) return 1;
    int shared = shm_open("/coreplane_taken_away", O_CREAT | O_RDWR, 0600);
    if (shared < 0 || ftruncate(shared, 4096)) return 1;
    char *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    m[0] = 1;
    return msync(m, 4096, MS_SYNC) || shm_unlink("/coreplane_taken_away") || symlink("other", "link") || unlink("link");
}

static int changes_root(void) { return mkdir("root", 0755) || chroot("root") || chdir("/") || makes("f"); }

int main(int count, char **words) {
    const char *what = count == 2 ? words[1] : "";
    if (chdir("work")) return 2;
    if (!strcmp(what, "folders")) return makes_folders(0);
    if (!strcmp(what, "right")) return makes_folders(1);
    if (!strcmp(what, "away")) return takes_away();
    if (!strcmp(what, "unseen")) return makes("wal") || makes("stays") || system("rm wal");
    if (!strcmp(what, "moved")) return makes("wal") || makes("stays") || system("mv wal stays");
    if (!strcmp(what, "chroot")) return changes_root();
    if (!strcmp(what, "term")) return makes("f") || raise(SIGTERM);
    if (!strcmp(what, "alarm")) return makes("f") || (alarm(1), pause());
    if (!strcmp(what, "kill")) return makes("f") || raise(SIGKILL);
    if (!strcmp(what, "ignored")) return signal(SIGTERM, SIG_IGN) == SIG_ERR || makes("f") || raise(SIGTERM);
    return 2;
}
