//! Main memory at page fidelity: programs visit pages, a kernel's memory manager allocates, ages and swaps them, and a
//! [`policy`](policy::Policy) decides what differs from one design to the next. Adaptive memory fusion (AMF, HPCA 2018) is one,
//! with what it is compared with (Fig. 3) and Linux's own answers today.
//!
//! ```text
//! programs -> cores (time slices) -> memory manager -> media: latency, overlap, shared bandwidth
//!                    |                   |    \-> a cache in front of slower memory
//!                    |                   |-> policy: zones at boot, help before kswapd, scans, hints, victims
//!                    |                   \-> kswapd, swap device
//!                    \-> samples: free pages, marks, faults, swap, time, energy
//! ```
//!
//! Sources: D. Xue et al., HPCA 2018, §3 to §6; each policy names its own. Time is simulated in picoseconds; programs on
//! different cores meet at the ends of time slices. Cost of a visited page: 4 bytes of page table, and a share of a group of 64.
//!
//! Not modelled: caches and translation buffers of the cores (a visit says how many lines it touches), NUMA distance between
//! sockets, the file cache, huge pages. Kernel threads use processor time of their own, not the programs' cores.
#![forbid(unsafe_code)]

mod cache;
#[cfg(test)]
mod contract;
mod curve;
mod energy;
mod full;
pub mod memory;
mod params;
mod policies;
mod policy;
mod region;
mod report;
mod run;
mod samples;
mod settings;
mod simulator;
mod slice;
mod spec;
mod stand_in;
mod stats;
mod tables;
#[cfg(test)]
mod tests;

/// Machines simulated by pages.
pub const SYSTEM: System = System {
    parameters: &[PARAMETERS],
    groups: &[("fusion", "DRAM and persistent memory of hundreds of GB")],
    statistics: stats::STATISTICS,
    ..System::NOTHING
};

pub use self::simulator::SIMULATOR;
use crate::tables::PARAMETERS;
pub use curve::Curve;
use plug::System;
pub use policies::POLICIES;
pub use policy::{Entry, Hint, Layout, Platform, Policy};
pub use report::{Outcome, Programs, run};
pub use stand_in::curve;
