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
    let raw = pages + pages * s.number("nand.spare_permille") / 1000;
    // Collection needs blocks of its own, however small the device.
    let least = pages.div_ceil(pages_per_block) + s.number("nand.bad_blocks") + RESERVE + 3;
    Geometry {
        blocks: raw.div_ceil(pages_per_block).max(least) as u32,
        pages_per_block: pages_per_block as u32,
        page_bytes: PAGE_BYTES as u32,
    }
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
