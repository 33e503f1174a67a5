//! The epoch table: which epochs of this core are in flight, and what they wait for.

use protocol::{EpochId, EpochTag, WouldBlock};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// As many as an epoch names in a word of dependents.
const MOST_CORES: usize = u64::BITS as usize;

/// An epoch in flight.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub(crate) struct Epoch {
    pub(crate) id: EpochId,
    /// No more writes will join.
    pub(crate) closed: bool,
    /// It has written.
    pub(crate) wrote: bool,
    /// Writes whose acknowledgement is still to come.
    pub(crate) pending: u32,
    /// The epoch of another core that has to commit first.
    pub(crate) waits_on: Option<EpochTag>,
    /// Cores that wait for this epoch; bit `i` is core `i`.
    pub(crate) dependents: u64,
    /// Controllers that got early flushes.
    pub(crate) early: u64,
    /// Commit messages are out.
    pub(crate) committing: bool,
    /// Commit acknowledgements still to come.
    pub(crate) commits_left: u32,
}

impl Epoch {
    /// Everything that it wrote is acknowledged, and nothing before it on other cores is open.
    pub(crate) fn may_commit(&self) -> bool {
        self.closed && self.pending == 0 && self.waits_on.is_none()
    }
}

/// A bounded queue of epochs, oldest first; the last is the open one.
#[derive(Clone)]
pub(crate) struct Epochs {
    table: VecDeque<Epoch>,
    limit: usize,
    /// For each core: the last epoch known to have committed.
    resolved: [EpochId; MOST_CORES],
    pub(crate) closed_count: u64,
    /// Of these, those that waited for another core.
    pub(crate) dependence_count: u64,
    /// The open epoch has waited, or waits, for another core, or those before it that wrote nothing have.
    open_waits: bool,
}

/// What decides about the future, without counts.
impl Hash for Epochs {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Epochs { table, limit: _, resolved, closed_count: _, dependence_count: _, open_waits: _ } = self;
        table.hash(into);
        let known = resolved.iter().enumerate().filter(|(_, epoch)| **epoch > 0);
        known.for_each(|core| core.hash(into));
    }
}

impl Epochs {
    pub(crate) fn new(limit: usize) -> Epochs {
        let mut table = VecDeque::with_capacity(limit + 1);
        table.push_back(Epoch { id: 1, ..Epoch::default() });
        Epochs {
            table,
            limit,
            resolved: [0; MOST_CORES],
            closed_count: 0,
            dependence_count: 0,
            open_waits: false,
        }
    }

    /// The open epoch's number.
    pub(crate) fn open(&self) -> EpochId {
        self.last().id
    }

    fn last(&self) -> &Epoch {
        self.table.back().expect("one epoch is open")
    }

    fn last_mut(&mut self) -> &mut Epoch {
        self.table.back_mut().expect("one epoch is open")
    }

    /// Every epoch up to here has committed.
    pub(crate) fn committed(&self) -> EpochId {
        self.table.front().expect("one epoch is open").id - 1
    }

    /// Nothing written is in flight.
    pub(crate) fn is_drained(&self) -> bool {
        self.table.len() == 1 && !self.last().wrote
    }

    pub(crate) fn last_closed_in_flight(&self) -> EpochId {
        if self.table.len() > 1 { self.open() - 1 } else { 0 }
    }

    /// Closes the open epoch, unless nothing in it needs ordering.
    pub(crate) fn close(&mut self) -> Result<(), WouldBlock> {
        let open = self.last();
        if !open.wrote && open.waits_on.is_none() {
            return Ok(());
        }
        if self.table.len() >= self.limit {
            return Err(WouldBlock);
        }
        let (id, wrote) = (open.id + 1, open.wrote);
        self.closed_count += u64::from(wrote);
        self.dependence_count += u64::from(wrote && self.open_waits);
        self.open_waits &= !wrote;
        self.last_mut().closed = true;
        self.table.push_back(Epoch { id, ..Epoch::default() });
        Ok(())
    }

    /// What follows waits for `tag`.
    pub(crate) fn depend(&mut self, tag: EpochTag) -> Result<(), WouldBlock> {
        if self.is_resolved(tag) {
            return Ok(());
        }
        let open = self.last();
        let same_core = open.waits_on.is_some_and(|t| t.core == tag.core);
        if open.waits_on.is_some_and(|t| t.core == tag.core && t.epoch >= tag.epoch) {
            return Ok(());
        }
        // A core's epochs commit in order, so the younger of two tags of one core stands for both.
        if open.wrote || (open.waits_on.is_some() && !same_core) {
            self.close()?;
        }
        self.last_mut().waits_on = Some(tag);
        self.open_waits = true;
        Ok(())
    }

