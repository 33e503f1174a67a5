/* Two functions of VEX that the linker leads here (--wrap): it does not know clwb and clflushopt, and hides them from
 * programs that ask the processor. */

/* As VEX has it: no public header says. */
typedef struct {
    UInt length;
    UInt what_next, hint;
    IRJumpKind jump;
} Decoded;

#define DECODES(name) \
    Decoded name(IRSB *block, const UChar *code, Long delta, Addr address, VexArch arch, const VexArchInfo *host, \
                 const VexAbiInfo *abi, VexEndness endness, Bool says_unknown)
DECODES(__real_disInstr_AMD64);
DECODES(__wrap_disInstr_AMD64);

/* Stands in the intermediate code for a flush until it is instrumented. */
static void flushes(uint64_t kind, uint64_t address) { (void)kind, (void)address; }

/* Which flush it is; LOAD for other instructions. */
static enum kind flush_of(const struct opcode *o) {
    if (o->map != 1 || o->code != 0xAE || o->modrm >> 6 == 3 || (o->prefix && o->prefix != 0x66)) return LOAD;
    switch (o->modrm >> 3 & 7) {
    case 7: return o->prefix ? CLFLUSHOPT : CLFLUSH;
    case 6: return o->prefix ? CLWB : LOAD;
    default: return LOAD;
    }
}

/* Said once: a program that meets such an instruction ends by SIGILL. */
static void say_unknown(const UChar *code) {
    static int said;
    if (*code != 0x62 || said++) return;
    write_text("note", "it came to an AVX-512 instruction, which Valgrind does not know: compile it without (-mno-avx512f; Rust: -C target-cpu=x86-64-v3; Go: GOAMD64=v3)");
}

/* A flush is decoded as a prefetch of the same operand, which computes the address and does nothing with it. */
DECODES(__wrap_disInstr_AMD64) {
    const UChar *at = code + delta;
    struct opcode o = opcode_of(at);
    enum kind kind = flush_of(&o);
    if (kind == LOAD) {
        Decoded d = __real_disInstr_AMD64(block, code, delta, address, arch, host, abi, endness, says_unknown);
        if (d.length == 0) say_unknown(at);
        return d;
    }
    UChar other[32] = {0};
    for (unsigned i = 0; i < o.at + 7; i++) other[i] = i < o.at && at[i] == 0x66 ? 0x3E : at[i];
    other[o.at] = 0x18;
    other[o.at + 1] = (UChar)((o.modrm & ~0x38) | 1 << 3);
    Decoded d = __real_disInstr_AMD64(block, other - delta, delta, address, arch, host, abi, endness, says_unknown);
    /* The address, and behind it where the program goes on, which stays the last. */
    Int last = block->stmts_used - 1, at_address = last - 1;
    if (d.length == 0 || last < 1 || block->stmts[last]->tag != Ist_Put || block->stmts[at_address]->tag != Ist_WrTmp)
        VG_(tool_panic)("coreplane: a flush could not be decoded");
    IRExpr **words = mkIRExprVec_2(mkIRExpr_HWord(kind), IRExpr_RdTmp(block->stmts[at_address]->Ist.WrTmp.tmp));
    addStmtToIRSB(block, block->stmts[last]);
    block->stmts[last] = IRStmt_Dirty(unsafeIRDirty_0_N(0, "flushes", flushes, words));
    return d;
}

/* What the processor itself says of clflushopt and clwb. */
#define ASKS(name) \
    void __real_##name(VexGuestAMD64State *); \
    void __wrap_##name(VexGuestAMD64State *); \
    void __wrap_##name(VexGuestAMD64State *state) { \
        UInt leaf = (UInt)state->guest_RAX, more = (UInt)state->guest_RCX, a = 7, b, c = 0, d; \
        __real_##name(state); \
        if (leaf != 7 || more != 0) return; \
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d)); \
        state->guest_RBX |= b & (1u << 23 | 1u << 24); \
    }
ASKS(amd64g_dirtyhelper_CPUID_avx2)
ASKS(amd64g_dirtyhelper_CPUID_avx_and_cx16)
