//! Remote memory (Project PBerry, HotOS 2019): an agent on the coherent link that tracks lines and fetches them, the
//! daemon that decides which pages are local, and the page-fault system that both replace.
//!
//! ```text
//!   cores -- page table --> directory --link--> agent --+-- frames (attached memory)
//!     | fault: daemon          ^   recall a line  |     +-- filters, report buffer
//!     +-- commands (stores) ---+------------------+-- network --> remote host
//! ```
//!
//! A program's addresses are pages of remote memory; a number of frames hold some of them. The agent sees every read and
//! write-back of a frame's lines. A page can be *present but not fetched*: the page table says where it is, and the agent
//! answers the first read of each line with bytes from the remote host, the missing line first. The page table lies in
//! the agent's memory too, so that the agent sees page walks, starts to fetch before the access comes, and marks pages
//! not present when it cannot: the processor then takes a page fault, and never waits for a host that is gone.
//!
//! Modelled: the agent's protocol with its commands (stores into a mailbox), recalls of lines that caches hold, filters
//! and bounded reports; the network with latency and bandwidth both ways, and lost, late and duplicated packets; a host
//! that goes and comes back; page walks as loads; page faults, write-protection, shootdowns; reclamation in batches; the
//! same program on page-granular paging, whose frames are filled by DMA.
//!
//! Not modelled: the memory agent's own caches; several remote hosts; the cache-agent variant of §4.1; memory failures of
//! the remote host (what it has acknowledged it keeps).
//!
//! Sources: Calciu et al., Project PBerry (HotOS 2019) §4, §5; what the paper leaves open is a parameter.
#![forbid(unsafe_code)]

mod agent;
mod by_page;
mod command;
mod daemon;
mod dirty;
mod explore;
mod faulting;
mod faults;
mod filter;
mod local_tier;
mod network;
mod packet;
pub mod params;
pub mod plug;
mod requests;
mod shared_daemon;
mod spec;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod uses;

pub use agent::Agent;
pub use command::{Command, Layout, Pte, What};
pub use daemon::Daemon;
pub use dirty::{DirtySet, DirtyWindows};
pub use explore::RemoteSpace;
pub use filter::{FilterSpec, Tracker};
pub use network::{Faults, Network, NetworkSpec};
pub use packet::{Bytes, Lines, Packet, RemoteHost, WholePage};
pub use plug::SYSTEM;
pub use shared_daemon::{SharedDaemon, SharedDaemonSpec};
pub use spec::{AgentSpec, AgentStateSpec, DaemonSpec, Kind, Mutant, Prefetch, Walks};
pub use state::{AgentState, Effect};
pub use uses::{Use, UseCosts, UseSpec};
