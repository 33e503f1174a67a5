//! Speed of the flash translation layer alone.

use crate::Failure;
use crate::output;
use memory::nand::{Collection, Counter, Ftl, FtlSpec, Geometry};
use serde_json::json;
use units::Random;

/// Million host pages written a second.
pub(crate) const GOAL: f64 = 20.0;

const WRITES: u32 = 4_000_000;

/// For each pattern its name, million host pages a second, and the write amplification meanwhile.
pub(crate) fn rates() -> Result<Vec<serde_json::Value>, Failure> {
    ["sequential", "random"].into_iter().map(|pattern| rate(pattern).map_err(Failure::BadInput)).collect()
}

/// Over-provisioned by 30 %, in a steady state, keeping no bytes; the best of three.
fn rate(pattern: &str) -> Result<serde_json::Value, String> {
    let geometry = Geometry { blocks: 2048, pages_per_block: 256, page_bytes: 4096 };
    let host_pages = (f64::from(geometry.pages()) / 1.3) as u32;
    let collection = Collection::Greedy;
    let spec = FtlSpec { geometry, host_pages, collection, reserve: 3, level_above: 0 };
    let mut ftl = Ftl::new(spec, Counter, &[])?;
    let mut random = Random::new(1, 0);
    let mut write = |n: u32| {
        let page = if pattern == "random" { random.below(host_pages.into()) as u32 } else { n % host_pages };
        ftl.write(page, &[]).map_err(|e| format!("the benchmark's device: {e:?}"))
    };
    (0..WRITES / 2).try_for_each(&mut write)?;
    let ((), seconds) = output::fastest(3, || (WRITES / 2..WRITES / 2 + WRITES).try_for_each(&mut write))?;
    Ok(json!({
        "pattern": pattern,
        "million_host_pages_per_second": f64::from(WRITES) / seconds / 1e6,
        "write_amplification": ftl.counts().write_amplification(),
    }))
}
