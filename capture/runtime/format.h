/* What the trace format says, and the buffer of a thread: for the runtime, and for the Valgrind tool (capture/valgrind). */
#include <stdatomic.h>
#include <stdint.h>

/* Kinds of records, as in the trace format. */
enum kind {
    LOAD, STORE, STORE_NT, LOAD_ACQUIRE, STORE_RELEASE, RMW, CLWB, CLFLUSHOPT, CLFLUSH, SFENCE, MFENCE,
    LOCK, UNLOCK, CREATE, JOIN, MAP, UNMAP, START, END, MARK,
    OPERAND, CALL, WRITTEN, OBSERVED, CONTENTS, UNSEEN, ORDER, TURN, REGION
};
/* Calls that touch files, as in the trace format. */
enum call {
    CALL_WRITE = 1, CALL_MSYNC, CALL_MSYNC_ASYNC, CALL_FDATASYNC, CALL_FSYNC, CALL_SYNC, CALL_RESIZE, CALL_ALLOCATE,
    CALL_SYNC_FOLDER, CALL_SYNC_FILE_RANGE, CALL_LINK = 16, CALL_UNLINK, CALL_RENAME,
    CALL_MAKE_FOLDER, CALL_REMOVE_FOLDER
};
#define FILE_SPACE (1ull << 62)
enum { FILE_SHIFT = 44 };
enum { BLOCK_TEXT = 3, BLOCK_END = 4, BLOCK_FIRST = 5, BLOCK_NEXT = 6 };
enum { HEADER = 28, CAPACITY = 1 << 17, LONGEST = 320, SITES = 1 << 13, MOST_THREADS = 65535 };

/* What is known of the code at a location (or of others that share the place): it makes records small (records.h). */
struct site {
    /* Of its last record. */
    uint64_t address;
    /* The record that followed: location, kind and size, instructions. */
    uint64_t next;
};

/* Of an atomic operation and its stamp: whose it is, NULL while it is nobody's. */
typedef _Atomic(struct buffer *) stamp_lock;

/* A read that the program makes now, of which more is told with what follows: its place in the order, or what others
 * stored there meanwhile. Its address is 0 while there is none. */
struct look {
    uint64_t address, value;
    uint32_t location, bytes;
};

/* The last words that a thread has looked at, or stored to, by relaxed atomic operations; with the size of each in bits 0 and 1. */
enum { MOST_RELAXED = 32 };
struct relaxed {
    uint64_t words[MOST_RELAXED];
    unsigned count, next;
    /* Whether there were more. */
    int forgot;
};

struct buffer {
    uint8_t *at;
    /* Beyond it, the buffer is handed over. */
    uint8_t *limit;
    /* Of the last record. */
    struct site *last;
    uint32_t location, count;
    /* Bytes of the object that the runtime is part of, whose locations are found without a search. */
    uint64_t code_bytes;
    /* A store whose value is not read yet. */
    uint64_t pending;
    uint32_t pending_location, pending_size;
    /* Kind and size as they are recorded; MANIFOLD where it is not aligned. */
    uint32_t pending_head;
    /* STORE or STORE_NT. */
    uint32_t pending_kind;
    /* Instructions until there. */
    uint32_t pending_work;
    /* What memory held before it, where each process is a host (hosts.h). */
    uint64_t pending_was;
    struct look looked;
    /* Where each process is a host: the other words of a read that is wider. */
    struct look wider[3];
    unsigned wider_words;
    /* The lock of an atomic operation that is under way: this buffer's while it is there. */
    stamp_lock *held;
    /* Of signal handlers that interrupt a hook: their own buffer, and the interrupted one. */
    struct buffer *side, *outer;
    struct frame *frames;
    /* Loads since the thread's last fence that acquires; whether one that releases was there, and stores since (between.h). */
    struct relaxed loads, stores;
    int has_released;
    /* Whether the thread is in a part of the runtime that a signal handler must not enter. */
    int busy;
    /* The signals that were blocked before that. */
    uint64_t signals;
    /* Whether records were dropped: only of a signal handler's own buffer. */
    int overflowed;
    /* How often the thread's end was announced. */
    unsigned endings;
    /* Whether a library of persistent memory is at work, which is known to store and flush. */
    unsigned library;
    /* Where each process is a host: the calls that are under way, if the program was compiled to tell them (hosts.h). */
    struct { const void *from; uintptr_t stack; } calls[64];
    unsigned depth;
    /* Records that were handed over. */
    uint64_t handed;
    /* Instructions, and records of the region, that are not told yet (regions.h). */
    uint64_t executed, kept;
    uint32_t mapping;
    atomic_flag handing;
    struct buffer *next, *next_free;
    uint32_t thread;
    /* Whether the block can be read without those before it. */
    uint32_t first;
    uint8_t bytes[HEADER + CAPACITY];
    /* Whole pages, given back when they are to be zero. */
    struct site sites[SITES] __attribute__((aligned(4096)));
};
