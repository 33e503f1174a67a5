/* What the examples of libpmemobj include, and Debian's package of them leaves out. */
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#define CREATE_MODE_RW (S_IRUSR | S_IWUSR)
#define MIN(a, b) ((a) < (b) ? (a) : (b))

static inline int file_exists(const char *path) { return access(path, F_OK); }
static inline int find_last_set_64(uint64_t value) { return 63 - __builtin_clzll(value); }
