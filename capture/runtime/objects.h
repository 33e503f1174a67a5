/* The program and its libraries, as far as they were compiled with hooks. A location is an offset in one space in which
 * they lie one after the other; what this runtime is part of comes first. Of several runtimes in a process one is in
 * charge: the others never hear of an object, since the linker binds the names below to the first. */

#include "object.h"

enum { MOST_OBJECTS = 1024, OBJECT_GRAIN = 1 << 16 };

static struct {
    _Atomic uintptr_t from, to;
    uint32_t at;
} objects[MOST_OBJECTS];
static atomic_uint object_count;
static uint64_t next_location;
static atomic_flag announcing;

/* The location of code outside of the runtime's own object; 0 for code without hooks. */
__attribute__((noinline)) static uint32_t place_elsewhere(const void *pc) {
    unsigned n = atomic_load(&object_count);
    for (unsigned i = n; i-- > 0;) {
        uintptr_t from = atomic_load(&objects[i].from);
        if ((uintptr_t)pc - from < atomic_load(&objects[i].to) - from) return objects[i].at + (uint32_t)((uintptr_t)pc - from);
    }
    return 0;
}

static inline uint32_t place(const void *pc) {
    uintptr_t offset = (uintptr_t)pc - (uintptr_t)__ehdr_start;
    return __builtin_expect(offset < (uintptr_t)(_end - __ehdr_start), 1) ? (uint32_t)offset : place_elsewhere(pc);
}

static char *hexadecimal(char *to, uint64_t v) {
    char digits[17];
    int n = 0;
    do digits[n++] = "0123456789abcdef"[v % 16]; while (v /= 16);
    while (n) *to++ = digits[--n];
    *to++ = ' ';
    return to;
}

/* Says where an object's locations are: "first bias path", the numbers hexadecimal; of the program itself in texts of
 * their own. The bias is the address, as the object's file tells it, of the first location. */
static void describe_object(const struct object *o, uint32_t first) {
    char line[4300];
    const Elf64_Ehdr *elf = (const void *)o->from;
    uint64_t bias = elf->e_type == ET_EXEC ? (uintptr_t)o->from : 0;
    if (getauxval(AT_PHDR) - (uintptr_t)o->from < (uintptr_t)(o->to - o->from)) {
        long n = raw_readlink("/proc/self/exe", line, 4000);
        line[n < 0 ? 0 : n] = 0;
        write_text("program", line);
        hexadecimal(line, bias)[-1] = 0;
        write_text("bias", line);
    } else {
        Dl_info info;
        char *end = hexadecimal(hexadecimal(line, first), bias);
        if (!dladdr(o->from, &info) || !info.dli_fname) return;
        size_t n = strnlen(info.dli_fname, 4000);
        __real_memcpy(end, info.dli_fname, n);
        end[n] = 0;
        write_text("object", line);
    }
    for (const char *text = o->unseen; text && text < o->unseen_end; text += strlen(text) + 1) {
        size_t n = strnlen(text, 4000);
        __real_memcpy(line, "not recorded: ", 14);
        __real_memcpy(line + 14, text, n);
        line[14 + n] = 0;
        write_text("note", line);
    }
}

static void start(void);

EXPORT void coreplane_object(const struct object *o) {
    while (atomic_flag_test_and_set(&announcing)) {}
    start();
    unsigned n = atomic_load(&object_count);
    uint64_t bytes = (uint64_t)(o->to - o->from), at = 0;
    if (o->from != __ehdr_start) {
        if (!next_location) next_location = (uint64_t)(_end - __ehdr_start) + OBJECT_GRAIN;
        at = next_location / OBJECT_GRAIN * OBJECT_GRAIN;
    }
    if (atomic_load(&recording) == 1 && n < MOST_OBJECTS && at + bytes < UINT32_MAX) {
        if (at) next_location = at + bytes + OBJECT_GRAIN;
        objects[n].at = (uint32_t)at;
        atomic_store(&objects[n].from, (uintptr_t)o->from);
        atomic_store(&objects[n].to, (uintptr_t)o->to);
        atomic_store(&object_count, n + 1);
        describe_object(o, (uint32_t)at);
    }
    atomic_flag_clear(&announcing);
}

/* Another library may come to lie there. */
EXPORT void coreplane_object_gone(const struct object *o) {
    for (unsigned i = 0; i < atomic_load(&object_count); i++)
        if (atomic_load(&objects[i].from) == (uintptr_t)o->from) atomic_store(&objects[i].to, (uintptr_t)o->from);
}
