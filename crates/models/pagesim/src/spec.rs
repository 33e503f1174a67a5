//! What a machine at page fidelity is made of. Defaults and sources stand in the table of `machine`.

use crate::curve::Curve;
use crate::memory::MemorySpec;
use units::Dur;

/// Sections of a GiB.
pub(crate) const SECTIONS_OF_GIB: u64 = 8;

/// What happens again and again does not happen more often than once in a microsecond.
///
/// # Errors
/// When it would.
pub(crate) fn at_least_a_microsecond(key: &str, time: Dur) -> Result<(), String> {
    if time >= Dur::ns(1000) {
        return Ok(());
    }
    Err(format!("{key} = {}: give 1000 or more", time.as_ns()))
}

/// A medium, as programs meet it.
#[derive(Clone, Copy, Debug)]
pub struct MediumSpec {
    /// Time of a program for a line that it reads, misses overlapping.
    pub read: Dur,
    /// For a line that it writes.
    pub write: Dur,
    /// Time of a line on the medium's shared bus.
    pub service: Dur,
}

impl MediumSpec {
    /// The time of a visit that touches `lines` lines.
    pub(crate) fn visit(&self, lines: u64, write: bool) -> Dur {
        if write { self.write * lines } else { self.read * lines }
    }
}

/// A cache of whole pages in front of persistent memory, direct-mapped.
#[derive(Clone, Copy, Debug)]
pub struct CacheSpec {
    /// Pages that it holds.
    pub pages: u64,
    /// Time to bring a page in.
    pub fill: Dur,
    /// Time to take a changed page out first.
    pub write_back: Dur,
}

/// Power of memory, milliwatts a GiB.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PowerSpec {
    /// Online and free.
    pub idle: u64,
    /// In use.
    pub active: u64,
    /// Going from free to in use.
    pub transition: u64,
    /// For so long.
    pub wakes: Dur,
}

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct MachineSpec {
    /// Memory and its manager.
    pub memory: MemorySpec,
    /// Seed of the programs' random visits.
    pub seed: u64,
    /// Cores.
    pub cores: usize,
    /// A program's time slice.
    pub quantum: Dur,
    /// Time to switch to another program.
    pub switch: Dur,
    /// DRAM.
    pub dram: MediumSpec,
    /// Persistent memory.
    pub pm: MediumSpec,
    /// What stands in front of persistent memory.
    pub cache: Option<CacheSpec>,
    /// Pages of DRAM that are this cache: online, and in use as far as they hold something. None where it is a device's own.
    pub dram_cache: u64,
    /// Measured latencies of visits of persistent memory in place of its own, which tell what its bus and a cache in front
    /// of it add; and the pages that working sets are told by.
    pub(crate) curve: Option<(Curve, u64)>,
    /// Time between samples.
    pub sample: Dur,
    /// Power.
    pub power: PowerSpec,
    /// Bytes of persistent memory that are the swap device: online, and in use as far as slots are.
    pub block_bytes: u64,
}
