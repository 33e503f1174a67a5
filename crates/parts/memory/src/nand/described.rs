//! Flash as a machine's parameters describe it.

use super::params::MediaKind;
use super::{Array, Errors, Ftl, FtlSpec, Geometry, MediaSpec, Timed};
use protocol::{PAGE_BYTES, Settings};

/// Erased blocks below which blocks are collected.
const RESERVE: u64 = 4;

/// The translation layer of a device with so many pages, over its flash.
///
/// # Errors
/// The key that is impossible, and its bound.
pub fn flash(s: &Settings, pages: u32) -> Result<Ftl<Timed>, String> {
    let geometry = geometry(s, pages.into());
    let bad = factory_bad(geometry.blocks, s.number("nand.bad_blocks") as u32);
    let flash = Timed::new(Array::new(geometry, errors(s), &bad), media(s));
    let flash = flash.map_err(|e| format!("nand.{e}"))?;
    let spec = FtlSpec {
        geometry,
        host_pages: pages,
        collection: s.read("nand.collection"),
        reserve: RESERVE as u32,
        level_above: s.number("nand.level_above") as u32,
    };
    Ftl::new(spec, flash, &bad).map_err(|e| format!("nand: {e}"))
}

fn geometry(s: &Settings, pages: u64) -> Geometry {
    let pages_per_block = s.number("nand.pages_per_block");
    let blocks = |pages: u64| pages.div_ceil(pages_per_block);
    let raw = blocks(pages + pages * s.number("nand.spare_permille") / 1000);
    // Bad blocks take what is spare, and no more than that; collection needs blocks of its own, however small the device.
    let all = raw.max(blocks(pages) + s.number("nand.bad_blocks")) + RESERVE + 3;
    Geometry { blocks: all as u32, pages_per_block: pages_per_block as u32, page_bytes: PAGE_BYTES as u32 }
}

fn errors(s: &Settings) -> Errors {
    Errors {
        seed: s.number("nand.error_seed"),
        program: s.number("nand.program_errors"),
        erase: s.number("nand.erase_errors"),
        bits: s.number("nand.bit_errors"),
        corrected: s.number("nand.corrected_bits"),
        retries: s.number("nand.retries") as u32,
    }
}

fn media(s: &Settings) -> MediaSpec {
    match s.read("nand.media") {
        MediaKind::Fixed => MediaSpec::fixed(s.dur("nand.read_ns")),
        MediaKind::ZNand => MediaSpec {
            channels: s.number("nand.channels") as u32,
            dies: s.number("nand.dies") as u32,
            read: s.dur("nand.read_ns"),
            program: s.dur("nand.program_ns"),
            erase: s.dur("nand.erase_ns"),
            transfer: s.dur("nand.transfer_ns"),
            suspends: s.flag("nand.suspends"),
        },
    }
}

/// Blocks that are bad from the factory, spread over the device.
fn factory_bad(blocks: u32, count: u32) -> Vec<u32> {
    (0..count.min(blocks)).map(|n| (u64::from(n) * u64::from(blocks) / u64::from(count)) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::super::params::NandParameters;
    use super::*;
    use params::Parameters;

    /// Blocks of a device of 17 MiB.
    fn blocks(sets: &[(&str, &str)]) -> u32 {
        let mut s = Settings::defaults(NandParameters::TABLE);
        for (key, value) in sets {
            let param = NandParameters::TABLE.iter().find(|p| p.key == *key).unwrap();
            s.set(param.key, param.kind.read(value).unwrap());
        }
        geometry(&s, 17 * 256).blocks
    }

    #[test]
    fn what_is_spare_adds_to_what_collection_needs_on_a_small_device_too() {
        let of = |spare| blocks(&[("nand.spare_permille", spare)]);
        assert_eq!(["0", "67", "300", "400", "1000"].map(of), [24, 26, 30, 31, 41]);
    }

    #[test]
    fn bad_blocks_take_what_is_spare_and_no_more() {
        let good =
            |bad: u32| blocks(&[("nand.spare_permille", "700"), ("nand.bad_blocks", &bad.to_string())]) - bad;
        assert_eq!([0, 5, 12, 100].map(good), [36, 31, 24, 24]);
    }
}
