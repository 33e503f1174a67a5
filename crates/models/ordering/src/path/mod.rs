//! What persist paths share: the buffer, the epochs, and how dependences arise.

mod awaited;
mod buffer;
mod by_line;
mod core;
mod direct;
mod epochs;
mod pace;
mod params;
mod regions;
mod settings;
mod stats;

pub(crate) use awaited::Awaited;
pub(crate) use buffer::PersistBuffer;
pub use core::{Asked, HandOver, Path, PathCore, Policy};
pub(crate) use direct::Direct;
pub(crate) use epochs::{Epoch, Epochs};
pub(crate) use pace::{Blocked, Pace};
pub(crate) use params::{
    BufferParameters, DependenceParameters, EpochParameters, PaceParameters, RegisterParameters,
};
pub(crate) use regions::{RegionParameters, Regions};
pub(crate) use settings::{BUFFERED, CAPABILITIES, path_spec, path_spec_of, persistency};
pub(crate) use stats::{
    ALONE, BlockedShare, BufferStats, DEPENDING, DependenceStats, DropStats, EPOCHS, EpochStats, FlushStats,
    StallShare,
};

use crate::spec::{CrossCore, Dependences, PathSpec};
use protocol::{EpochId, EpochTag, Line, Msg, Outbox, Peer, WouldBlock};
use std::hash::{Hash, Hasher};
use units::Time;

/// Epoch table and dependence tracking of one core.
#[derive(Clone)]
pub(crate) struct Tracker {
    spec: PathSpec,
    pub(crate) epochs: Epochs,
    /// Lines received whose epoch tag has not been acquired: release persistency waits for the acquire.
    inherited: Vec<(Line, EpochTag)>,
    /// Lines whose tag was handed out; the directory is told when the epoch commits.
    exported: Vec<(Line, EpochId)>,
}

impl Hash for Tracker {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Tracker { spec: _, epochs, inherited, exported } = self;
        (epochs, inherited, exported).hash(into);
    }
}

impl Tracker {
    pub(crate) fn new(spec: PathSpec) -> Tracker {
        let epochs = Epochs::new(spec.epoch_table);
        Tracker { spec, epochs, inherited: Vec::with_capacity(32), exported: Vec::with_capacity(64) }
    }

    /// Closes the open epoch for a release, and gives the epoch that the release publishes: the last one that
    /// anything written or acquired before belongs to, 0 when all of it has committed.
    pub(crate) fn release(&mut self) -> Result<EpochId, WouldBlock> {
        self.epochs.close()?;
        Ok(self.epochs.last_closed_in_flight())
    }

    pub(crate) fn received(&mut self, line: Line, tag: EpochTag, modify: bool) -> Result<(), WouldBlock> {
        if self.epochs.is_resolved(tag) {
            return Ok(());
        }
        let counts = modify || self.spec.dependences == Dependences::Accesses;
        if self.spec.cross_core == CrossCore::Conflicts && counts {
            return self.epochs.depend(tag);
        }
        let epochs = &self.epochs;
        self.inherited.retain(|(l, t)| *l != line && !epochs.is_resolved(*t));
        self.inherited.push((line, tag));
        Ok(())
    }

    /// Whether a value of `line` came with an epoch of another core, which the open one depends on then.
    pub(crate) fn acquire(&mut self, line: Line) -> Result<bool, WouldBlock> {
        let Some(index) = self.inherited.iter().position(|(l, _)| *l == line) else { return Ok(false) };
        self.epochs.depend(self.inherited[index].1)?;
        self.inherited.swap_remove(index);
        Ok(true)
    }

    /// Whether a dependence that came with a load counts when the line is written, and not before.
    #[inline]
    pub(crate) fn counts_at_stores(&self) -> bool {
        self.spec.dependences == Dependences::Stores && self.spec.cross_core == CrossCore::Conflicts
    }

    /// Another core takes a line that this one wrote or released. By the text (ASAP §IV-E) the reply carries the epoch
    /// that is open, however old the write is, and a new one begins; where nothing is in flight there is nothing to wait for.
    pub(crate) fn snooped(
        &mut self,
        line: Line,
        written: EpochId,
        released: EpochId,
    ) -> Result<Option<EpochTag>, WouldBlock> {
        let touched = match self.spec.cross_core {
            CrossCore::Conflicts => written.max(released),
            CrossCore::Acquires => released,
        };
        let epoch = if touched == 0 { 0 } else { self.release()? };
        if epoch == 0 {
            let foreign = self.inherited.iter().find(|(l, _)| *l == line).map(|(_, tag)| *tag);
            return Ok(foreign.filter(|tag| !self.epochs.is_resolved(*tag)));
        }
        self.exported.push((line, epoch));
        Ok(Some(EpochTag { core: self.spec.core, epoch }))
    }

    /// Epochs up to `epoch` have committed: tells the directory to forget their tags.
    pub(crate) fn untag(&mut self, now: Time, epoch: EpochId, out: &mut Outbox) {
        self.exported.retain(|(line, e)| {
            if *e <= epoch {
                out.send(now, Peer::Directory, Msg::Untag { line: *line, epoch: *e });
            }
            *e > epoch
        });
    }
}
