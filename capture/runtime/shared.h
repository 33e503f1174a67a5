/* What all parts of the runtime share. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Kinds of records, as in the trace format. */
enum kind {
    LOAD, STORE, STORE_NT, LOAD_ACQUIRE, STORE_RELEASE, RMW, CLWB, CLFLUSHOPT, CLFLUSH, SFENCE, MFENCE,
    LOCK, UNLOCK, CREATE, JOIN, MAP, UNMAP, START, END, MARK,
    OPERAND, CALL, WRITTEN, OBSERVED, CONTENTS, UNSEEN, ORDER
};
/* Calls that touch files, as in the trace format. */
enum call {
    CALL_WRITE = 1, CALL_MSYNC, CALL_MSYNC_ASYNC, CALL_FDATASYNC, CALL_FSYNC, CALL_SYNC, CALL_RESIZE, CALL_ALLOCATE,
    CALL_SYNC_FOLDER, CALL_SYNC_FILE_RANGE, CALL_LINK = 16, CALL_UNLINK, CALL_RENAME
};
#define FILE_SPACE (1ull << 62)
enum { FILE_SHIFT = 44 };
enum { BLOCK_RAW = 1, BLOCK_TEXT = 3, BLOCK_END = 4 };
enum { HEADER = 28, CAPACITY = 1 << 17, LONGEST = 48 };

struct buffer {
    uint8_t *at;
    uint64_t address;
    uint32_t location, count, thread;
    /* A store whose value is not read yet. */
    uint32_t pending_location;
    uint64_t pending;
    uint32_t pending_size;
    /* STORE or STORE_NT. */
    uint32_t pending_kind;
    struct buffer *next;
    uint8_t bytes[HEADER + CAPACITY];
};

static int trace_fd = -1;
static atomic_int recording;
static atomic_uint threads, stamps;
static _Atomic(struct buffer *) all_buffers;
static pthread_key_t at_thread_end;
static uintptr_t text_base;
static __thread struct buffer *self __attribute__((tls_model("initial-exec")));
extern const char __executable_start[] __attribute__((weak));
extern const char etext[] __attribute__((weak));

/* The linker sends calls of these functions to the __wrap_ versions of other files, those of the runtime too: here the
 * real ones are meant. */
void *__real_memcpy(void *, const void *, size_t);
void *__real_memmove(void *, const void *, size_t);
void *__real_memset(void *, int, size_t);
void *__real_mmap(void *, size_t, int, int, int, off_t);
void __real_free(void *);
