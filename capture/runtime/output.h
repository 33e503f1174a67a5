/* Blocks of the trace: one system call each. */

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

static void stop(const char *why) {
    if (atomic_exchange(&recording, 0)) {
        static const char prefix[] = "coreplane: recording stopped: ";
        (void)!write(2, prefix, sizeof prefix - 1);
        (void)!write(2, why, strlen(why));
        (void)!write(2, "\n", 1);
    }
}

/* Writes a block whose contents lie behind HEADER free bytes. */
static void write_block(uint8_t *block, uint32_t kind, uint32_t thread, uint32_t count, uint32_t n) {
    uint32_t head[7] = {0, kind, thread, count, n, n, checksum(block + HEADER, n)};
    __real_memcpy(head, "CBLK", 4);
    __real_memcpy(block, head, HEADER);
    ssize_t done = write(trace_fd, block, HEADER + n);
    if (done != (ssize_t)(HEADER + n)) stop(done < 0 ? strerror(errno) : "no room for the trace");
}

static void write_text(const char *key, const char *value) {
    uint8_t block[HEADER + 4400];
    size_t k = strlen(key), v = strnlen(value, 4000);
    __real_memcpy(block + HEADER, key, k);
    block[HEADER + k] = '\n';
    __real_memcpy(block + HEADER + k + 1, value, v);
    write_block(block, BLOCK_TEXT, 0, 0, (uint32_t)(k + 1 + v));
}

static void hand_over(struct buffer *b) {
    if (b->count && atomic_load_explicit(&recording, memory_order_relaxed))
        write_block(b->bytes, BLOCK_RAW, b->thread, b->count, (uint32_t)(b->at - b->bytes - HEADER));
    b->at = b->bytes + HEADER;
    b->address = 0;
    b->location = b->count = 0;
}
