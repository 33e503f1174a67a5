/* Flushes, fences, non-temporal stores: the assembler wrapper calls a stub before each. */

static void flush_line(struct buffer *b, enum kind k, uint64_t address, uint32_t location) {
    /* What code without hooks stored there is told before it is flushed. */
    if (address - shadowed_from < shadowed_bytes) compare(b, address & ~63ull, 64, location, "a flush");
    emit(b, k, 0, address, location, 0, 0);
}

/* Locked instructions and system calls of inline assembly; LOCKED_STORE + n stores n bytes. */
enum { LOCKED = 0x200, SYSCALL = 0x201, LOCKED_STORE = 0x210 };
static void called_by_hand(struct buffer *b, long number, uint32_t location);

__attribute__((noinline, used, visibility("hidden"))) void coreplane_on_persist(uint64_t kind, uint64_t address, const void *pc) {
    struct buffer *b = begin();
    if (!b) return;
    if (kind == LOCKED || kind > LOCKED_STORE) {
        /* It waits for flushes as a fence does. What it stores is settled like any store; where another thread may store there before
         * it is settled, or its bytes are not known, a comparison finds it. */
        emit(b, MFENCE, 0, 0, place(pc), 0, 0);
        if (meets() && address) turn(b, address, place(pc), next_stamp(), 1);
        if (kind > LOCKED_STORE && !meets()) pend(b, STORE, address, (uint32_t)kind - LOCKED_STORE, place(pc));
    } else if (kind == SYSCALL) called_by_hand(b, (long)address, place(pc));
    /* A non-temporal store of kind - 0x100 bytes: settled like any store, then named as what it is. */
    else if (kind >= 0x100) pend(b, STORE_NT, address, (uint32_t)kind - 0x100, place(pc));
    else if (kind == SFENCE || kind == MFENCE) {
        emit(b, (enum kind)kind, 0, address, place(pc), 0, 0);
        /* A host may be killed: what it did until its last fence is known. */
        if (by_host && !b->outer) write_out(b);
    }
    else flush_line(b, (enum kind)kind, address, place(pc));
}

/* What the program has in vector registers is saved: all parts that xsave knows, in an area of that size. */
__attribute__((used, visibility("hidden"))) uint32_t coreplane_vector_bytes = 4096;

static void measure_vectors(void) {
    uint32_t a = 13, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    if (b > 4096) coreplane_vector_bytes = b;
}

/* rdi holds the address (or nothing for a fence), the stack holds the kind; everything is preserved. */
__asm__(
    ".text\n"
    ".globl __coreplane_persist\n"
    ".type __coreplane_persist, @function\n"
    "__coreplane_persist:\n"
    "  pushfq\n"
    "  cmpl $0, recording(%rip)\n"
    "  je 9f\n"
    "  pushq %rax\n  pushq %rcx\n  pushq %rdx\n  pushq %rsi\n  pushq %rdi\n"
    "  pushq %r8\n  pushq %r9\n  pushq %r10\n  pushq %r11\n  pushq %rbp\n  pushq %rbx\n"
    "  cld\n"
    "  movq %rsp, %rbp\n"
    "  movl coreplane_vector_bytes(%rip), %eax\n"
    "  subq %rax, %rsp\n"
    "  andq $-64, %rsp\n"
    "  xorl %eax, %eax\n"
    "  movq %rax, 512(%rsp)\n  movq %rax, 520(%rsp)\n  movq %rax, 528(%rsp)\n  movq %rax, 536(%rsp)\n"
    "  movq %rax, 544(%rsp)\n  movq %rax, 552(%rsp)\n  movq %rax, 560(%rsp)\n  movq %rax, 568(%rsp)\n"
    "  movl $0xE7, %eax\n  xorl %edx, %edx\n"
    "  xsave64 (%rsp)\n"
    "  movq %rdi, %rsi\n"
    "  movq 104(%rbp), %rdi\n"
    "  movq 96(%rbp), %rdx\n"
    "  call coreplane_on_persist\n"
    "  movl $0xE7, %eax\n  xorl %edx, %edx\n"
    "  xrstor64 (%rsp)\n"
    "  movq %rbp, %rsp\n"
    "  popq %rbx\n  popq %rbp\n  popq %r11\n  popq %r10\n  popq %r9\n  popq %r8\n  popq %rdi\n"
    "  popq %rsi\n  popq %rdx\n  popq %rcx\n  popq %rax\n"
    "9: popfq\n"
    "  ret $8\n"
    ".size __coreplane_persist, .-__coreplane_persist\n");
