//! Speed of the live tracker's comparison, as a share of what the host copies.

use crate::output;
use serde_json::{Value, json};
use track::{PAGE, PageBytes, page_difference};

/// More than any cache holds.
const PAGES: usize = 64 << 10;

/// GiB a second of comparing pages with their shadow copies, one line in 64 changed, and of copying them.
pub(crate) fn rates() -> Value {
    let old: Vec<PageBytes> = vec![[1; PAGE]; PAGES];
    let mut new = old.clone();
    for (number, page) in new.iter_mut().enumerate() {
        page[number % 64 * 64] = 2;
    }
    let lines = |pair: (&PageBytes, &PageBytes)| u64::from(page_difference(pair.0, pair.1).0.count_ones());
    let compare = best(|| assert_eq!(old.iter().zip(&new).map(lines).sum::<u64>(), PAGES as u64));
    let mut copy = old.clone();
    let memcpy = best(|| copy.copy_from_slice(std::hint::black_box(&new)));
    json!({
        "compare_gib_per_second": compare,
        "memcpy_gib_per_second": memcpy,
        "share_of_memcpy": compare / memcpy,
    })
}

fn best(mut work: impl FnMut()) -> f64 {
    let seconds = (0..5).map(|_| output::timed(&mut work).1).fold(f64::MAX, f64::min);
    (PAGES * PAGE) as f64 / seconds / f64::from(1 << 30)
}
