//! Optane DC persistent memory of the first generation: 3D-XPoint DIMMs, one behind each memory controller.
//!
//! ```text
//!   controller: reads, WPQ --a line at a time--> [buffer: 64 blocks of 256 B, least recently used] --hit--> data
//!        ^ requests that it has no room for           | miss            ^ block read, then its lines
//!        come in by chance                            v                 |
//!                                   [translation: 16 MiB] --> [media: block reads and writes, wear levelling]
//! ```
//!
//! Modelled: a write-combining buffer of whole media blocks, which reads fill too; a block that leaves it before all of its
//! lines have come costs the media as much as a whole one, which is what many threads on one DIMM suffer from; a block that
//! nobody reads on its way to the media; media that serve one block after the other, reads first; a translation that reaches so far, and takes time beyond; a
//! stall of tens of microseconds where one place is written again and again; 1 to 6 DIMMs, interleaved. In front of
//! each stands a plain controller with its write pending queue (persistence begins there, as ADR has it), so that every
//! ordering model can stand before it.
//!
//! Not modelled: partitions of the media below that, the power budget, error correction, and the encryption.
//!
//! Sources: Yang et al. (FAST 2020) for the structure, and their published measurements for the fitted times; Wang et al.
//! (MICRO 2020, LENS and VANS) for the two knees.
#![forbid(unsafe_code)]

mod cached;
mod dimm;
mod dimm_queue;
mod explore;
mod mutant;
mod params;
mod plug;
mod spec;
mod stats;
mod tags;
mod translation;
mod wear;

#[cfg(test)]
mod cached_tests;
#[cfg(test)]
mod tests;

pub use cached::{CacheSpec, CachedDimm};
pub use dimm::Dimm;
pub use explore::BufferSpace;
pub use mutant::Mutant;
pub use plug::{DIMM, SYSTEM};
pub use spec::{DimmSpec, TranslationSpec, WearSpec};
