/* Programs that are started beside this one: what they change and make durable is not in this recording, and said to be unseen. */

static void starts_a_program(struct buffer *b, uint32_t location) {
    unseen(b, "a program was started: what it changes and makes durable", 0, 0, location);
}

#define STARTS(type, name, parameters, arguments) \
    LIBRARY(name) \
    INSTEAD type name parameters { \
        struct buffer *b = begin(); \
        if (b) starts_a_program(b, PC); \
        return REAL(name) arguments; \
    }
STARTS(int, system, (const char *command), (command))
STARTS(FILE *, popen, (const char *command, const char *how), (command, how))
STARTS(int, posix_spawn, (pid_t *child, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *how, char *const a[], char *const e[]), (child, path, files, how, a, e))
STARTS(int, posix_spawnp, (pid_t *child, const char *path, const posix_spawn_file_actions_t *files, const posix_spawnattr_t *how, char *const a[], char *const e[]), (child, path, files, how, a, e))
