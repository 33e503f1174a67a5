//! Parameters of epochs in caches.

use crate::hardware::{Around, Structure, epochs_of};
use crate::path::path_spec_of;
use crate::spec::PathSpec;
use explore::Bound;
use params::Parameters;
use protocol::{AddressMap, Settings};

/// How much may wait in them.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub(crate) struct LineParameters {
    /// lines of a core's caches that unfinished epochs may have; then the open one ends, and the oldest goes
    #[param(
        default = "128",
        source = "open 32..512: tags stand in the caches, so the lines of unfinished epochs are bounded by these; here by a list",
        min = 1,
        max = 1024
    )]
    pub(crate) unfinished_lines: usize,
}

/// The same of an exploration, where nobody says otherwise as small as it shows anything.
pub(crate) const fn unfinished(default: u64) -> Bound {
    Bound::number("unfinished-lines", default, 1, 64, "Lines of a core that unfinished epochs may have")
}

fn lines(settings: &Settings) -> usize {
    LineParameters::from_settings(settings).unfinished_lines
}

/// The path whose writes wait in lines of the caches.
pub(crate) fn lines_spec(settings: &Settings, core: u8, map: AddressMap) -> PathSpec {
    path_spec_of(lines(settings), settings, core, map)
}

/// The epochs of a core, whose writes wait there.
pub(crate) fn epochs_of_lines(settings: &Settings, around: &Around) -> Structure {
    epochs_of(lines(settings) as u64, settings, around, false)
}
