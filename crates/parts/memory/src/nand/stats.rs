//! What flash and its translation layer count.

use super::{Ftl, Timed};
use params::{StatSink, StatisticInfo, Statistics, Tally};

/// What flash reports, and what follows from that.
pub const STATISTICS: [&[StatisticInfo]; 2] = [FlashStats::TABLE, FlashShare::TABLE];

/// The flash.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "nand")]
struct FlashStats {
    /// pages written to the translation layer
    host_writes: u64,
    /// pages moved by collection, levelling, or out of bad blocks
    copies: u64,
    /// blocks erased
    erases: u64,
    /// pages that could not be read
    uncorrectable: u64,
    /// reads tried again with other thresholds
    retried: u64,
    /// reads with wrong bits that were all corrected
    corrected: u64,
}

/// What follows of the flash.
#[derive(Statistics)]
#[statistics(prefix = "nand", sometimes)]
struct FlashShare {
    /// pages programmed for each page written to the translation layer
    #[stat(column = "write ampl.")]
    write_amplification: f64,
}

/// Hands up what was counted.
pub fn hand_up(ftl: &Ftl<Timed>, sink: &mut dyn StatSink) {
    let counts = ftl.counts();
    let flash = FlashStats {
        host_writes: counts.host_writes,
        copies: counts.copies,
        erases: counts.erases,
        uncorrectable: counts.uncorrectable,
        retried: ftl.flash().array().retried,
        corrected: ftl.flash().array().corrected,
    };
    flash.hand_up(sink);
}

/// What follows from what was counted.
pub(crate) fn derived(tally: &Tally, _: f64, each: &mut dyn FnMut(&'static str, f64)) {
    let written = tally.number("nand.host_writes");
    if written > 0.0 {
        let programmed = written + tally.number("nand.copies");
        FlashShare { write_amplification: programmed / written }.each(each);
    }
}
