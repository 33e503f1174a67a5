/* The same without the fences: nothing orders the commit behind the entry. Loses everywhere. */
#include "relaxed.h"

static void write_entry(uint64_t n) {
    shared->entry[n - 1].word = value(n); /* LOST */
}

LOG_PROGRAM
