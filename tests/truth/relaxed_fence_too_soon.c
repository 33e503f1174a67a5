/* The fence that acquires stands in the loop, before the look that ends it: nothing orders the commit behind the entry. Loses everywhere. */
#define OWN_ENTRY
#include "two_threads.h"
#include <stdatomic.h>

static atomic_ulong told[2];

static void tell(enum who other) {
    unsigned long before = atomic_load_explicit(&told[other], memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&told[other], before + 1, memory_order_relaxed);
}

static void await(enum who self) {
    static unsigned long seen[2];
    seen[self]++;
    while (atomic_load_explicit(&told[self], memory_order_relaxed) != seen[self]) {
        usleep(1000);
        atomic_thread_fence(memory_order_acquire);
    }
}

static void work(const char *file) { both(file); }

static void write_entry(uint64_t n) {
    usleep(3000);
    shared->entry[n - 1].word = value(n); /* LOST */
}

LOG_PROGRAM
