/* From a block of intermediate code to the same with calls of accesses.h. */

/* The block that is made, and what is known of the instruction in hand. */
struct maker {
    IRSB *out;
    /* The instruction, and which of its accesses comes next. */
    Addr code;
    unsigned nth;
    /* Instructions that no record and no exit has told yet. */
    uint32_t work;
    int non_temporal, locked;
    enum kind fence;
    /* A load that no call tells yet, since one call may tell two. No words: there is none. */
    IRExpr *what_waits, *address_waits;
};

static void add(struct maker *m, IRStmt *statement) { addStmtToIRSB(m->out, statement); }

/* What a record is, with the instructions until here. */
static IRExpr *what_of(struct maker *m, enum kind kind, unsigned log2size) {
    uint64_t what = foretelling(what_is(kind, log2size, location_of(m->code, m->nth++)), m->work);
    m->work = 0;
    return mkIRExpr_HWord(what);
}

static IRDirty *call_if(struct maker *m, IRExpr *guard, const HChar *name, void *function, IRExpr **words) {
    IRDirty *d = unsafeIRDirty_0_N(0, name, function, words);
    if (guard) d->guard = guard;
    add(m, IRStmt_Dirty(d));
    return d;
}

/* What waits is told before anything that others may see, or that may leave the block. */
static void tell(struct maker *m) {
    if (m->what_waits) call_if(m, NULL, "on_load", on_load, mkIRExprVec_2(m->what_waits, m->address_waits));
    m->what_waits = NULL;
}

static enum kind store_kind(const struct maker *m) { return m->non_temporal ? STORE_NT : STORE; }

static unsigned log2_of(unsigned size) { return (unsigned)__builtin_ctz(size); }

static void wide(struct maker *m, IRExpr *guard, enum kind kind, IRExpr *address, unsigned size) {
    tell(m);
    call_if(m, guard, "on_wide", on_wide, mkIRExprVec_3(what_of(m, kind, 0), address, mkIRExpr_HWord(size)));
}

/* A load that takes place in any case. Its address and place are all that a record has of it, which the next one's call
 * can tell as well. */
static void plain_load(struct maker *m, IRExpr *address, unsigned size) {
    IRExpr *what = what_of(m, LOAD, log2_of(size));
    if (m->what_waits) {
        call_if(m, NULL, "on_loads", on_loads, mkIRExprVec_4(m->what_waits, m->address_waits, what, address));
        m->what_waits = NULL;
    } else {
        m->what_waits = what;
        m->address_waits = address;
    }
}

static void load(struct maker *m, IRExpr *guard, IRExpr *address, unsigned size) {
    /* Of a locked operation the whole is recorded. */
    if (m->locked) return;
    if (is_word(size) && !guard) {
        plain_load(m, address, size);
        return;
    }
    tell(m);
    if (!is_word(size)) wide(m, guard, LOAD, address, size);
    else call_if(m, guard, "on_load", on_load, mkIRExprVec_2(what_of(m, LOAD, log2_of(size)), address));
}

/* Whose caller is looked for on the stack, which has to be as the code has left it. */
static void system_store(struct maker *m, IRExpr *guard, enum kind kind, IRExpr *address, unsigned size) {
    static const Int read[] = {offsetof(VexGuestAMD64State, guest_RSP), offsetof(VexGuestAMD64State, guest_RBP),
                               offsetof(VexGuestAMD64State, guest_RIP)};
    IRExpr **words = mkIRExprVec_3(what_of(m, kind, is_word(size) ? log2_of(size) : 0), address, mkIRExpr_HWord(size));
    IRDirty *d = call_if(m, guard, "on_system_store", on_system_store, words);
    d->nFxState = sizeof read / sizeof *read;
    VG_(memset)(&d->fxState, 0, sizeof d->fxState);
    for (Int i = 0; i < d->nFxState; i++) {
        d->fxState[i].fx = Ifx_Read;
        d->fxState[i].offset = (UShort)read[i];
        d->fxState[i].size = sizeof(Addr);
    }
}

