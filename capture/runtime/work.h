/* Instructions that the thread executed since they were last asked for: code made by coreplane cc adds to it, once a
 * block (assembler/count.h). A library's code finds it by the name. */

EXPORT __thread uint64_t coreplane_work __attribute__((tls_model("initial-exec")));

/* The same, without a look for a name that the linker could bind elsewhere: a process has one recorder. */
extern THREAD_LOCAL uint64_t own_work __attribute__((alias("coreplane_work"), visibility("hidden")));

static inline uint64_t take_whole_work(void) {
    uint64_t work = own_work;
    own_work = 0;
    return work;
}
static inline uint32_t counted_work(uint64_t work) { return work < UINT32_MAX ? (uint32_t)work : UINT32_MAX; }
static inline uint32_t take_work(void) { return counted_work(take_whole_work()); }
