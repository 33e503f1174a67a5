//! The persist queue and the strand buffers: which flush may go now.

use protocol::{EpochId, Line, WouldBlock};
use std::collections::VecDeque;

/// What the persist queue holds, in program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Item {
    Flush(Flush),
    Barrier,
    NewStrand,
}

/// A flush instruction on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Flush {
    /// Its place in program order, from 1 on.
    sequence: EpochId,
    line: Line,
    /// The caches have been asked.
    sent: bool,
    arrived: bool,
}

/// What stands in a strand buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Slot {
    Flush(Flush),
    Barrier,
}

/// The persist queue and the strand buffers of one core.
#[derive(Clone, Hash)]
pub(super) struct Unit {
    queue: VecDeque<Item>,
    queue_limit: usize,
    buffers: Vec<VecDeque<Slot>>,
    buffer_limit: usize,
    /// The buffer that the present strand is in.
    strand: usize,
    /// The last flush taken in, and the last one before the last barrier, new strand or join.
    pub(super) last: EpochId,
    pub(super) ordered: EpochId,
    /// Flushes that have not arrived, oldest first.
    left: VecDeque<EpochId>,
    pub(super) ignores_barriers: bool,
}

impl Unit {
    pub(super) fn new(queue: usize, buffers: usize, entries: usize) -> Unit {
        Unit {
            queue: VecDeque::with_capacity(queue),
            queue_limit: queue,
            buffers: vec![VecDeque::with_capacity(entries); buffers],
            buffer_limit: entries,
            strand: 0,
            last: 0,
            ordered: 0,
            left: VecDeque::new(),
            ignores_barriers: false,
        }
    }

    fn push(&mut self, item: Item) -> Result<(), WouldBlock> {
        if self.queue.len() == self.queue_limit {
            return Err(WouldBlock);
        }
        self.queue.push_back(item);
        self.settle();
        Ok(())
    }

    /// Takes a flush in; one of the same line with no barrier since, and not sent yet, serves for both: then false.
    pub(super) fn flush(&mut self, line: Line) -> Result<bool, WouldBlock> {
        if self.waiting().any(|f| f.line == line && f.sequence > self.ordered) {
            return Ok(false);
        }
        self.push(Item::Flush(Flush { sequence: self.last + 1, line, sent: false, arrived: false }))?;
        self.last += 1;
        self.left.push_back(self.last);
        Ok(true)
    }

    pub(super) fn barrier(&mut self) -> Result<(), WouldBlock> {
        self.push(Item::Barrier)?;
        self.ordered = self.last;
        Ok(())
    }

    pub(super) fn new_strand(&mut self) -> Result<(), WouldBlock> {
        self.push(Item::NewStrand)?;
        self.ordered = self.last;
        Ok(())
    }

    /// Moves what fits from the queue into the buffers, and forgets what is done.
    fn settle(&mut self) {
        for buffer in &mut self.buffers {
            let is_done = |s: &Slot| match s {
                Slot::Flush(f) => f.arrived,
                Slot::Barrier => true,
            };
            while buffer.front().is_some_and(is_done) {
                buffer.pop_front();
            }
        }
        while let Some(item) = self.queue.front().copied() {
            let buffer = &mut self.buffers[self.strand];
            match item {
                Item::NewStrand => self.strand = (self.strand + 1) % self.buffers.len(),
                // A barrier orders nothing where nothing, or another one, is before it.
                Item::Barrier if matches!(buffer.back(), None | Some(Slot::Barrier)) => {}
                Item::Flush(_) | Item::Barrier if buffer.len() == self.buffer_limit => break,
                Item::Flush(flush) => buffer.push_back(Slot::Flush(flush)),
                Item::Barrier => buffer.push_back(Slot::Barrier),
            }
            self.queue.pop_front();
        }
    }

    /// Flushes whose line has not been asked for.
    fn waiting(&self) -> impl Iterator<Item = &Flush> {
        let queued = self.queue.iter().filter_map(|item| match item {
            Item::Flush(f) => Some(f),
            Item::Barrier | Item::NewStrand => None,
        });
        let buffered = self.buffers.iter().flatten().filter_map(|slot| match slot {
            Slot::Flush(f) if !f.sent => Some(f),
            Slot::Flush(_) | Slot::Barrier => None,
        });
        buffered.chain(queued)
    }

    /// Whether a flush of `line` has still to be sent.
    pub(super) fn awaits(&self, line: Line) -> bool {
        !self.left.is_empty() && self.waiting().any(|f| f.line == line)
    }

    /// Whether one has, and what is stored now comes after something that it does not come after.
    pub(super) fn awaits_behind(&self, line: Line) -> bool {
        !self.left.is_empty() && self.waiting().any(|f| f.line == line && f.sequence <= self.ordered)
    }

    /// The oldest flush that nothing in its buffer stands before.
    pub(super) fn sendable(&self) -> Option<(EpochId, Line)> {
        let free = self.buffers.iter().filter_map(|buffer| {
            let unbarred = buffer.iter().take_while(|s| **s != Slot::Barrier || self.ignores_barriers);
            unbarred.into_iter().find_map(|slot| match slot {
                Slot::Flush(f) if !f.sent => Some((f.sequence, f.line)),
                Slot::Flush(_) | Slot::Barrier => None,
            })
        });
        free.min_by_key(|(sequence, _)| *sequence)
    }

    fn flushes(&mut self) -> impl Iterator<Item = &mut Flush> {
        self.buffers.iter_mut().flatten().filter_map(|slot| match slot {
            Slot::Flush(f) => Some(f),
            Slot::Barrier => None,
        })
    }

    pub(super) fn sent(&mut self, sequence: EpochId) {
        self.flushes().filter(|f| f.sequence == sequence).for_each(|f| f.sent = true);
    }

    /// The oldest flush of `line` under way has arrived.
    pub(super) fn arrived(&mut self, line: Line) {
        let under_way = self.flushes().filter(|f| f.line == line && f.sent && !f.arrived);
        let Some(flush) = under_way.min_by_key(|f| f.sequence) else { return };
        flush.arrived = true;
        let sequence = flush.sequence;
        self.left.retain(|s| *s != sequence);
        self.settle();
    }

    /// Every flush up to here has arrived.
    pub(super) fn durable(&self) -> EpochId {
        self.left.front().map_or(self.last, |oldest| oldest - 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Flushes on their way.
    pub(super) fn level(&self) -> usize {
        self.left.len()
    }
}
