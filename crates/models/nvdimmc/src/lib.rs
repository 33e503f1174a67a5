//! A DIMM whose DRAM is a cache of its NAND (NVDIMM-C, HPCA 2020): its two masters on one bus, and its device side.
//!
//! ```text
//!   host controller --commands--> DRAM <--commands-- device, inside the stretched tRFC alone
//!         |  six command pins                          |
//!         +----------------> refresh detector --window-+--> firmware: CP area, FTL --> NAND
//! ```
//!
//! The host's refresh takes longer than the DRAM needs: in what is left over the host may send nothing, every bank is
//! closed, and the device reads or writes 4 KB. It learns of a refresh from six command pins, and of the host's wishes
//! from one line of DRAM, the CP area, which it looks at once a window.
//!
//! Modelled: the pins and what distinguishes REFRESH from entry into self-refresh; windows and the commands in them;
//! a checker of both masters that names the two commands that collide; the firmware, with one command at a time as
//! published, or more, or writeback and cachefill in one, or up to 8 KB a window; the host's driver on its cores, with slots, replacement, order of
//! steps and time, and several faults at once; the dump after a power failure, as far as the battery lasts; real bytes from DRAM to NAND and back.
//!
//! Not modelled: a file system, huge pages, the dump's own time, more than one DIMM of a channel, ranks.
//!
//! Source: Lee et al., NVDIMM-C (HPCA 2020) §III-B, §IV, §V.
#![forbid(unsafe_code)]

mod bus;
mod command;
mod dimm;
mod driver;
mod explore;
mod faults;
mod firmware;
mod mutant;
pub mod params;
mod pins;
pub mod plug;
mod shared_driver;
mod stats;
#[cfg(test)]
mod tests;

pub use crate::explore::HandshakeSpace;
pub use bus::{Bus, BusSpec, Collision, Master, Move, Window, Work};
pub use command::{Acknowledgement, CpCommand, Opcode, cp_line};
pub use dimm::{DeviceFaults, Dimm, DimmSpec, PowerSpec};
pub use driver::{Begin, Driver, DriverCounts, DriverSpec, FaultId, SLOTS_PER_PAGE, Step, metadata};
pub use firmware::{Dram, Dump, Firmware, FirmwareSpec, PAGE_LINES, PAGE_SIZE};
pub use memory::Replacement;
pub use mutant::Mutant;
pub use pins::{Pins, RefreshDetector};
pub use plug::SYSTEM;
pub use shared_driver::{SharedDriver, SharedDriverSpec};
