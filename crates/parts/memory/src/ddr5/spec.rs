//! The numbers of JESD79-5 at 4800 MT/s, speed bin B, in devices of eight data bits.

use crate::ddr4::{GroupBits, Spec};
use units::Dur;

/// A sub-channel of DDR5-4800B (40-39-39) with devices of 16 Gb that are refreshed all banks at once.
pub const DDR5_4800: Spec = Spec {
    clock_ps: 416,
    cl: 40,
    cwl: 38,
    rcd: 39,
    rp: 39,
    ras: 77,
    ccd_s: 8,
    ccd_l: 12,
    ccd_l_wr: 24,
    rrd_s: 8,
    rrd_l: 12,
    faw: 32,
    wr: 72,
    wtr_s: 6,
    wtr_l: 24,
    rtp: 18,
    cs: 2,
    // Two clocks, and two of the write's preamble.
    turn: 4,
    burst: 8,
    // ACTIVATE and column commands take two. PRECHARGE takes one, but the next may not follow before two (tPPD).
    command: 2,
    refi: 9375,
    rfc: 708,
    same_bank: None,
    postponed: 0,
    controller: 1,
    ranks: 1,
    sets: 2,
    // A page of 1 KiB in each of four devices.
    lines_per_row: 64,
    rows: 1 << 16,
    queue: 32,
    groups: GroupBits::Lines,
};

/// How many banks a REFRESH takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// All of a rank, every tREFI.
    AllBanks,
    /// The same one in each group, four times as often as fine granularity refreshes all.
    SameBank,
}

impl Refresh {
    /// How many there are in the time in which all banks are refreshed.
    pub(crate) fn shares(self) -> u64 {
        match self {
            Refresh::AllBanks => 1,
            Refresh::SameBank => 2 * BANKS_OF_GROUP,
        }
    }
}

/// `spec` with devices of 16 or 32 Gb, each row of which is refreshed in the time that `refi` between refreshes of all banks
/// gives it.
///
/// # Errors
/// Another density.
pub fn with(spec: Spec, gigabits: u64, refresh: Refresh, refi: Dur) -> Result<Spec, String> {
    let (rows, all_ns, same_ns) = match gigabits {
        16 => (1 << 16, 295, 130),
        32 => (1 << 17, 410, 190),
        _ => return Err(format!("a density of {gigabits} Gb: 16 or 32 are known")),
    };
    let clocks = |ns| rounded(&spec, Dur::ns(ns));
    let (rfc, same_bank) = match refresh {
        Refresh::AllBanks => (clocks(all_ns), None),
        Refresh::SameBank => (clocks(same_ns), Some(clocks(30))),
    };
    // On average no further apart than that.
    Ok(Spec { rows, rfc, same_bank, refi: refi.as_ps() / refresh.shares() / spec.clock_ps, ..spec })
}

/// Banks of a group.
const BANKS_OF_GROUP: u64 = 4;

/// A stretch of time in clocks, as JESD79-5 rounds it: 0.3 % less is taken for the same, and the rest rounded up.
fn rounded(spec: &Spec, time: Dur) -> u64 {
    (time.as_ps() * 997).div_ceil(spec.clock_ps * 1000)
}
