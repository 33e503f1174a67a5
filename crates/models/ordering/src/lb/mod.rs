//! LB++: lazy persist barriers over the caches. A barrier begins an epoch and waits for nothing.
//!
//! ```text
//!   stores -> lines of epochs --Flush, the oldest complete epoch--> controller -> WPQ
//!                |      ^---------------------Ack---------------------|
//!             epoch table --CrossDependencyResolved--> dependent cores
//! ```
//!
//! Modelled: lines that belong to one epoch each; epochs that leave when they are complete and everything before them is
//! durable, one after the other over all controllers; a store to a line of an older epoch that waits until that line has gone;
//! lines that may not leave the caches before their epoch is durable; dependences between cores that are remembered instead of
//! waited for, and epochs that end where another core depends on them, so that no two wait for each other. Without
//! `ordering.proactive_flush` and `ordering.track_dependences` it is the lazy barrier that LB++ improves.
//!
//! Where sources are silent: how many lines a core's epochs may have (`ordering.unfinished_lines`; then the open epoch ends); a
//! dfence, which the paper has none of, waits for every epoch.
//!
//! Not modelled: tags in the shared cache, where lines of an older epoch may wait while a younger one has the line already: here
//! the older bytes wait beside the core; bulk mode, in which hardware draws the epochs of a program that has no barriers, and its log.
//!
//! Source: Joshi et al., Efficient Persist Barriers for Multicores, MICRO 2015; ASAP (HPCA 2022) Table IV and §VIII.

mod explore;
mod params;
mod plug;

pub use explore::Lb;
pub use plug::MODEL;
