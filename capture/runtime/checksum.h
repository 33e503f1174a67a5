/* Checksums of blocks: of texts, and of records. */

static uint32_t checksum(const uint8_t *bytes, size_t n) {
    uint64_t h = 0xCBF29CE484222325u;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t word;
        __builtin_memcpy(&word, bytes + i, 8);
        h = (h ^ word) * 0x100000001B3u;
    }
    for (; i < n; i++) h = (h ^ bytes[i]) * 0x100000001B3u;
    return (uint32_t)(h ^ h >> 32);
}

/* Of records: the same in four lanes, since a lane waits for its multiplication. */
static uint32_t checksum_of_records(const uint8_t *bytes, size_t n) {
    uint64_t a = 1, b = 2, c = 3, d = 4, word[4];
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __builtin_memcpy(word, bytes + i, 32);
        a = (a ^ word[0]) * 0x100000001B3u;
        b = (b ^ word[1]) * 0x100000001B3u;
        c = (c ^ word[2]) * 0x100000001B3u;
        d = (d ^ word[3]) * 0x100000001B3u;
        /* The compiler would do two at once, in more instructions. */
        __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
    uint64_t lanes[4] = {a, b, c, d};
    uint32_t sum = checksum(bytes + i, n - i);
    for (int lane = 0; lane < 4; lane++) sum = (sum << 7 | sum >> 25) ^ (uint32_t)(lanes[lane] ^ lanes[lane] >> 32);
    return sum;
}

/* Of a block: of its head up to the sum, and of its contents. */
static uint32_t checksum_of_block(const uint32_t head[6], const uint8_t *contents, uint32_t n) {
    int records = head[1] == BLOCK_FIRST || head[1] == BLOCK_NEXT;
    uint32_t sum = records ? checksum_of_records(contents, n) : checksum(contents, n);
    return (sum << 7 | sum >> 25) ^ checksum((const uint8_t *)head, 24);
}

/* Writes a block's head before its contents. */
static void put_block_head(uint8_t *block, uint32_t kind, uint32_t thread, uint32_t count, uint32_t n) {
    uint32_t head[7] = {0, kind, thread, count, n, n};
    __builtin_memcpy(head, "CBLK", 4);
    head[6] = checksum_of_block(head, block + HEADER, n);
    __builtin_memcpy(block, head, HEADER);
}
