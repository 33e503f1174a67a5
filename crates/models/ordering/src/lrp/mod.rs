//! LRP: lazy release persistency. Nothing is written back before somebody has to know that it is durable.
//!
//! ```text
//!   stores -> lines of epochs --Flush, when a release is wanted--> controller -> WPQ
//!                ^      ^---------------------Ack-------------------|
//!                |-- another core asks for a released line: it waits
//! ```
//!
//! Modelled: one-sided releases: a released line leaves when all that its core stored before the release is durable, and every
//! other line whenever it is wanted, with what was stored to it since, be that before a release or after; lines with the number of
//! their epoch, which ends at a release, and stay in the caches until another core asks for a line that was released after them,
//! until a line of theirs has to leave, until a release or a store after a fence goes to one of them, or until a dfence; the
//! request for a released line that waits until what came before the release, and the release, are durable. So no core ever
//! depends on what another has still to write, and nobody is told of anything. Under epoch persistency
//! (`ordering.persistency = "epoch"`) epochs are ordered both ways.
//!
//! Where sources are silent: how many lines a core's epochs may have (`ordering.unfinished_lines`; then the oldest goes), and what
//! the barriers of programs for other persist paths mean: an ofence or a dfence orders both ways.
//!
//! Not modelled: that a line which was not released, and has to leave the caches, leaves alone: here what its core stored before
//! goes with it.
//!
//! Source: Dananjaya et al., Lazy Release Persistency, ASPLOS 2020; ASAP (HPCA 2022) Table IV and §VIII.

mod explore;
mod plug;

pub use explore::Lrp;
pub use plug::MODEL;

use crate::in_caches::Rules;

/// Nothing goes on its own, and lines stay until they are durable.
pub const RULES: Rules = Rules { proactive: false, tracks: false, one_sided: true };
