//! What the allocator takes of the host's memory; alone in its process, so that nobody else takes any.
#![forbid(unsafe_code)]

use std::fs;

#[global_allocator]
static MEMORY: host::LargePages = host::LargePages;

const PAGE: usize = 2 << 20;

/// Bytes of the process in memory.
#[expect(clippy::disallowed_methods, reason = "the kernel says what the process takes")]
fn resident() -> usize {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    4096 * text.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

#[test]
fn what_is_not_touched_takes_no_memory_and_what_is_dropped_gives_it_back() {
    let before = resident();
    let large = vec![0_u64; 1 << 27];
    assert!(resident() < before + 64 * PAGE, "1 GiB that nobody wrote");
    drop(large);
    let some = vec![1_u8; 64 * PAGE];
    assert!(resident() >= before + 60 * PAGE);
    drop(some);
    assert!(resident() < before + 48 * PAGE, "given back");
}
