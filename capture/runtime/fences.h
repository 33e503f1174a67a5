/* Flushes, fences, non-temporal stores: the assembler wrapper calls a stub before each. */

/* Called by the stubs below, which the assembler wrapper puts before the instructions; general registers only,
 * since the program's vector registers are live. */
#define PLAIN __attribute__((target("general-regs-only"), noinline, used))

PLAIN static void on_persist(uint64_t kind, uint64_t address, const void *pc) {
    struct buffer *b = begin();
    if (!b) return;
    if (kind >= 0x100) {
        /* A non-temporal store of kind - 0x100 bytes: settled like any store, then named as what it is. */
        b->pending = address;
        b->pending_size = (uint32_t)kind - 0x100;
        b->pending_location = place(pc);
        b->pending_kind = STORE_NT;
        return;
    }
    emit(b, (enum kind)kind, 0, address, place(pc), 0, 0);
}

/* rdi holds the address (or nothing for a fence), the stack holds the kind; everything is preserved. */
__asm__(
    ".text\n"
    ".globl __coreplane_persist\n"
    ".hidden __coreplane_persist\n"
    ".type __coreplane_persist, @function\n"
    "__coreplane_persist:\n"
    "  pushfq\n  pushq %rax\n  pushq %rcx\n  pushq %rdx\n  pushq %rsi\n  pushq %rdi\n"
    "  pushq %r8\n  pushq %r9\n  pushq %r10\n  pushq %r11\n  pushq %rbp\n"
    "  cld\n"
    "  movq %rsp, %rbp\n"
    "  movq %rdi, %rsi\n"
    "  movq 96(%rbp), %rdi\n"
    "  movq 88(%rbp), %rdx\n"
    "  andq $-16, %rsp\n"
    "  call coreplane_on_persist\n"
    "  movq %rbp, %rsp\n"
    "  popq %rbp\n  popq %r11\n  popq %r10\n  popq %r9\n  popq %r8\n  popq %rdi\n"
    "  popq %rsi\n  popq %rdx\n  popq %rcx\n  popq %rax\n  popfq\n"
    "  ret $8\n"
    ".size __coreplane_persist, .-__coreplane_persist\n");

PLAIN __attribute__((visibility("hidden"))) void coreplane_on_persist(uint64_t kind, uint64_t address, const void *pc) {
    on_persist(kind, address, pc);
}
