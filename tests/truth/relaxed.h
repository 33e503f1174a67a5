/* Two threads that hand over by words that are stored and looked at relaxed, with fences or without. The entry is made durable
 * after the other thread was told, and has committed. */
#ifndef RELAXED_H
#define RELAXED_H
#define OWN_ENTRY
#include "two_threads.h"
#include <sched.h>
#include <stdatomic.h>

static atomic_ulong told[2];

static void tell(enum who other) {
#ifdef FENCED
    atomic_thread_fence(memory_order_release);
#endif
    atomic_store_explicit(&told[other], atomic_load_explicit(&told[other], memory_order_relaxed) + 1, memory_order_relaxed);
}

static void await(enum who self) {
    static unsigned long seen[2];
    while (atomic_load_explicit(&told[self], memory_order_relaxed) == seen[self]) sched_yield();
    seen[self]++;
#ifdef FENCED
    atomic_thread_fence(memory_order_acquire);
#endif
}

static void work(const char *file) { both(file); }

#endif
