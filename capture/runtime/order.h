/* A fence that the program uses for order alone (coreplane.h). */

EXPORT void coreplane_order(void) {
    struct buffer *b = begin();
    if (b) emit(b, ORDER, 0, 0, PC, 0, 0);
    __builtin_ia32_sfence();
}
