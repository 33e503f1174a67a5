//! How changes are made crash consistent; [`super`] has the table.

use params::Words;
use protocol::{LOG_BYTES, Settings};

/// The word of programs that have a way of their own besides: without that, they log.
pub(crate) const AUTO: &str = "auto";

/// How a change is made crash consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub(crate) enum Mechanism {
    Logging,
    Redo,
    UndoRedo,
    Checkpoint,
    Shadow,
}

impl Mechanism {
    pub(crate) fn of(settings: &Settings) -> Mechanism {
        if settings.text("workload.mechanism") == AUTO {
            return Mechanism::Logging;
        }
        settings.read("workload.mechanism")
    }

    /// Where a redo log begins in a thread's part of a device: behind the undo log, where there are both.
    pub(super) fn redo_start(self) -> u64 {
        if self == Mechanism::UndoRedo { LOG_BYTES / 2 } else { 0 }
    }

    /// Bytes that the undo log may take there.
    pub(super) fn undo_bytes(self) -> u64 {
        if self == Mechanism::UndoRedo { LOG_BYTES / 2 } else { LOG_BYTES }
    }
}
