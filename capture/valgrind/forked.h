/* The child of a fork that has no trace of its own: what it does to the files of its parent's is said there, by their numbers. */

static int forked;

/* Said once for each file. The descriptor appends, and blocks are written whole. */
static void done_elsewhere(struct file *f) {
    HChar number[16];
    if (!f || !f->described || f->ignored || f->elsewhere) return;
    f->elsewhere = 1;
    VG_(snprintf)(number, sizeof number, "%u", f->number);
    recording = 1;
    write_text("elsewhere", number);
    recording = 0;
}

static void done_to_descriptor(Int fd) {
    struct stat s;
    if (raw_fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) done_elsewhere(known_file(&s));
}

static void done_to_mappings(Addr from, UWord bytes) {
    for (UInt i = 0; i < mapping_count; i++)
        if (from < mappings[i].from + mappings[i].bytes && mappings[i].from < from + bytes) done_elsewhere(mappings[i].file);
}

static void call_of_forked(UInt number, const UWord *a) {
    switch (number) {
    case __NR_write: case __NR_pwrite64: case __NR_writev: case __NR_pwritev: case __NR_pwritev2: case __NR_sendfile:
    case __NR_ftruncate: case __NR_fallocate: case __NR_fsync: case __NR_fdatasync: case __NR_sync_file_range:
        done_to_descriptor((Int)a[0]);
        break;
    case __NR_copy_file_range: case __NR_splice: done_to_descriptor((Int)a[2]); break;
    case __NR_msync: done_to_mappings(a[0], a[1]); break;
    case __NR_sync: case __NR_syncfs:
        for (uint32_t n = 1; n < file_count; n++) done_elsewhere(&files[n]);
        break;
    default: break;
    }
}
