//! LRP: lazy release persistency. Nothing is written back before somebody has to know that it is durable.
//!
//! ```text
//!   stores -> lines of epochs --Flush, when a release is wanted--> controller -> WPQ
//!                ^      ^---------------------Ack-------------------|
//!                |-- another core asks for a released line: it waits
//! ```
//!
//! Modelled: lines with the number of their epoch; epochs that stay in the caches until another core asks for a line that was
//! released after them, until a line of theirs has to leave, until a later epoch stores to one of their lines, or until a dfence;
//! the request for a released line that waits until what came before the release, and the release, are durable. So no core ever
//! depends on what another has still to write, and nobody is told of anything.
//!
//! Where sources are silent: how many lines a core's epochs may have (`ordering.unfinished_lines`; then the oldest goes). Programs
//! with barriers get them as they mean them: an ofence orders both ways.
//!
//! Not modelled: that a release orders what came before it alone. Here what a core stores after a release comes after it, as programs
//! for the other persist paths expect; the original may write such a line back together with what came before the release.
//!
//! Source: Dananjaya et al., Lazy Release Persistency, ASPLOS 2020; ASAP (HPCA 2022) Table IV and §VIII.

mod explore;
mod plug;

pub use explore::Lrp;
pub use plug::MODEL;

use crate::in_caches::Rules;

/// Nothing goes on its own, and lines stay until they are durable.
pub const RULES: Rules = Rules { proactive: false, tracks: false };
