//! Adaptive memory fusion (AMF, ISCA 2018): persistent memory that is detectable but hidden at boot, integrated before kswapd
//! swaps, and given back lazily. Beside it what it is compared with (Fig. 3): DRAM and swap (A1), persistent memory as a
//! block device (A2), DRAM as a cache of it (A4), one space from boot on (A5), and Linux's own answer today.
//!
//! ```text
//! programs -> cores (time slices) -> kernel::memory -> media: latency, overlap, shared bandwidth
//!                    |                   |    \-> a cache in front of the hidden medium (A4, NVDIMM-C, remote)
//!                    |                   |-> kpmemd: table 2, sections online and offline   (AMF)
//!                    |                   \-> kswapd, swap device
//!                    \-> samples: free pages, marks, faults, swap, time, energy
//! ```
//!
//! Source: D. Xue et al., ISCA 2018, §3 to §6. Time is simulated in picoseconds; programs on different cores meet at the ends
//! of time slices. Cost of a visited page: 4 bytes of page table, and a share of a group of 64.
//!
//! Not modelled: caches and translation buffers of the cores (a visit says how many lines it touches), NUMA distance between
//! sockets, the file cache, huge pages. kswapd and kpmemd use processor time of their own, not the programs' cores.
#![forbid(unsafe_code)]

mod cache;
mod energy;
mod kpmemd;
mod run;
mod samples;
mod slice;
mod spec;
#[cfg(test)]
mod tests;

pub use kpmemd::{AmfSpec, Kpmemd, integrated};
pub use run::{Machine, Stopped};
pub use samples::{Sample, Totals};
pub use spec::{CacheSpec, FusionSpec, MediumSpec, PowerSpec, TieringSpec};
