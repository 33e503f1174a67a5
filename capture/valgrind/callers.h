/* Who calls what only does as it is told: the C library, and what Go and Rust have between a program and the kernel. */

enum { MOST_FRAMES = 16 };

/* Functions' names as the compiler gave them: the tools' headers have no function for them. */
extern Bool VG_(get_fnname_raw)(DiEpoch epoch, Addr address, const HChar **name);

/* Whether it is Rust's name of a function: `_R...`, or as C++ has it and with a hash at its end. `core::` may be anybody's in C++. */
static int is_of_rust(Addr address) {
    enum { DIGITS = 16 };
    const HChar *name, *hash;
    if (!VG_(get_fnname_raw)(VG_(current_DiEpoch)(), address, &name)) return 0;
    if (VG_(strncmp)(name, "_R", 2) == 0) return 1;
    if (VG_(strncmp)(name, "_ZN", 3) != 0) return 0;
    for (hash = name; (hash = VG_(strstr)(hash, "17h"));) {
        UInt digits = 0;
        for (hash += 3; digits < DIGITS && *hash && VG_(strchr)("0123456789abcdef", *hash); hash++) digits++;
        if (digits == DIGITS && *hash == 'E') return 1;
    }
    return 0;
}

/* Whether a path begins with Rust's own libraries, or with a crate that makes calls of the kernel functions, and no more. */
static int is_of_thin_crate(const HChar *path) {
    static const HChar *const crates[] = {"std::", "core::", "alloc::", "libc::", "rustix::", "nix::", "memmap2::", "fs_err::", NULL};
    return begins_with_one_of(path, crates);
}

/* The trait of `<Type as Trait>::function`; NULL of `<Type>::function`. */
static const HChar *trait_of(const HChar *function) {
    Int depth = 0;
    for (const HChar *at = function; *at; at++) {
        if (*at == '<') depth++;
        else if (*at == '>' && at[-1] != '-' && --depth == 0) return NULL;
        else if (depth == 1 && VG_(strncmp)(at, " as ", 4) == 0) return at + 4;
    }
    return NULL;
}

/* The path of a type, without what it is behind: of `&mut [a::B]`, `a::B]`. */
static const HChar *path_of_type(const HChar *type) {
    static const HChar *const words[] = {"<", "&", "*", "[", "(", "mut ", "const ", "dyn ", NULL};
    for (const HChar *const *word = words; *word; word++)
        if (VG_(strncmp)(type, *word, VG_(strlen)(*word)) == 0) return path_of_type(type + VG_(strlen)(*word));
    return type;
}

/* Of a type without a crate (`T`, `u8`), the trait says whose the function is; with a trait of the program's, it is the program's. */
static int rust_passes_on(const HChar *function) {
    if (*function != '<') return is_of_thin_crate(function);
    const HChar *trait = trait_of(function), *type = path_of_type(function);
    if (trait && !is_of_thin_crate(trait)) return 0;
    SizeT name = 0;
    while (type[name] && !VG_(strchr)(" :<>,;)]", type[name])) name++;
    return is_of_thin_crate(type) || (trait && type[name] != ':');
}

/* Whether a function is one of Go's or Rust's between a program and the kernel. */
static int passes_on(Addr address) {
    static const HChar *const of_go[] = {"syscall.", "internal/runtime/syscall", "runtime/internal/syscall", "internal/syscall/",
                                         "internal/poll.", "os.", "golang.org/x/sys/unix.", NULL};
    const HChar *function;
    if (!VG_(get_fnname)(VG_(current_DiEpoch)(), address, &function)) return 0;
    if (begins_with_one_of(function, of_go)) return 1;
    /* Where Rust has a thread begin, what the program gave it to do may stand in line. */
    if (!rust_passes_on(function) || VG_(strstr)(function, "__rust_begin_short_backtrace")) return 0;
    return is_of_rust(address);
}

/* Which frame says what is done, and for what: the innermost outside of the C library and of what only passes on, if there is one. */
static UInt telling(const Addr *frames, UInt n) {
    UInt outside_of_library = n;
    for (UInt i = 0; i < n; i++) {
        const struct object *o = object_of(frames[i]);
        if (!o || o->system) continue;
        if (!passes_on(frames[i])) return i;
        if (outside_of_library == n) outside_of_library = i;
    }
    return outside_of_library < n ? outside_of_library : 0;
}

/* Frames of a stack that is no thread's, as goroutines have them, by the pointers that each leaves to the one before. */
static UInt linked_frames(ThreadId tid, Addr *frames, UInt most) {
    enum { LARGEST = 1 << 20 };
    Addr at, last = VG_(get_SP)(tid);
    UInt n = 0;
    VG_(get_shadow_regs_area)(tid, (UChar *)&at, 0, offsetof(VexGuestAMD64State, guest_RBP), sizeof at);
    while (n < most && at % sizeof at == 0 && at - last < LARGEST && VG_(am_is_valid_for_client)(at, 2 * sizeof at, VKI_PROT_READ)) {
        const Addr *frame = (const Addr *)at;
        frames[n++] = frame[1] - 1;
        last = at + 1;
        at = frame[0];
    }
    return n;
}

/* Where a system call is made, in code that says what for; 0 where there is none. */
static Addr calling(ThreadId tid) {
    Addr frames[MOST_FRAMES];
    UInt n = VG_(get_StackTrace)(tid, frames, MOST_FRAMES, NULL, NULL, 0);
    if (n == 1 && passes_on(frames[0])) n += linked_frames(tid, frames + 1, MOST_FRAMES - 1);
    return n ? frames[telling(frames, n)] : 0;
}

/* Who makes a system call. */
static uint32_t caller_of(ThreadId tid) {
    Addr caller = calling(tid);
    return caller ? location_of(caller, 0) : 0;
}

/* The stack that was walked last: while its frames return to where they did then, it is the same. */
static struct {
    Addr top;
    UInt frames;
    Addr slots[MOST_FRAMES], returns[MOST_FRAMES];
    uint32_t location;
} walked;

static int is_walked(Addr top) {
    if (walked.top != top) return 0;
    for (UInt i = 0; i < walked.frames; i++)
        if (*(const Addr *)walked.slots[i] != walked.returns[i]) return 0;
    return 1;
}

/* Who has the C library store, as memcpy does many times: its stack is walked once. */
static uint32_t storing_caller(void) {
    enum { FAR = 1 << 16 };
    ThreadId tid = VG_(get_running_tid)();
    Addr top = VG_(get_SP)(tid), frames[MOST_FRAMES], stacks[MOST_FRAMES];
    if (is_walked(top)) return walked.location;
    UInt n = VG_(get_StackTrace)(tid, frames, MOST_FRAMES, stacks, NULL, 0);
    if (!n) return 0;
    walked.top = top;
    walked.frames = telling(frames, n);
    walked.location = location_of(frames[walked.frames], 1);
    for (UInt i = 0; i < walked.frames; i++) {
        /* Below where a frame's stack begins lies where it goes on. */
        Addr slot = walked.slots[i] = stacks[i + 1] - sizeof(Addr);
        if (slot - top < FAR && *(const Addr *)slot == frames[i + 1] + 1) walked.returns[i] = frames[i + 1] + 1;
        else walked.top = 0;
    }
    return walked.location;
}

/* Code lies there no more, nor does a stack. */
static void memory_gone(Addr from, SizeT bytes) {
    walked.top = 0;
    objects_gone(from, bytes);
}
