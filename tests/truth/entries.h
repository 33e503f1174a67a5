/* Entries that a program fills (fill) and makes durable (made_durable), and their count, each time after them. `contents` is what an
 * entry holds. */
struct entries {
    struct cell count;
    _Alignas(64) contents entry[ENTRIES];
};

static void work(const char *file) {
    struct entries *all = (struct entries *)fresh(file, PAGE);
    for (uint64_t n = 1; n <= ENTRIES; n++) {
        fill(&all->entry[n - 1], n);
        made_durable(&all->entry[n - 1]);
        all->count.word = n;
        persist(&all->count, 8);
        coreplane_mark_here(n);
    }
}
