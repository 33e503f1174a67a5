/* What a recorded program may tell the recorder. Every call does nothing in a program that is not recorded:
 * the functions are weak, and absent unless the program was linked by `coreplane cc`. */
#ifndef COREPLANE_H
#define COREPLANE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

__attribute__((weak)) void coreplane_persistent(const void *address, size_t bytes);
__attribute__((weak)) void coreplane_mark(unsigned long number);
__attribute__((weak)) void coreplane_order(void);
__attribute__((weak)) void coreplane_region_warms(void);
__attribute__((weak)) void coreplane_region_begins(void);
__attribute__((weak)) void coreplane_region_ends(void);

/* These bytes are persistent memory, although no file is mapped there. */
static inline void coreplane_is_persistent(const void *address, size_t bytes) {
    if (coreplane_persistent) coreplane_persistent(address, bytes);
}

/* A point of the program that is worth finding again. */
static inline void coreplane_mark_here(unsigned long number) {
    if (coreplane_mark) coreplane_mark(number);
}

/* A store fence that is needed for order alone: what was flushed before persists before what is stored after, and
 * nobody waits. On x86-64 that is an sfence, there being nothing weaker; on machines with persist buffers an ofence. */
static inline void coreplane_order_here(void) {
    if (coreplane_order) coreplane_order();
    else __builtin_ia32_sfence();
}

/* The region of interest: with `record --region`, loads and stores of ordinary memory are recorded here and not elsewhere, and what a run
 * counts begins and ends here. What is between the beginning of a warm-up and that of the region is recorded, and simulated without
 * being counted. */
static inline void coreplane_roi_warm_up(void) {
    if (coreplane_region_warms) coreplane_region_warms();
}
static inline void coreplane_roi_begin(void) {
    if (coreplane_region_begins) coreplane_region_begins();
}
static inline void coreplane_roi_end(void) {
    if (coreplane_region_ends) coreplane_region_ends();
}

#ifdef __cplusplus
}
#endif
#endif