static void store(struct maker *m, IRExpr *guard, IRExpr *address, unsigned size) {
    static void (*const functions[4])(uint64_t, uint64_t) = {on_store1, on_store2, on_store4, on_store8};
    enum kind kind = store_kind(m);
    tell(m);
    if (is_of_system(m->code)) system_store(m, guard, kind, address, size);
    else if (!is_word(size)) wide(m, guard, kind, address, size);
    else call_if(m, guard, "on_store", functions[log2_of(size)], mkIRExprVec_2(what_of(m, kind, log2_of(size)), address));
}

static void locked(struct maker *m, IRExpr *address, unsigned size) {
    tell(m);
    call_if(m, NULL, "on_locked", on_locked, mkIRExprVec_2(what_of(m, RMW, log2_of(size)), address));
}

/* A compare and swap, perhaps of two words. */
static void swap(struct maker *m, const IRCAS *cas) {
    IRType type = typeOfIRExpr(m->out->tyenv, cas->dataLo);
    unsigned size = (unsigned)sizeofIRType(type);
    locked(m, cas->addr, size);
    if (!cas->dataHi) return;
    IRTemp second = newIRTemp(m->out->tyenv, Ity_I64);
    add(m, IRStmt_WrTmp(second, IRExpr_Binop(Iop_Add64, cas->addr, IRExpr_Const(IRConst_U64(size)))));
    locked(m, IRExpr_RdTmp(second), size);
}

/* A helper of VEX's that touches memory, such as for x87's long numbers, or one of ours. */
static void helper(struct maker *m, IRStmt *statement) {
    IRDirty *d = statement->Ist.Dirty.details;
    tell(m);
    if (d->cee->addr == (void *)flushes) {
        enum kind kind = (enum kind)d->args[0]->Iex.Const.con->Ico.U64;
        call_if(m, NULL, "on_flush", on_flush, mkIRExprVec_2(what_of(m, kind, 0), d->args[1]));
        return;
    }
    int reads = d->mFx == Ifx_Read || d->mFx == Ifx_Modify, writes = d->mFx == Ifx_Write || d->mFx == Ifx_Modify;
    if (reads) wide(m, d->guard, LOAD, d->mAddr, (unsigned)d->mSize);
    add(m, statement);
    if (writes) wide(m, d->guard, store_kind(m), d->mAddr, (unsigned)d->mSize);
}

/* The block may be left here: what is not told yet is counted. */
static void settle_work(struct maker *m) {
    if (!m->work) return;
    IRExpr *where = mkIRExpr_HWord((HWord)&own_work);
    IRTemp before = newIRTemp(m->out->tyenv, Ity_I64), after = newIRTemp(m->out->tyenv, Ity_I64);
    add(m, IRStmt_WrTmp(before, IRExpr_Load(Iend_LE, Ity_I64, where)));
    add(m, IRStmt_WrTmp(after, IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(before), mkIRExpr_HWord(m->work))));
    add(m, IRStmt_Store(Iend_LE, where, IRExpr_RdTmp(after)));
    m->work = 0;
}

/* The instruction that begins at a mark. */
static void begin_instruction(struct maker *m, IRStmt *const *statements, Int left) {
    const IRStmt *mark = statements[0];
    const uint8_t *code = (const uint8_t *)(mark->Ist.IMark.addr + mark->Ist.IMark.delta);
    m->work++;
    m->code = (Addr)code;
    m->nth = 0;
    m->non_temporal = is_non_temporal(code);
    m->fence = fence_of(code);
    m->locked = 0;
    for (Int i = 1; i < left && statements[i]->tag != Ist_IMark; i++) m->locked |= statements[i]->tag == Ist_CAS;
}

static unsigned size_of(const struct maker *m, const IRExpr *value) { return (unsigned)sizeofIRType(typeOfIRExpr(m->out->tyenv, value)); }

static void guarded_load(struct maker *m, IRStmt *statement) {
    const IRLoadG *g = statement->Ist.LoadG.details;
    IRType from = Ity_INVALID, to = Ity_INVALID;
    typeOfIRLoadGOp(g->cvt, &to, &from);
    load(m, g->guard, g->addr, (unsigned)sizeofIRType(from));
    add(m, statement);
}

