//! Threads of a trace that has all their accesses in one order.

use crate::error::TraceError;
use crate::record::{Kind, Record};
use rustc_hash::FxHashMap;

/// Numbers threads by their first access. Where another thread's turn began, the next load or store is an acquire or a
/// release and has a place in the order of all, so that turns stay in their order.
#[derive(Default)]
pub(super) struct Turns {
    numbers: FxHashMap<u64, u16>,
    /// Who did the last access that has a place.
    last: u16,
    place: u32,
}

impl Turns {
    /// The number of a thread.
    pub(super) fn number(&mut self, who: u64) -> Result<u16, TraceError> {
        let next = self.numbers.len();
        if let Some(number) = self.numbers.get(&who) {
            return Ok(*number);
        }
        let number = u16::try_from(next).map_err(|_| TraceError::unfit("it has more than 65,536 threads"))?;
        self.numbers.insert(who, number);
        Ok(number)
    }

    /// A load or store at its place.
    pub(super) fn placed(&mut self, record: Record) -> Record {
        if record.thread == self.last {
            return record;
        }
        self.last = record.thread;
        self.place = self.place.saturating_add(1);
        let kind = if record.kind.is_load() { Kind::LoadAcquire } else { Kind::StoreRelease };
        Record { kind, stamp: self.place, ..record }
    }
}

/// The kind without its order.
pub(super) fn plain(kind: Kind) -> Kind {
    if kind.is_load() { Kind::Load } else { Kind::Store }
}
