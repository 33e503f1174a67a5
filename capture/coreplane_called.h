/* Put before each source that GCC compiles: what C++ headers and others call by the compiler's own names would be expanded in
 * line, without a hook. Called by the library's names it goes through the recorder. */
#if !defined(COREPLANE_CALLED_H) && !defined(__ASSEMBLER__)
#define COREPLANE_CALLED_H
#pragma GCC system_header
#ifdef __cplusplus
extern "C" {
#endif
void *coreplane_called_memcpy(void *, const void *, __SIZE_TYPE__) __asm__("memcpy") __attribute__((__nothrow__));
void *coreplane_called_memmove(void *, const void *, __SIZE_TYPE__) __asm__("memmove") __attribute__((__nothrow__));
void *coreplane_called_memset(void *, int, __SIZE_TYPE__) __asm__("memset") __attribute__((__nothrow__));
#ifdef __cplusplus
}
#endif
#define __builtin_memcpy coreplane_called_memcpy
#define __builtin_memmove coreplane_called_memmove
#define __builtin_memset coreplane_called_memset
#endif
