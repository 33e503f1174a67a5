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
