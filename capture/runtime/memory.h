/* Memory of the runtime itself. */

static inline void *raw_memory(size_t bytes) {
    long p = raw(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p < 0 && p > -4096 ? NULL : (void *)p;
}
static inline void raw_release(void *p, size_t bytes) { raw(SYS_munmap, (long)p, (long)bytes, 0, 0, 0, 0); }
