/* Reading memory that may be gone: a library unmapped it, the program forbade it. An instruction that faults is in a
 * table, and the signal handler (signals.h) goes on behind it with rcx set. */

struct fault_place {
    int32_t instruction, behind;
};
extern const struct fault_place __start_coreplane_faults[] __attribute__((weak, visibility("hidden")));
extern const struct fault_place __stop_coreplane_faults[] __attribute__((weak, visibility("hidden")));

#define PEEK(load) \
    __asm__ volatile("xorl %%ecx, %%ecx\n1: " load "\n2:\n" \
                     ".pushsection coreplane_faults, \"a\", @progbits\n.long 1b - ., 2b - .\n.popsection" \
                     : "=&r"(v), "=&c"(gone) : "r"(address) : "memory")

/* The value at an address of 1, 2, 4 or 8 bytes; 0 when the memory is gone. */
static inline int peek(uint64_t address, unsigned size, uint64_t *value) {
    uint64_t v;
    uint32_t gone;
    switch (size) {
    case 1: PEEK("movzbl (%2), %k0"); break;
    case 2: PEEK("movzwl (%2), %k0"); break;
    case 4: PEEK("movl (%2), %k0"); break;
    default: PEEK("movq (%2), %0");
    }
    *value = v;
    return !gone;
}

/* The table's entry of such an instruction, if it is one. */
static const struct fault_place *peek_at(uint64_t instruction) {
    for (const struct fault_place *p = __start_coreplane_faults; p < __stop_coreplane_faults; p++)
        if ((uint64_t)&p->instruction + (uint64_t)(int64_t)p->instruction == instruction) return p;
    return NULL;
}

/* Whether the program was in such an instruction: it then goes on behind it. */
static int recovered(ucontext_t *context) {
    const struct fault_place *p = peek_at((uint64_t)context->uc_mcontext.gregs[REG_RIP]);
    if (!p) return 0;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)((uint64_t)&p->behind + (uint64_t)(int64_t)p->behind);
    context->uc_mcontext.gregs[REG_RCX] = 1;
    return 1;
}
