//! cWSP: regions whose stores leave at once, and controllers with a log that undoes them.
//!
//! ```text
//!   stores -> persist path --Flush(early)--> controller: log (undo, delay) -> WPQ
//!                 |    ^-------Ack, Nack-----------|
//!             regions ---Commit--> controllers --CommitAck--> committed
//! ```
//!
//! Modelled: regions that end after so many stores, at a fence or a release; stores that leave whatever is under way before them;
//! controllers that write them and remember what was there; a region that commits when all before it are durable, whose records
//! go then; a power failure that undoes what had not committed. A core waits at a dfence, and when its buffer is full.
//!
//! Where sources are silent: the compiler's regions (`ordering.region_stores`); the room for records, and what happens without
//! (`ordering.undo_log`; the flush is refused, and goes again when it is safe). Dependences between cores are those of the other
//! persist paths.
//!
//! Not modelled: the registers that a region's end saves, and the instructions for it; doing a region again from its beginning, which needs
//! no image but the one that is left; stores of less than a line on the path.
//!
//! Source: Zeng, Zhang and Jung, Compiler-Directed Whole-System Persistence, ISCA 2024.

mod explore;
mod params;
mod plug;

#[cfg(test)]
mod tests;

pub use explore::Cwsp;
pub use plug::MODEL;
