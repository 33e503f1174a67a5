/* A persistent key-value server on a Unix socket, and its client. A put is acknowledged once it is durable.
 *
 *   coreplane cc -O2 server.c -o server
 *   coreplane record --out server.cpt -- ./server FILE SOCKET &
 *   ./server --client SOCKET 1000      puts 1000 keys, gets them back, and says how many it found
 *   ./server --client SOCKET stop
 *   coreplane crash intel trace:server.cpt --check './server --check {image} {acknowledged}' */
#include <coreplane.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PUT, GET, STOP, SLOTS = 8192 };

/* Key 0 is none: a slot counts once its key is there. */
struct slot {
    uint64_t key, value;
};

struct request {
    uint64_t kind, key, value;
};

static struct slot *table;

static void persist(const void *place) {
    _mm_clflush(place);
    _mm_sfence();
}

static struct slot *find(uint64_t key) {
    uint64_t n = key * 0x9e3779b97f4a7c15u % SLOTS;
    while (table[n].key && table[n].key != key) n = (n + 1) % SLOTS;
    return &table[n];
}

static void put(uint64_t key, uint64_t value) {
    struct slot *slot = find(key);
    slot->value = value;
    persist(&slot->value);
    if (slot->key == key) return;
    slot->key = key;
    persist(&slot->key);
}

static void map(const char *path, int create) {
    int file = open(path, O_RDWR | (create ? O_CREAT : 0), 0644);
    if (file < 0 || ftruncate(file, SLOTS * sizeof *table)) { perror(path); exit(2); }
    table = mmap(NULL, SLOTS * sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (table == MAP_FAILED) { perror(path); exit(2); }
    close(file);
}

static int on(const char *path, int (*join)(int, const struct sockaddr *, socklen_t)) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (socket_ < 0 || join(socket_, (struct sockaddr *)&address, sizeof address)) { close(socket_); return -1; }
    return socket_;
}

static int all(int from, void *bytes, size_t n) {
    return recv(from, bytes, n, MSG_WAITALL) == (ssize_t)n;
}

static int serve(const char *path) {
    unlink(path);
    int door = on(path, bind), going_on = 1;
    if (door < 0 || listen(door, 8)) { perror(path); return 2; }
    uint64_t puts = 0;
    while (going_on) {
        int client = accept(door, NULL, NULL);
        struct request r;
        while (client >= 0 && all(client, &r, sizeof r)) {
            uint64_t answer = r.kind == GET && find(r.key)->key ? find(r.key)->value : 0;
            if (r.kind == PUT) {
                put(r.key, r.value);
                coreplane_mark_here(++puts);
            }
            going_on &= r.kind != STOP;
            if (send(client, &answer, sizeof answer, MSG_NOSIGNAL) < 0) break;
        }
        close(client);
    }
    unlink(path);
    return 0;
}

/* What the client's n-th key and value are; the check knows them too. */
static uint64_t key_of(uint64_t n) { return n * 7919; }
static uint64_t value_of(uint64_t n) { return n * n + 1; }

static int ask(const char *path, const char *what) {
    int server = -1;
    for (int tries = 0; server < 0 && tries < 1000; tries++, usleep(10000)) server = on(path, connect);
    if (server < 0) { perror(path); return 2; }
    uint64_t count = strtoull(what, NULL, 10), found = 0, answer = 0;
    int stop = !strcmp(what, "stop");
    for (uint64_t n = 1; n <= 2 * count + stop; n++) {
        uint64_t place = n > count ? n - count : n;
        struct request r = {stop ? STOP : n > count ? GET : PUT, key_of(place), value_of(place)};
        if (send(server, &r, sizeof r, MSG_NOSIGNAL) < 0 || !all(server, &answer, sizeof answer)) return 2;
        found += r.kind == GET && answer == r.value;
    }
    if (!stop) printf("%llu puts, %llu found\n", (unsigned long long)count, (unsigned long long)found);
    return 0;
}

/* Every put that was acknowledged is there, and what is there is what was put. */
static int check(uint64_t acknowledged) {
    for (uint64_t n = 1; n <= acknowledged; n++) {
        struct slot *slot = find(key_of(n));
        if (slot->key && slot->value == value_of(n)) continue;
        printf("put %llu was acknowledged, and %s\n", (unsigned long long)n, slot->key ? "has another value" : "is not there");
        return 1;
    }
    return 0;
}

int main(int count, char **words) {
    if (count == 4 && !strcmp(words[1], "--client")) return ask(words[2], words[3]);
    if (count == 4 && !strcmp(words[1], "--check")) {
        map(words[2], 0);
        return check(strtoull(words[3], NULL, 10));
    }
    if (count != 3) { fprintf(stderr, "usage: server FILE SOCKET | --client SOCKET COUNT|stop | --check FILE ACKNOWLEDGED\n"); return 2; }
    map(words[1], 1);
    return serve(words[2]);
}
