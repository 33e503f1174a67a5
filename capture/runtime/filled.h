/* Library functions that store what they find into the program's memory, where that is a file's (shadow.h). */

/* What was stored there before is told first. */
#define FILLS(type, name, parameters, arguments, at, bytes) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        int mapped = (uint64_t)(at) - shadowed_from < shadowed_bytes; \
        if (mapped) begin(); \
        type result = REAL(name) arguments; \
        if (mapped) changed(at, bytes, PC); \
        return result; \
    }
#define FILLS_SILENTLY(name, parameters, arguments, at, bytes) \
    LIBRARY(name) \
    INSTEAD void name parameters { \
        int mapped = (uint64_t)(at) - shadowed_from < shadowed_bytes; \
        if (mapped) begin(); \
        REAL(name) arguments; \
        if (mapped) changed(at, bytes, PC); \
    }

FILLS(int, clock_gettime, (clockid_t clock, struct timespec *to), (clock, to), to, sizeof *to)
FILLS(int, timespec_get, (struct timespec *to, int base), (to, base), to, sizeof *to)
FILLS(time_t, time, (time_t *to), (to), to, sizeof *to)
FILLS(struct tm *, localtime_r, (const time_t *time, struct tm *to), (time, to), to, sizeof *to)
FILLS(struct tm *, gmtime_r, (const time_t *time, struct tm *to), (time, to), to, sizeof *to)
FILLS(size_t, strftime, (char *to, size_t room, const char *format, const struct tm *time), (to, room, format, time), to, result + 1)
int gettimeofday(struct timeval *, void *);
FILLS(int, gettimeofday, (struct timeval *to, void *zone), (to, zone), to, sizeof *to)

ssize_t getrandom(void *, size_t, unsigned);
FILLS(ssize_t, getrandom, (void *to, size_t bytes, unsigned flags), (to, bytes, flags), to, bytes)
FILLS(int, getentropy, (void *to, size_t bytes), (to, bytes), to, bytes)
FILLS(int, rand_r, (unsigned *seed), (seed), seed, sizeof *seed)
FILLS(int, gethostname, (char *to, size_t room), (to, room), to, room)
FILLS(char *, getcwd, (char *to, size_t room), (to, room), to, room)

FILLS(char *, stpcpy, (char *to, const char *from), (to, from), to, (uint64_t)(result - to) + 1)
FILLS(char *, stpncpy, (char *to, const char *from, size_t n), (to, from, n), to, n)
FILLS(char *, strncat, (char *to, const char *from, size_t n), (to, from, n), to, strlen(to) + 1)
FILLS(void *, memccpy, (void *to, const void *from, int end, size_t n), (to, from, end, n), to, n)
FILLS(void *, mempcpy, (void *to, const void *from, size_t n), (to, from, n), to, n)
FILLS_SILENTLY(bcopy, (const void *from, void *to, size_t n), (from, to, n), to, n)
FILLS_SILENTLY(bzero, (void *to, size_t n), (to, n), to, n)
FILLS_SILENTLY(explicit_bzero, (void *to, size_t n), (to, n), to, n)
FILLS_SILENTLY(swab, (const void *from, void *to, ssize_t n), (from, to, n), to, n > 0 ? (uint64_t)n : 0)

#define WIDE(name, second, at_most) \
    FILLS(wchar_t *, name, (wchar_t * to, const wchar_t *from second), at_most, to, (wcslen(to) + 1) * sizeof *to)
WIDE(wcscpy, , (to, from))
WIDE(wcscat, , (to, from))
#define COMMA_N , size_t n
WIDE(wcsncat, COMMA_N, (to, from, n))
FILLS(wchar_t *, wcsncpy, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n), to, n * sizeof *to)
FILLS(wchar_t *, wmemcpy, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n), to, n * sizeof *to)
FILLS(wchar_t *, wmemmove, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n), to, n * sizeof *to)
FILLS(wchar_t *, wmemset, (wchar_t * to, wchar_t c, size_t n), (to, c, n), to, n * sizeof *to)

/* What the thread library leaves of its objects where a program has them in a file. */
FILLS(int, sem_init, (sem_t * s, int shared, unsigned value), (s, shared, value), s, sizeof *s)
FILLS(int, sem_destroy, (sem_t * s), (s), s, sizeof *s)
FILLS(int, pthread_spin_init, (pthread_spinlock_t * lock, int shared), (lock, shared), (const void *)lock, sizeof *lock)
FILLS(int, pthread_barrier_init, (pthread_barrier_t * barrier, const pthread_barrierattr_t *how, unsigned n), (barrier, how, n), barrier, sizeof *barrier)
FILLS(int, pthread_barrier_destroy, (pthread_barrier_t * barrier), (barrier), barrier, sizeof *barrier)
