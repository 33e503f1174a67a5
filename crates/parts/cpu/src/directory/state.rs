//! The directory's data: lines with their bytes and holders, and one queue of requests for each busy line.

use super::spec::DirectorySpec;
use crate::CacheShape;
use protocol::{Block, EpochTag, Grant, Line, LineWrite};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A line's place.
pub(super) type Slot = usize;

#[derive(Clone, Copy, Debug)]
pub(super) enum Request {
    Get {
        hart: u8,
        modify: bool,
    },
    Clean {
        hart: u8,
        data: Option<Block>,
        forget: bool,
    },
    NonTemporal {
        hart: u8,
        write: LineWrite,
    },
    /// The line has to leave so that another can come.
    Recall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Memory,
    Snoops { left: u32 },
}

struct Transaction {
    queue: VecDeque<Request>,
    phase: Phase,
}

const NOBODY: u64 = u64::MAX;
const NO_OWNER: u8 = u8::MAX;

#[derive(Clone, Copy)]
struct Meta {
    line: u64,
    sharers: u64,
    age: u64,
    tag: Option<EpochTag>,
    pins: u16,
    owner: u8,
    dirty: bool,
}

const FREE: Meta =
    Meta { line: NOBODY, sharers: 0, age: 0, tag: None, pins: 0, owner: NO_OWNER, dirty: false };

pub(super) struct State {
    shape: CacheShape,
    meta: Vec<Meta>,
    data: Vec<Block>,
    tick: u64,
    active: FxHashMap<u64, usize>,
    transactions: Vec<Transaction>,
    unused: Vec<usize>,
    /// For a line under recall: the line that waits for its place.
    recall_for: FxHashMap<u64, Line>,
    /// Lines that found every place of their set taken.
    pub(super) stuck: Vec<Line>,
}

impl State {
    pub(super) fn new(spec: &DirectorySpec) -> State {
        let lines = spec.shape.lines();
        State {
            shape: spec.shape,
            meta: vec![FREE; lines],
            data: vec![[0; 64]; lines],
            tick: 0,
            active: FxHashMap::default(),
            transactions: Vec::new(),
            unused: Vec::new(),
            recall_for: FxHashMap::default(),
            stuck: Vec::new(),
        }
    }

    // Transactions.

    /// Queues a request; true when it is the only one and starts now.
    pub(super) fn enqueue(&mut self, line: Line, request: Request) -> bool {
        if let Some(index) = self.active.get(&line.0) {
            self.transactions[*index].queue.push_back(request);
            return false;
        }
        let index = self.unused.pop().unwrap_or_else(|| {
            let queue = VecDeque::with_capacity(8);
            self.transactions.push(Transaction { queue, phase: Phase::Waiting });
            self.transactions.len() - 1
        });
        self.transactions[index].queue.push_back(request);
        self.active.insert(line.0, index);
        true
    }

    fn transaction(&mut self, line: Line) -> Option<&mut Transaction> {
        let index = *self.active.get(&line.0)?;
        Some(&mut self.transactions[index])
    }

    pub(super) fn current(&self, line: Line) -> Option<Request> {
        let index = *self.active.get(&line.0)?;
        self.transactions[index].queue.front().copied()
    }

    pub(super) fn set_phase(&mut self, line: Line, phase: Phase) {
        if let Some(t) = self.transaction(line) {
            t.phase = phase;
        }
    }

    /// One more snoop is answered; true when it was the last.
    pub(super) fn one_snoop_less(&mut self, line: Line) -> bool {
        let Some(t) = self.transaction(line) else { return false };
        let Phase::Snoops { left } = t.phase else { return false };
        t.phase = if left == 1 { Phase::Waiting } else { Phase::Snoops { left: left - 1 } };
        left == 1
    }

    pub(super) fn wait_for_recall(&mut self, old: Line, waiting: Line) {
        debug_assert!(!self.is_active(old));
        self.recall_for.insert(old.0, waiting);
    }

    pub(super) fn recalled_for(&mut self, line: Line) -> Option<Line> {
        if !matches!(self.current(line), Some(Request::Recall)) {
            return None;
        }
        self.recall_for.remove(&line.0)
    }

    /// Drops the request at the head; true when another follows.
    pub(super) fn finish(&mut self, line: Line) -> bool {
        let Some(t) = self.transaction(line) else { return false };
        t.queue.pop_front();
        t.phase = Phase::Waiting;
        if !t.queue.is_empty() {
            return true;
        }
        if let Some(index) = self.active.remove(&line.0) {
            self.unused.push(index);
        }
        false
    }

    pub(super) fn is_active(&self, line: Line) -> bool {
        self.active.contains_key(&line.0)
    }

    pub(super) fn active(&self) -> usize {
        self.active.len()
    }

    // Lines.

    fn set(&self, line: Line) -> core::ops::Range<Slot> {
        let first = self.shape.set_of(line) * self.shape.ways;
        first..first + self.shape.ways
    }

