/* Where code is. A location is eight times the number of a place in the code, given when it is translated: what runs
 * together lies together in the table that foretells records (format.h), and no two share an entry of it. */

enum { MOST_OBJECTS = 1024 };

static struct object {
    Addr from, to;
    /* What an address lacks to be the one that the object's file tells. */
    PtrdiffT bias;
    const HChar *path;
    /* Of the C library, the loader or ours (words.c): who called it says more. */
    int system;
    /* Of the libraries for persistent memory. */
    int pmem;
} objects[MOST_OBJECTS];
static unsigned object_count;

static int begins_with_one_of(const HChar *text, const HChar *const *names) {
    for (; text && *names; names++)
        if (VG_(strncmp)(text, *names, VG_(strlen)(*names)) == 0) return 1;
    return 0;
}

static int is_system(const HChar *soname) {
    static const HChar *const names[] = {"libc.so", "ld-linux", "libpthread.so", "vgpreload", NULL};
    return begins_with_one_of(soname, names);
}

static int is_pmem(const HChar *soname) {
    static const HChar *const names[] = {"libpmem.so", "libpmem2.so", NULL};
    return begins_with_one_of(soname, names);
}

/* What Valgrind knows of a file by its name. */
static const DebugInfo *info_of_file(const HChar *path) {
    const DebugInfo *info = NULL;
    while (path && (info = VG_(next_DebugInfo)(info)))
        if (VG_(strcmp)(VG_(DebugInfo_get_filename)(info), path) == 0) return info;
    return NULL;
}

/* The object of an address, from end to end of .text; of code elsewhere, as in a section that the program has named, all that is mapped
 * with it. */
static struct object *new_object(Addr address) {
    const DebugInfo *info = VG_(find_DebugInfo)(VG_(current_DiEpoch)(), address);
    Addr from = info ? VG_(DebugInfo_get_text_avma)(info) : 0;
    SizeT bytes = info ? VG_(DebugInfo_get_text_size)(info) : 0;
    if (address - from >= bytes) {
        const NSegment *mapped = VG_(am_find_nsegment)(address);
        if (!mapped || !mapped->hasX) return NULL;
        info = info_of_file(VG_(am_get_filename)(mapped));
        from = mapped->start;
        bytes = mapped->end - from + 1;
    }
    if (!info || object_count == MOST_OBJECTS) return NULL;
    struct object *o = &objects[object_count++];
    const HChar *path = VG_(strdup)("coreplane", VG_(DebugInfo_get_filename)(info));
    const HChar *soname = VG_(DebugInfo_get_soname)(info);
    *o = (struct object){from, from + bytes, VG_(DebugInfo_get_text_bias)(info), path, is_system(soname), is_pmem(soname)};
    return o;
}

static struct object *object_of(Addr address) {
    static unsigned last;
    if (last < object_count && address - objects[last].from < objects[last].to - objects[last].from) return &objects[last];
    for (unsigned i = object_count; i-- > 0;)
        if (address - objects[i].from < objects[i].to - objects[i].from) return &objects[last = i];
    return new_object(address);
}

/* Whether code is of a library for persistent memory. */
static int is_of_pmem(Addr code) {
    const struct object *o = object_of(code);
    return o && o->pmem;
}

/* Whether code is the C library's, whose stores say less than who called it. */
static int is_of_system(Addr code) {
    const struct object *o = object_of(code);
    return o && o->system;
}

/* Places that have a number, by address and which access of the instruction it is. */
struct place {
    struct place *next;
    UWord key;
    uint32_t location;
};
static VgHashTable *places;
static uint32_t last_location;

/* Text that tells what locations are: a path, then a line for each, the location and the address in that file. */
static HChar told[4200];
static SizeT told_bytes;
static const struct object *told_of;

static void tell_places(void) {
    if (told_bytes) write_text("code", told);
    told_bytes = 0;
    told_of = NULL;
}

static void tell_place(const struct object *o, uint32_t location, Addr address) {
    enum { LINE = 40 };
    if (told_of != o || told_bytes + LINE > sizeof told) {
        tell_places();
        if (VG_(strlen)(o->path) + 2 * LINE > sizeof told) return;
        told_bytes = VG_(sprintf)(told, "%s\n", o->path);
        told_of = o;
    }
    told_bytes += VG_(sprintf)(told + told_bytes, "%x %lx\n", location, address - (Addr)o->bias);
}

/* The location of an instruction's nth access; 0 where the code is of no file. */
static uint32_t location_of(Addr address, unsigned nth) {
    UWord key = address << 4 | (nth < 15 ? nth : 15);
    struct place *known = VG_(HT_lookup)(places, key);
    if (known) return known->location;
    const struct object *o = object_of(address);
    if (!o || last_location > UINT32_MAX - 8) return 0;
    struct place *p = VG_(malloc)("coreplane", sizeof *p);
    p->key = key;
    p->location = last_location += 8;
    VG_(HT_add_node)(places, p);
    tell_place(o, p->location, address);
    return p->location;
}

static void forget_place(void *place) { VG_(free)(place); }

/* Another library may come to lie there. */
static void objects_gone(Addr from, SizeT bytes) {
    int any = 0;
    for (unsigned i = 0; i < object_count; i++) {
        if (objects[i].from >= from + bytes || from >= objects[i].to) continue;
        objects[i].to = objects[i].from;
        any = 1;
    }
    if (!any) return;
    VG_(HT_destruct)(places, forget_place);
    places = VG_(HT_construct)("coreplane");
}
