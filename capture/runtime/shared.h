/* What all parts of the runtime share. */
#define _GNU_SOURCE
/* The C library's headers define none of the functions that stand here instead. */
#define __NO_INLINE__ 1
#include <aio.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <wchar.h>

#include "format.h"

/* 0 not recording, 1 recording, 2 the program ends. */
static atomic_int recording;
static atomic_uint threads, own_stamps;
/* Another where each process is a host: that of all of them (hosts.h). */
static atomic_uint *stamp_source = &own_stamps;
#define stamps (*stamp_source)
#define BY_HOST
static int by_host;
static unsigned host_number;
static _Atomic(struct buffer *) all_buffers;
static pthread_key_t at_thread_end;
static int owner;
/* The program is a check: what it reads is noted (reads.h), and nothing recorded. */
static int reading;
/* Compiled for a program, not for a library, the distance of a thread's variables is known when it is linked. */
#ifdef __PIE__
#define THREAD_LOCAL __thread __attribute__((tls_model("local-exec")))
#else
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
#endif
static THREAD_LOCAL struct buffer *self;
static THREAD_LOCAL int ended;
/* Whether the load that comes next is of what the program itself calls volatile or atomic: it may look for what others store. */
static THREAD_LOCAL int looks_for;

/* The linker sends calls of these functions to the __wrap_ versions of other files, those of the runtime too: here the
 * real ones are meant. */
void *__real_memcpy(void *, const void *, size_t);
void *__real_memmove(void *, const void *, size_t);
void *__real_memset(void *, int, size_t);
int __real_memcmp(const void *, const void *, size_t), __real_bcmp(const void *, const void *, size_t);
void *__real_memchr(const void *, int, size_t);
size_t __real_strlen(const char *), __real_strnlen(const char *, size_t);
int __real_strcmp(const char *, const char *), __real_strncmp(const char *, const char *, size_t);
#define memcmp __real_memcmp
#define memchr __real_memchr
#define strlen __real_strlen
#define strnlen __real_strnlen
#define strcmp __real_strcmp
#define strncmp __real_strncmp

#define EXPORT __attribute__((visibility("default")))
#define PC place(__builtin_return_address(0))

/* A function of a library that the program and its libraries reach through the runtime: the runtime's is found first,
 * and finds the library's. Weak, since a program may have a function of its own by that name. */
#define INSTEAD __attribute__((visibility("default"), weak))
__attribute__((visibility("hidden"))) extern const char __ehdr_start[], _end[];
/* The library's dlsym: the program's calls of it come here (lookups.h). */
__attribute__((used, visibility("hidden"))) void *(*coreplane_library_dlsym)(void *, const char *);
static void *by_name(void *where, const char *name) {
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
    for (int i = 0; !coreplane_library_dlsym && i < 4; i++)
        coreplane_library_dlsym = (void *(*)(void *, const char *))dlvsym(i < 2 ? RTLD_NEXT : RTLD_DEFAULT, "dlsym", versions[i % 2]);
    return coreplane_library_dlsym(where, name);
}
static void *library_function(const char *name) {
    void *found = by_name(RTLD_NEXT, name);
    /* In a program without hooks, the runtime that a library brought comes behind the C library. */
    if (!found) found = by_name(RTLD_DEFAULT, name);
    return (uintptr_t)found - (uintptr_t)__ehdr_start < (uintptr_t)(_end - __ehdr_start) ? NULL : found;
}
#define LIBRARY(name) \
    static inline __typeof__(&name) real_##name(void) { \
        static __typeof__(&name) found; \
        if (__builtin_expect(!found, 0)) found = (__typeof__(&name))library_function(#name); \
        return found; \
    }
#define REAL(name) real_##name()
