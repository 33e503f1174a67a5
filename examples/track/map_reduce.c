/* The map phase of two MapReduce programs, in memory, on threads: linear regression and a histogram of colours.
 *
 *   map_reduce linreg|histogram MIB THREADS
 *
 * Each thread reads its part of the input in splits; for each split it adds a pair for each key to the key's list, which
 * grows by doubling. At the end the lists are reduced and the result is printed. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SPLIT = 1 << 20, POINT_KEYS = 5, COLOUR_KEYS = 768, MOST_THREADS = 64 };

struct pair {
    uint64_t key, value, hash;
};

struct list {
    struct pair *pairs;
    size_t length, room;
};

struct worker {
    pthread_t thread;
    const unsigned char *from, *to;
    struct list *lists;
};

static int histogram;

static void push(struct list *list, uint64_t key, uint64_t value)
{
    if (list->length == list->room) {
        list->room = list->room ? 2 * list->room : 8;
        list->pairs = realloc(list->pairs, list->room * sizeof *list->pairs);
        if (!list->pairs)
            abort();
    }
    list->pairs[list->length++] = (struct pair){key, value, key * 0x9E3779B97F4A7C15u};
}

static void map_points(const unsigned char *at, const unsigned char *to, struct list *lists)
{
    uint64_t sums[POINT_KEYS] = {0};
    for (; at + 1 < to; at += 2) {
        uint64_t x = at[0], y = at[1];
        sums[0] += x, sums[1] += y, sums[2] += x * x, sums[3] += y * y, sums[4] += x * y;
    }
    for (int key = 0; key < POINT_KEYS; key++)
        push(&lists[key], key, sums[key]);
}

static void map_colours(const unsigned char *at, const unsigned char *to, struct list *lists)
{
    uint64_t counts[COLOUR_KEYS] = {0};
    for (int colour = 0; at < to; at++, colour = (colour + 1) % 3)
        counts[colour * 256 + *at]++;
    for (int key = 0; key < COLOUR_KEYS; key++)
        if (counts[key])
            push(&lists[key], key, counts[key]);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (const unsigned char *at = worker->from; at < worker->to; at += SPLIT) {
        const unsigned char *to = at + SPLIT < worker->to ? at + SPLIT : worker->to;
        (histogram ? map_colours : map_points)(at, to, worker->lists);
    }
    return NULL;
}

int main(int count, char **words)
{
    size_t size = count == 4 ? strtoull(words[2], NULL, 10) << 20 : 0;
    size_t threads = count == 4 ? strtoull(words[3], NULL, 10) : 0;
    if (!size || !threads || threads > MOST_THREADS || (strcmp(words[1], "linreg") && strcmp(words[1], "histogram"))) {
        fprintf(stderr, "usage: %s linreg|histogram MIB THREADS(1 to %d)\n", words[0], MOST_THREADS);
        return 2;
    }
    histogram = !strcmp(words[1], "histogram");
    size_t keys = histogram ? COLOUR_KEYS : POINT_KEYS;
    unsigned char *input = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (input == MAP_FAILED)
        return perror("mmap"), 1;
    uint64_t random = 88172645463325252u;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        memcpy(input + i, &random, 8);
    }
    printf("ready\n");
    fflush(stdout);
    getchar(); /* A tracker begins here: the input is there. */
    static struct worker workers[MOST_THREADS];
    for (size_t t = 0; t < threads; t++) {
        workers[t] = (struct worker){.from = input + size / threads * t, .to = input + size / threads * (t + 1)};
        workers[t].lists = calloc(keys, sizeof(struct list));
        pthread_create(&workers[t].thread, NULL, work, &workers[t]);
    }
    uint64_t all = 0;
    for (size_t t = 0; t < threads; t++) {
        pthread_join(workers[t].thread, NULL);
        for (size_t key = 0; key < keys; key++)
            for (size_t n = 0; n < workers[t].lists[key].length; n++)
                all += workers[t].lists[key].pairs[n].value;
    }
    printf("%llu\n", (unsigned long long)all);
    return 0;
}
