/* A file replaced by rename, its new contents written by wide characters, a stream that is opened again, `stdout` and other ways of the
 * C library's streams, and made durable before. Clean everywhere. */
#define _GNU_SOURCE
#include "saved_by_streams.h"

static void work(const char *file) { save_all(file, 1); }

PROGRAM
