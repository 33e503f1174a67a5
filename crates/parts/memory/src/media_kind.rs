//! Media that a memory can stand on without knowing them.

use crate::Media;
use params::StatisticInfo;
use protocol::{Param, Settings};

/// Media with parameters of their own, which other kinds of memory than theirs may stand on: who puts a machine's parts together
/// tells a kind which there are.
pub trait MediaKind: Sync {
    /// The word by which they are asked for.
    fn name(&self) -> &'static str;

    /// The tables that act where a memory stands on them.
    fn tables(&self) -> &'static [&'static [Param]];

    /// What is reported of them besides what their controller counts.
    fn statistics(&self) -> &'static [&'static [StatisticInfo]];

    /// The media behind one controller, with nothing in their buffers.
    fn media(&self, s: &Settings) -> Box<dyn Media>;
}
