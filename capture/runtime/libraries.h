/* Libraries that came while the program ran and have no hooks: what they do in memory is not seen. */

static unsigned libraries_at_start;

static int count_library(struct dl_phdr_info *info, size_t size, void *count) {
    (void)info, (void)size;
    ++*(unsigned *)count;
    return 0;
}

static int note_library(struct dl_phdr_info *info, size_t size, void *count) {
    char text[4300];
    (void)size;
    /* Those that were there come first. The thread library loads libgcc_s by itself. */
    if ((*(unsigned *)count)++ < libraries_at_start || !info->dlpi_name || strstr(info->dlpi_name, "libgcc_s")) return 0;
    for (unsigned i = 0; i < atomic_load(&object_count); i++)
        if (atomic_load(&objects[i].from) == info->dlpi_addr) return 0;
    static const char before[] = "library ", behind[] = " was loaded and has no hooks";
    size_t n = strnlen(info->dlpi_name, 4000);
    __real_memcpy(text, before, sizeof before);
    __real_memcpy(text + sizeof before - 1, info->dlpi_name, n);
    __real_memcpy(text + sizeof before - 1 + n, behind, sizeof behind);
    write_text("note", text);
    return 0;
}

static void note_libraries(void) {
    unsigned count = 0;
    dl_iterate_phdr(note_library, &count);
}
