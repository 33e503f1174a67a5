//! A persistent-memory device that executes crash consistency near its data (NearPM, EuroSys 2023).
//!
//! ```text
//!   core --uncached stores--> command port --requests--> FIFO -> dispatcher -> units (copy, metadata)
//!                                 (duplicates)             |        ^  in-flight table
//!   directory --reads, writes--------------------------> host queue-+--> memory
//!                                 device <---completions---> device
//! ```
//!
//! Modelled: commands as uncached stores with back-pressure; address translation by pool and thread; the request FIFO;
//! conflicts between requests, and between requests and host accesses, by range of lines; the host queue; units that
//! move real bytes a line at a time; commands that concern several devices, with delayed synchronisation, polling or
//! none; what is saved when the power fails, and its replay; a checker for each invariant of partitioned persist
//! ordering.
//!
//! Not modelled: contention between units and the host for the media; clocks of the units below a line; scatter-gather.
//!
//! Source: Seneviratne et al., NearPM (EuroSys 2023) §4 to §6, and its public artifact where the paper is silent.
//!
//! Architecture Invariant: [`Dispatcher`] has no clock; a timed run, a replay after a power failure and the explorer drive it.
#![forbid(unsafe_code)]

mod dispatcher;
mod dump;
mod explore;
mod node;
pub mod params;
pub mod plug;
mod port;
mod ppo;
mod spec;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod unit;

pub use crate::dispatcher::{Bytes, Dispatcher, Effect, Event, Held, Queued};
pub use crate::explore::NearSpace;
pub use dump::{Dump, HOST_BYTES, REQUEST_BYTES, recover};
pub use node::NearDevice;
pub use plug::{NearMemory, SYSTEM};
pub use port::CommandPort;
pub use ppo::{Broken, Checker, Invariant};
pub use spec::{DeviceSpec, DispatcherSpec, Mutant, PortSpec, Sync};
pub use stats::WorkStats;