    pub(super) fn find(&self, line: Line) -> Option<Slot> {
        self.set(line).find(|slot| self.meta[*slot].line == line.0)
    }

    pub(super) fn line(&self, slot: Slot) -> Option<Line> {
        (self.meta[slot].line != NOBODY).then_some(Line(self.meta[slot].line))
    }

    /// The place for a new line: free, or least recently used among those that are neither busy nor pinned;
    /// lines without private copies and without an epoch tag first.
    pub(super) fn victim(&self, line: Line) -> Option<Slot> {
        let usable = |slot: &Slot| match self.line(*slot) {
            None => true,
            Some(old) => self.meta[*slot].pins == 0 && !self.is_active(old),
        };
        self.set(line).filter(usable).min_by_key(|slot| {
            let m = &self.meta[*slot];
            (m.line != NOBODY, m.tag.is_some(), self.has_copies(*slot), m.age)
        })
    }

    pub(super) fn reserve(&mut self, slot: Slot, line: Line) {
        self.meta[slot] = Meta { line: line.0, ..FREE };
        self.touch(slot);
    }

    pub(super) fn free(&mut self, slot: Slot) {
        self.meta[slot] = FREE;
    }

    pub(super) fn touch(&mut self, slot: Slot) {
        self.tick += 1;
        self.meta[slot].age = self.tick;
    }

    pub(super) fn fill(&mut self, slot: Slot, data: &Block) {
        self.data[slot] = *data;
    }

    pub(super) fn take_data(&mut self, slot: Slot, data: &Block) {
        self.data[slot] = *data;
        self.meta[slot].dirty = true;
    }

    pub(super) fn data(&self, slot: Slot) -> &Block {
        &self.data[slot]
    }

    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.meta[slot].dirty
    }

    pub(super) fn set_clean(&mut self, slot: Slot) {
        self.meta[slot].dirty = false;
    }

    pub(super) fn dirty_lines(&self) -> impl Iterator<Item = (Line, &Block)> {
        let meta = self.meta.iter().zip(&self.data);
        meta.filter(|(m, _)| m.line != NOBODY && m.dirty).map(|(m, data)| (Line(m.line), data))
    }

    // Holders.

    pub(super) fn owner(&self, slot: Slot) -> Option<u8> {
        (self.meta[slot].owner != NO_OWNER).then_some(self.meta[slot].owner)
    }

    pub(super) fn has_copy(&self, slot: Slot, hart: u8) -> bool {
        self.meta[slot].owner == hart || self.meta[slot].sharers >> hart & 1 == 1
    }

    pub(super) fn has_copies(&self, slot: Slot) -> bool {
        self.meta[slot].owner != NO_OWNER || self.meta[slot].sharers != 0
    }

    /// `hart` answered a snoop and keeps a copy to read, or none.
    pub(super) fn answered(&mut self, slot: Slot, hart: u8, keeps: bool) {
        let m = &mut self.meta[slot];
        if m.owner == hart {
            m.owner = NO_OWNER;
        }
        if keeps {
            m.sharers |= 1 << hart;
        } else {
            m.sharers &= !(1 << hart);
        }
    }

    /// Gives a line to a hart, and says with which right.
    pub(super) fn grant(&mut self, slot: Slot, hart: u8, modify: bool) -> Grant {
        let m = &mut self.meta[slot];
        let others = m.sharers & !(1 << hart);
        if modify || others == 0 {
            m.owner = hart;
            m.sharers = 0;
            return if modify { Grant::Modified } else { Grant::Exclusive };
        }
        m.owner = NO_OWNER;
        m.sharers |= 1 << hart;
        Grant::Shared
    }

    /// The owner evicts a line that it changed.
    pub(super) fn put(&mut self, line: Line, hart: u8, data: &Block) {
        let Some(slot) = self.find(line) else {
            debug_assert!(false, "an inclusive cache has every line that a hart has");
            return;
        };
        self.take_data(slot, data);
        let m = &mut self.meta[slot];
        if m.owner == hart {
            m.owner = NO_OWNER;
            m.tag = None;
        }
    }

    // Epoch tags and pins.

    pub(super) fn tag(&self, slot: Slot) -> Option<EpochTag> {
        self.meta[slot].tag
    }

    pub(super) fn set_tag(&mut self, slot: Slot, tag: Option<EpochTag>) {
        self.meta[slot].tag = tag;
    }

    pub(super) fn untag(&mut self, line: Line, tag: EpochTag) {
        if let Some(slot) = self.find(line)
            && self.meta[slot].tag == Some(tag)
        {
            self.meta[slot].tag = None;
        }
    }

    pub(super) fn pin(&mut self, slot: Slot) {
        self.meta[slot].pins += 1;
    }

    pub(super) fn is_pinned(&self, slot: Slot) -> bool {
        self.meta[slot].pins > 0
    }

    pub(super) fn unpin(&mut self, line: Line) {
        if let Some(slot) = self.find(line) {
            self.meta[slot].pins = self.meta[slot].pins.saturating_sub(1);
        }
    }
}
