/* The same where nothing makes the new contents durable before the rename. Loses everywhere. */
#define _GNU_SOURCE
#include "saved_by_streams.h"

static void work(const char *file) { save_all(file, 0); }

PROGRAM
