/* Functions of the C library put time, chance and text into persistent memory, and all of it is made durable. Correct. */
#include "filled.h"

static void made_durable(struct filled *e) { persist(e, sizeof *e); }
