//! A memory device behind a link whose DRAM caches its NAND, as Samsung's CMM-H does: hits and misses are its own
//! controller's business, and the host sees memory that answers sooner or later.
//!
//! ```text
//!   link --Read, Write--> tags --page is here--> [DRAM: slots of 4 KiB, sets of some ways] --> ReadReply, acknowledgement
//!                          |  ^ fetched from DRAM, the last used at hand      ^ page
//!                          |                                                  |
//!                          +--page is not here--> [fills under way] --> firmware, FTL --> NAND
//!                                                   what leaves, if changed --> [write buffer] --^
//! ```
//!
//! Modelled: tags, of which those used last are at hand and others are fetched; slots in sets, found by a hash of the
//! page's number; replacement; channels of DDR4 with what fills write to them; so many fills at once, requests of a page
//! that is on its way joining its fill; a page that was changed written to the NAND through a buffer when it leaves; the
//! translation layer with its collection; dies and channels of the NAND; real bytes from DRAM to NAND and back; a power
//! failure, after which stored energy saves as many changed pages as it lasts for.
//!
//! Not modelled: fetching pages ahead, parts of pages, and writes that pass the DRAM; what one request's tag costs the next
//! in DRAM bandwidth; accesses of blocks beside those of memory.
//!
//! Sources: Samsung's descriptions of CMM-H (48 GB of DRAM before 1 TB of NAND behind eight lanes of PCI Express 5.0);
//! measurements published with Cylon (FAST 2026), to some of which it is fitted.
#![forbid(unsafe_code)]

mod cache;
mod channels;
mod device;
mod explore;
mod mutant;
mod pages;
mod params;
mod plug;
mod power;
mod stats;
mod tags;
#[cfg(test)]
mod tests;

pub use device::{Cmmh, CmmhSpec};
pub use explore::PagesSpace;
pub use mutant::Mutant;
pub use plug::SYSTEM;
