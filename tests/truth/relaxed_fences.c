/* One thread writes, passes a fence that releases and sets a word relaxed; another sees the word relaxed, passes a fence that
 * acquires and commits: C11 orders the two. Loses on x86, as the entry is made durable after that; clean elsewhere. */
#define FENCED
#include "relaxed.h"

static void write_entry(uint64_t n) {
    shared->entry[n - 1].word = value(n); /* LOST */
}

LOG_PROGRAM
