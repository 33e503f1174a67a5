/* Linked into every program and library that coreplane cc makes: announces it to the runtime of the process. */
#include "runtime/object.h"

__attribute__((visibility("hidden"))) extern const char __ehdr_start[], _end[];
__attribute__((visibility("hidden"), weak)) extern const char __start_coreplane_unseen[], __stop_coreplane_unseen[];

static const struct object object = {
    .from = __ehdr_start, .to = _end, .unseen = __start_coreplane_unseen, .unseen_end = __stop_coreplane_unseen,
};

/* Before all other constructors of the object; a library's run before the program's. */
__attribute__((constructor(101))) static void announce(void) { coreplane_object(&object); }
__attribute__((destructor(101))) static void gone(void) { coreplane_object_gone(&object); }
