/* Where code is: all objects lie one after the other in one space of locations, from OBJECT_GRAIN on. */

enum { MOST_OBJECTS = 1024, OBJECT_GRAIN = 1 << 16 };

static struct object {
    Addr from, to;
    uint32_t first;
    /* Of the C library or the loader: who called it says more. */
    int system;
} objects[MOST_OBJECTS];
static unsigned object_count;
static uint64_t next_location = OBJECT_GRAIN;

static void describe_object(const struct object *o, const DebugInfo *info) {
    HChar line[4300];
    VG_(snprintf)(line, sizeof line, "%x %lx %s", o->first, o->from - VG_(DebugInfo_get_text_bias)(info), VG_(DebugInfo_get_filename)(info));
    write_text("object", line);
}

static int is_system(const HChar *soname) {
    static const HChar *const names[] = {"libc.so", "ld-linux", "libpthread.so", NULL};
    for (const HChar *const *name = names; soname && *name; name++)
        if (VG_(strncmp)(soname, *name, VG_(strlen)(*name)) == 0) return 1;
    return 0;
}

static struct object *new_object(Addr address) {
    DebugInfo *info = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), address);
    if (!info || object_count == MOST_OBJECTS) return NULL;
    Addr from = VG_(DebugInfo_get_text_avma)(info);
    SizeT bytes = VG_(DebugInfo_get_text_size)(info);
    if (address - from >= bytes || next_location + bytes >= UINT32_MAX) return NULL;
    struct object *o = &objects[object_count++];
    *o = (struct object){from, from + bytes, (uint32_t)next_location, is_system(VG_(DebugInfo_get_soname)(info))};
    next_location = (next_location + bytes) / OBJECT_GRAIN * OBJECT_GRAIN + 2 * OBJECT_GRAIN;
    describe_object(o, info);
    return o;
}

static struct object *object_of(Addr address) {
    static unsigned last;
    if (last < object_count && address - objects[last].from < objects[last].to - objects[last].from) return &objects[last];
    for (unsigned i = object_count; i-- > 0;)
        if (address - objects[i].from < objects[i].to - objects[i].from) return &objects[last = i];
    return new_object(address);
}

/* The location of an instruction that ends there: who names it looks one byte before. 0 where it is of no file. */
static uint32_t location_of(Addr end) {
    const struct object *o = object_of(end - 1);
    return o ? o->first + (uint32_t)(end - o->from) : 0;
}

/* Another library may come to lie there. */
static void objects_gone(Addr from, SizeT bytes) {
    for (unsigned i = 0; i < object_count; i++)
        if (objects[i].from < from + bytes && from < objects[i].to) objects[i].to = objects[i].from;
}

/* Who makes a system call: the innermost frame outside of the C library, if there is one. */
static uint32_t caller_of(ThreadId tid) {
    enum { FRAMES = 12 };
    Addr frames[FRAMES];
    UInt n = VG_(get_StackTrace)(tid, frames, FRAMES, NULL, NULL, 0);
    for (UInt i = 0; i < n; i++) {
        /* Those but the first are one byte before where the call comes back. */
        const struct object *o = object_of(frames[i]);
        if (o && !o->system) return location_of(frames[i] + 1);
    }
    return n ? location_of(frames[0] + 1) : 0;
}
