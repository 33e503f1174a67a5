/* Functions of the C library put time, chance and text into persistent memory; of an entry the first line is flushed. */
#include "filled.h"

static void made_durable(struct filled *e) { persist(e, 8); }
