//! Rules of replacement by themselves: the driver alone decides what stays, and nothing is timed.

use nvdimmc::{Begin, Driver, DriverSpec, Replacement};
use std::collections::BTreeMap;
use workloads::PageStream;

/// Pages of TPC-H's raw data at the scale factor of the stream of columns (0.1): the paper's 1 and 16 GB are shares of raw data,
/// 100 GB, and its store compresses.
const RAW_PAGES: u32 = 100_000_000 / 4096;

/// References of so many bytes that hit under LRU with slots for `percent` of the raw data, all queries one after the other on
/// a store of columns. `DuckDB`'s own take 3,130 on average over the queries (measured).
pub(crate) fn least_recently_used(percent: u32, bytes: u64) -> Result<BTreeMap<String, f64>, String> {
    let by_page = hits(&PageStream::columns(), RAW_PAGES * percent / 100, Replacement::Lru)?;
    let share = 1.0 - (1.0 - by_page) * bytes as f64 / 4096.0;
    Ok([("nvdimm.hit_share.page".to_string(), share)].into())
}

/// The share of page references that find their page. The driver alone decides; nothing is timed.
fn hits(stream: &PageStream, slots: u32, replacement: Replacement) -> Result<f64, String> {
    let spec = DriverSpec {
        slots,
        first_slot: DriverSpec::first_slot(slots),
        pages: stream.pages,
        replacement,
        queue_depth: 1,
        merges: false,
        waits_instead: true,
        flush_before_writeback: true,
        invalidate_after_cachefill: true,
    };
    let mut driver = Driver::new(spec, u64::from(spec.first_slot + slots))?;
    let (mut found, mut all) = (0_u64, 0_u64);
    for page in stream.queries.iter().flat_map(|q| &q.pages) {
        all += 1;
        if driver.access(*page, false).is_some() {
            found += 1;
        } else if let Begin::Fault(fault) = driver.begin(*page, false) {
            while driver.next(fault).is_some() {}
        }
    }
    Ok(found as f64 / all.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_that_read_more_hit_less_and_more_slots_hit_more() {
        let share = |percent, bytes| least_recently_used(percent, bytes).unwrap()["nvdimm.hit_share.page"];
        let small = [512, 1448, 4096].map(|bytes| share(1, bytes));
        let large = [512, 1448, 4096].map(|bytes| share(16, bytes));
        assert!(small[0] > small[1] && small[1] > small[2], "{small:?}");
        assert!((0..3).all(|n| large[n] > small[n]), "{large:?} {small:?}");
    }
}
