/* What the intermediate code does not tell of an instruction, from its bytes. */

enum { MOST_BYTES = 15 };

struct opcode {
    /* 1 for 0F and what VEX prefixes put there; 0 for others. */
    int map;
    /* The byte behind the opcode is kept where it is a part of it. */
    uint8_t code, modrm, prefix;
    /* Where the opcode stands. */
    unsigned at;
};

/* Reads no byte that the instruction does not have. */
static struct opcode opcode_of(const uint8_t *code) {
    struct opcode o = {0};
    unsigned i = 0;
    for (;; i++) {
        uint8_t byte = code[i];
        if (byte == 0x66 || byte == 0xF2 || byte == 0xF3) o.prefix = byte;
        else if (byte != 0x2E && byte != 0x36 && byte != 0x3E && byte != 0x26 && byte != 0x64 && byte != 0x65 && byte != 0x67) break;
        if (i == MOST_BYTES) return o;
    }
    if ((code[i] & 0xF0) == 0x40) i++;
    if (code[i] == 0x0F) o.map = 1, i += 1;
    else if (code[i] == 0xC5) o.map = 1, i += 2;
    else if (code[i] == 0xC4) o.map = (code[i + 1] & 31) == 1, i += 3;
    o.at = i;
    if (o.map == 1) o.code = code[i];
    if (o.code == 0xAE) o.modrm = code[i + 1];
    return o;
}

/* movnti, movntq and movntdq, movntps and movntpd, maskmovq and maskmovdqu, with VEX prefix too. */
static int is_non_temporal(const uint8_t *code) {
    struct opcode o = opcode_of(code);
    return o.map == 1 && (o.code == 0xC3 || o.code == 0xE7 || o.code == 0x2B || o.code == 0xF7);
}

/* Which fence it is; LOAD where it orders loads alone or fences besides (cpuid, rdtscp), which is no record. */
static enum kind fence_of(const uint8_t *code) {
    struct opcode o = opcode_of(code);
    if (o.map != 1 || o.code != 0xAE) return LOAD;
    return (o.modrm >> 3 & 7) == 7 ? SFENCE : (o.modrm >> 3 & 7) == 6 ? MFENCE : LOAD;
}
