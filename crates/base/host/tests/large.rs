//! Collections on the allocator: what they hold survives growing and shrinking over its bounds.
#![forbid(unsafe_code)]

#[global_allocator]
static MEMORY: host::LargePages = host::LargePages;

const PAGE: usize = 2 << 20;

#[test]
fn what_is_large_begins_with_a_page_and_is_zero() {
    for size in [PAGE / 2, PAGE - 1, PAGE, PAGE + 1, 5 * PAGE] {
        let mut bytes = vec![0_u8; size];
        assert_eq!(bytes.as_ptr() as usize % PAGE, 0, "{size}");
        assert!(bytes.iter().all(|b| *b == 0));
        bytes.fill(7);
        drop(bytes);
        // The addresses may be the same, what was there may not.
        assert!(vec![0_u8; size].iter().all(|b| *b == 0));
    }
}

#[test]
fn what_grows_and_shrinks_keeps_what_it_holds() {
    let mut numbers: Vec<u64> = Vec::new();
    for number in 0..3_000_000 {
        numbers.push(number);
    }
    // Page by page, over both bounds.
    for len in [2_999_999, 1_500_000, 600_000, 262_144, 131_073, 131_072, 131_071, 1000, 10] {
        numbers.truncate(len);
        numbers.shrink_to_fit();
        assert!(numbers.iter().copied().eq(0..len as u64), "{len}");
    }
    for len in [131_071, 131_072, 262_145, 1_000_000] {
        numbers.reserve_exact(len - numbers.len());
        (numbers.len()..len).for_each(|n| numbers.push(n as u64));
        assert!(numbers.iter().copied().eq(0..len as u64), "{len}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut bytes: Vec<u8> = vec![1; PAGE];
    assert!(bytes.try_reserve_exact(isize::MAX as usize - PAGE).is_err());
    assert!(bytes.iter().all(|b| *b == 1), "and loses nothing");
    assert!(Vec::<u8>::new().try_reserve_exact(1 << 62).is_err());
}
