/* Where threads meet otherwise than by atomic operations and locks: semaphores, barriers, what is done once, pipes and
 * sockets, teams of OpenMP. Who lets others go on is told as a store that releases, who went on because of it as a
 * load that acquires. The word that both name stands for the object, and is no part of a file or of the program. Of hosts it is only said, as
 * a lock taken that nobody gave back, that one went on which may have waited for another one. */

#define MEETINGS (1ull << 61)
#define CHANNELS (1ull << 60)

static uint64_t meeting_at(const void *object) { return MEETINGS | ((uint64_t)object & ~7ull); }

static void gives(uint64_t meeting, uint32_t location) {
    struct buffer *b = meeting && meets() ? begin() : NULL;
    if (b) emit(b, STORE_RELEASE, 3, meeting, location, 0, next_stamp());
}
static void takes(uint64_t meeting, uint32_t location) {
    struct buffer *b = meeting && (meets() || by_host) ? begin() : NULL;
    if (b) emit(b, by_host ? LOCK : LOAD_ACQUIRE, 3, meeting, location, 0, next_stamp());
}

/* What a descriptor lets threads meet at. Which two sockets are one another's the kernel does not say: they are one. */
static uint64_t meeting_through(int fd) {
    struct stat s;
    if ((!meets() && !by_host) || raw_fstat(fd, &s)) return 0;
    if (S_ISSOCK(s.st_mode)) return MEETINGS | CHANNELS;
    if (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode) || S_ISBLK(s.st_mode) || S_ISLNK(s.st_mode)) return 0;
    return MEETINGS | CHANNELS | ((s.st_dev << 32 ^ s.st_ino) << 3 & (CHANNELS - 8));
}

static void signal_arrived(void) { takes(meeting_at(&all_signals), place((const void *)signal_arrived)); }
