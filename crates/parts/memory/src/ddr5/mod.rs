//! A DDR5 channel: two sub-channels of 32 data bits that share nothing, each with a scheduler and ranks of its own.
//!
//! ```text
//!             +--> line even --> sub-channel: queues --> FR-FCFS --> 8 groups of 4 banks --> 32 pins
//!   requests -+
//!             +--> line odd ---> sub-channel: queues --> FR-FCFS --> 8 groups of 4 banks --> 32 pins
//! ```
//!
//! Modelled: what a channel of DDR4 has (`crate::ddr4`: its scheduler works here too, with the numbers and the shape of JESD79-5 at
//! 4800 MT/s), and what is new: bursts of 16, eight bank groups, commands of two clocks, tPPD, tCCD_L_WR, the write preamble in
//! turning round, and refreshes of all banks or of the same bank in every group, beside which the other banks are served.
//!
//! Not modelled: what DDR4's channel does not have either; refresh management (RFM), self-refresh, on-die error correction's
//! read-modify-write of narrow devices (these are x8), commands of one clock more (2N).
//!
//! Cost: that of DDR4's channel, of two sets of banks for each rank instead of one.
//!
//! Sources: JESD79-5 (timing tables; refresh: normal and fine granularity, same-bank).

mod legality;
mod media;
pub mod params;
mod spec;
#[cfg(test)]
mod tests;

pub use legality::Legality;
pub(crate) use media::ChannelStats;
pub use media::Ddr5;
pub use spec::{DDR5_4800, Refresh, with};
