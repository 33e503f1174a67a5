/* Instructions that the thread executed since they were last asked for: code made by coreplane cc adds to it, once a
 * block (assembler/count.h). A library's code finds it by the name. */

EXPORT __thread uint64_t coreplane_work __attribute__((tls_model("initial-exec")));

static inline uint32_t take_work(void) {
    uint64_t work = coreplane_work;
    coreplane_work = 0;
    return work < UINT32_MAX ? (uint32_t)work : UINT32_MAX;
}
