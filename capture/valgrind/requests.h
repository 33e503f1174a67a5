/* What the program tells by the words of coreplane.h. */

/* Memory that the program declares persistent, without a file: no call makes it durable. */
static struct file declared_memory = {.ignored = 1};

static Bool on_request(ThreadId tid, UWord *words, UWord *result) {
    if (!VG_IS_TOOL_USERREQ('C', 'P', words[0])) return False;
    *result = 0;
    if (!recording) return True;
    struct buffer *b = enter(tid);
    uint32_t location = caller_of(tid);
    come_after(b, location);
    switch (words[0]) {
    case ASK_PERSISTENT:
        add_mapping(b, &declared_memory, words[1], words[2], 0, location);
        emit(b, MAP, 0, words[1], location, words[2], next_stamp());
        break;
    case ASK_MARK: emit(b, MARK, 0, 0, location, words[1], 0); break;
    case ASK_ORDER: emit(b, ORDER, 0, 0, location, 0, 0); break;
    case ASK_REGION_WARMS: said_region(WARMS); break;
    case ASK_REGION_BEGINS: said_region(BEGINS); break;
    case ASK_REGION_ENDS: said_region(ENDS); break;
    case ASK_REGION_TURNS: said_region(TURNS); break;
    default: return False;
    }
    return True;
}
