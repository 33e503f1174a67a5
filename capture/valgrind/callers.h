/* Who calls what only does as it is told: the C library, and what Go has between a program and the kernel. */

enum { MOST_FRAMES = 16 };

/* Whether a function is one of Go's between a program and the kernel. */
static int passes_on(Addr address) {
    static const HChar *const names[] = {"syscall.", "internal/runtime/syscall", "runtime/internal/syscall", "internal/syscall/",
                                         "internal/poll.", "os.", "golang.org/x/sys/unix.", NULL};
    const HChar *function;
    if (!VG_(get_fnname)(VG_(current_DiEpoch)(), address, &function)) return 0;
    for (const HChar *const *name = names; *name; name++)
        if (VG_(strncmp)(function, *name, VG_(strlen)(*name)) == 0) return 1;
    return 0;
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