    pub(crate) fn is_resolved(&self, tag: EpochTag) -> bool {
        tag.epoch <= self.resolved[tag.core as usize]
    }

    /// Core `tag.core` has committed everything up to `tag.epoch`.
    pub(crate) fn resolve(&mut self, tag: EpochTag) {
        let known = &mut self.resolved[tag.core as usize];
        *known = (*known).max(tag.epoch);
        for epoch in &mut self.table {
            if epoch.waits_on.is_some_and(|t| t.core == tag.core && t.epoch <= tag.epoch) {
                epoch.waits_on = None;
            }
        }
    }

    /// A write joins the open epoch.
    pub(crate) fn write(&mut self, new_entry: bool) -> EpochId {
        let open = self.last_mut();
        open.wrote = true;
        open.pending += u32::from(new_entry);
        open.id
    }

    pub(crate) fn get_mut(&mut self, id: EpochId) -> Option<&mut Epoch> {
        let first = self.table.front()?.id;
        self.table.get_mut(id.checked_sub(first)? as usize)
    }

    pub(crate) fn oldest(&self) -> &Epoch {
        self.table.front().expect("one epoch is open")
    }

    /// The oldest epoch whose commit is not under way.
    pub(crate) fn oldest_uncommitting(&self) -> &Epoch {
        self.table.iter().find(|e| !e.committing).expect("the open epoch is not committing")
    }

    /// An epoch whose writes are all acknowledged and whose commit is not under way, whatever comes before it.
    pub(crate) fn complete(&self) -> Option<EpochId> {
        self.table.iter().find(|e| e.closed && e.pending == 0 && !e.committing).map(|e| e.id)
    }

    pub(crate) fn pop(&mut self) -> Option<Epoch> {
        debug_assert!(self.table.len() > 1, "the open epoch stays");
        self.table.pop_front()
    }

    /// Whether an epoch up to this one waits for another core.
    pub(crate) fn waits_by(&self, id: EpochId) -> bool {
        self.table.iter().take_while(|e| e.id <= id).any(|e| e.waits_on.is_some())
    }

    /// An epoch that waits for another core and keeps this one from committing or flushing.
    pub(crate) fn first_wait(&self) -> Option<EpochTag> {
        self.table.iter().find_map(|e| e.waits_on)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(core: u8, epoch: EpochId) -> EpochTag {
        EpochTag { core, epoch }
    }

    #[test]
    fn an_epoch_without_writes_is_not_closed() {
        let mut e = Epochs::new(4);
        e.close().unwrap();
        assert_eq!((e.open(), e.len()), (1, 1));
        e.write(true);
        e.close().unwrap();
        assert_eq!((e.open(), e.last_closed_in_flight()), (2, 1));
    }

    #[test]
    fn a_dependence_splits_an_epoch_that_has_written() {
        let mut e = Epochs::new(4);
        e.write(true);
        e.depend(tag(1, 7)).unwrap();
        assert_eq!(e.open(), 2);
        e.depend(tag(1, 5)).unwrap();
        e.depend(tag(1, 9)).unwrap();
        assert_eq!((e.open(), e.first_wait()), (2, Some(tag(1, 9))));
        e.depend(tag(2, 1)).unwrap();
        assert_eq!(e.open(), 3);
        e.resolve(tag(1, 9));
        assert_eq!(e.first_wait(), Some(tag(2, 1)));
        assert!(e.is_resolved(tag(1, 8)));
    }

    #[test]
    fn an_epoch_that_wrote_and_waited_counts_once_and_one_that_read_alone_does_not() {
        let mut e = Epochs::new(8);
        e.depend(tag(1, 5)).unwrap();
        e.depend(tag(1, 9)).unwrap();
        e.write(true);
        e.close().unwrap();
        assert_eq!((e.closed_count, e.dependence_count), (1, 1), "a younger epoch of the same core");
        e.depend(tag(2, 1)).unwrap();
        e.close().unwrap();
        assert_eq!((e.closed_count, e.dependence_count), (1, 1), "nothing written waits");
        e.depend(tag(2, 2)).unwrap();
        e.resolve(tag(2, 2));
        e.close().unwrap();
        e.write(true);
        e.close().unwrap();
        assert_eq!((e.closed_count, e.dependence_count), (2, 2), "it waited before it wrote");
    }

    #[test]
    fn a_full_table_refuses_and_changes_nothing() {
        let mut e = Epochs::new(2);
        e.write(true);
        e.close().unwrap();
        e.write(true);
        assert_eq!(e.close(), Err(WouldBlock));
        assert_eq!(e.depend(tag(1, 1)), Err(WouldBlock));
        assert_eq!((e.open(), e.first_wait()), (2, None));
    }
}
