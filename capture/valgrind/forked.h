/* The child of a fork that has no trace of its own: which files it changes or makes durable is said in its parent's, by device and inode,
 * since the parent may come to know them later. */

static int forked;

/* Each once, as long as there is room for them. */
enum { KEPT_FILES = 256 };
static struct { uint64_t device, inode; } done_to[KEPT_FILES];
static unsigned done_count;

/* The descriptor appends, and blocks are written whole. */
static void done_elsewhere(uint64_t device, uint64_t inode) {
    HChar identity[48];
    for (unsigned n = 0; n < done_count; n++)
        if (done_to[n].device == device && done_to[n].inode == inode) return;
    if (done_count < KEPT_FILES) done_to[done_count].device = device, done_to[done_count++].inode = inode;
    VG_(snprintf)(identity, sizeof identity, "%llu:%llu", (unsigned long long)device, (unsigned long long)inode);
    recording = 1;
    write_text("elsewhere", identity);
    recording = 0;
}

static void done_to_descriptor(Int fd) {
    struct stat s;
    if (raw_fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) done_elsewhere(s.st_dev, s.st_ino);
}

static void done_to_mappings(Addr from, UWord bytes) {
    for (UInt i = 0; i < mapping_count; i++) {
        const struct mapping *m = &mappings[i];
        if (m->bytes && from < m->from + m->bytes && m->from < from + bytes) done_elsewhere(m->file->device, m->file->inode);
    }
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
        for (uint32_t n = 1; n < file_count; n++)
            if (files[n].described) done_elsewhere(files[n].device, files[n].inode);
        break;
    default: break;
    }
}