static void instrument_statement(struct maker *m, IRStmt *s) {
    switch (s->tag) {
    case Ist_WrTmp:
        if (s->Ist.WrTmp.data->tag == Iex_Load) {
            const IRExpr *l = s->Ist.WrTmp.data;
            load(m, NULL, l->Iex.Load.addr, (unsigned)sizeofIRType(l->Iex.Load.ty));
        }
        add(m, s);
        break;
    case Ist_Store:
        add(m, s);
        store(m, NULL, s->Ist.Store.addr, size_of(m, s->Ist.Store.data));
        break;
    case Ist_StoreG:
        add(m, s);
        store(m, s->Ist.StoreG.details->guard, s->Ist.StoreG.details->addr, size_of(m, s->Ist.StoreG.details->data));
        break;
    case Ist_LoadG: guarded_load(m, s); break;
    case Ist_CAS:
        add(m, s);
        swap(m, s->Ist.CAS.details);
        break;
    case Ist_Dirty: helper(m, s); break;
    case Ist_MBE:
        tell(m);
        add(m, s);
        if (m->fence != LOAD) call_if(m, NULL, "on_fence", on_fence, mkIRExprVec_1(what_of(m, m->fence, 0)));
        break;
    case Ist_Exit:
        tell(m);
        settle_work(m);
        add(m, s);
        break;
    default: add(m, s);
    }
}

/* At the entry of pthread_join its argument tells which thread is waited for. */
static void look_for_join(struct maker *m, Addr entry) {
    const HChar *name;
    if (!VG_(get_fnname_if_entry)(VG_(current_DiEpoch)(), entry, &name)) return;
    while (*name == '_') name++;
    if (VG_(strncmp)(name, "pthread_", 8) || !VG_(strstr)(name, "join")) return;
    IRTemp argument = newIRTemp(m->out->tyenv, Ity_I64);
    add(m, IRStmt_WrTmp(argument, IRExpr_Get(offsetof(VexGuestAMD64State, guest_RDI), Ity_I64)));
    call_if(m, NULL, "on_join", on_join, mkIRExprVec_2(mkIRExpr_HWord(location_of(entry, 0)), IRExpr_RdTmp(argument)));
}

/* Counts the instructions of a block, where a region asks for it. */
static void count_instructions(struct maker *m, const IRSB *in) {
    UWord n = 0;
    for (Int i = 0; i < in->stmts_used; i++) n += in->stmts[i]->tag == Ist_IMark;
    IRExpr *where = mkIRExpr_HWord((HWord)&left_of_region);
    IRTemp before = newIRTemp(m->out->tyenv, Ity_I64), after = newIRTemp(m->out->tyenv, Ity_I64), over = newIRTemp(m->out->tyenv, Ity_I1);
    add(m, IRStmt_WrTmp(before, IRExpr_Load(Iend_LE, Ity_I64, where)));
    add(m, IRStmt_WrTmp(after, IRExpr_Binop(Iop_Sub64, IRExpr_RdTmp(before), mkIRExpr_HWord(n))));
    add(m, IRStmt_Store(Iend_LE, where, IRExpr_RdTmp(after)));
    add(m, IRStmt_WrTmp(over, IRExpr_Binop(Iop_CmpLT64S, IRExpr_RdTmp(after), mkIRExpr_HWord(0))));
    call_if(m, IRExpr_RdTmp(over), "on_edge", on_edge, mkIRExprVec_0());
}

static IRSB *instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout, const VexGuestExtents *extents,
                        const VexArchInfo *host, IRType guest_word, IRType host_word) {
    (void)closure, (void)layout, (void)extents, (void)host, (void)guest_word, (void)host_word;
    struct maker m = {.out = deepCopyIRSBExceptStmts(in)};
    Int i = 0;
    for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; i++) add(&m, in->stmts[i]);
    if (i < in->stmts_used) look_for_join(&m, (Addr)in->stmts[i]->Ist.IMark.addr);
    if (region.asked) count_instructions(&m, in);
    for (; i < in->stmts_used; i++) {
        if (in->stmts[i]->tag == Ist_IMark) begin_instruction(&m, in->stmts + i, in->stmts_used - i);
        instrument_statement(&m, in->stmts[i]);
    }
    tell(&m);
    settle_work(&m);
    return m.out;
}
