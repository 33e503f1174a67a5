//! The directory's data: lines with their bytes and holders, and one queue of requests for each busy line.

use super::spec::{DirectorySpec, Replacement};
use crate::least_from;
use crate::tags::Tags;
use protocol::{Block, EpochTag, Grant, Line, LineWrite};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use units::{Time, bits, mix};

/// A line's place.
pub(super) use crate::tags::Slot;

#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Request {
    Get {
        core: u8,
        modify: bool,
    },
    LineFlush {
        core: u8,
        invalidate: bool,
    },
    NonTemporal {
        core: u8,
        write: LineWrite,
    },
    /// The line has to leave so that another can come.
    Recall,
    /// A memory agent wants the line out of every cache.
    Surrender,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Waiting,
    /// A controller was asked for the bytes.
    Memory {
        controller: u16,
    },
    Snoops {
        left: u32,
    },
}

#[derive(Clone)]
struct Transaction {
    queue: VecDeque<Request>,
    phase: Phase,
    /// When memory was asked last.
    asked: Time,
}

/// Times decide about nothing.
impl Hash for Transaction {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Transaction { queue, phase, asked: _ } = self;
        (queue, phase).hash(into);
    }
}

/// In the arrays below zero means nothing, so that of a large cache that is hardly used lines' bytes cost nothing to make.
const NOTHING: u64 = 0;

/// What a place's rank is made of, the most first: a pinned line goes never, a line without private copies and without an epoch tag before
/// others, an older one before a younger.
const PINNED: u64 = 1 << 63;
const TAKEN: u64 = 1 << 62;
const TAGGED: u64 = 1 << 61;
const HAS_COPIES: u64 = 1 << 60;
const AGE: u64 = HAS_COPIES - 1;

/// What is known of a place's line besides its bytes: half a line of the host's, so that what a message asks is one miss.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Entry {
    sharers: u64,
    /// Epoch, and above it core plus one.
    tag: u64,
    pins: u16,
    /// Core plus one.
    owner: u8,
    /// Bytes written back may still wait in the controller's ingress queue: a flush of the clean line goes behind them.
    leaving: bool,
}

#[derive(Clone)]
pub(super) struct State {
    replacement: Replacement,
    /// Apart from the rest: a search looks at no more.
    lines: Tags,
    entries: Vec<Entry>,
    /// How much a place's line is worth keeping, apart as well: whoever looks for a place compares those of a set. No two lines' are the same.
    ranks: Vec<u64>,
    /// Apart as well: a power failure asks it of all.
    dirty: Vec<bool>,
    /// Flushed writes that are not durable yet, by line.
    flushed: FxHashMap<u64, u32>,
    /// Epoch tags of lines that had to leave: who asks for one of them next has to depend on its epoch all the same.
    departed: FxHashMap<u64, u64>,
    data: Vec<Block>,
    tick: u64,
    active: FxHashMap<u64, usize>,
    /// The line whose transaction was asked for last, and where that is: what a message does is about one line.
    last: Option<(Line, usize)>,
    transactions: Vec<Transaction>,
    unused: Vec<usize>,
    /// For a line under recall: the line that waits for its place.
    recall_for: FxHashMap<u64, Line>,
    /// Lines that found every place of their set taken.
    pub(super) stuck: Vec<Line>,
}

/// What decides about the future: of ages which line is older, of maps what is in them, and nothing of places that are
/// free.
impl Hash for State {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let State {
            replacement: _,
            lines,
            entries,
            ranks,
            dirty,
            flushed,
            departed,
            data,
            tick: _,
            active,
            last: _,
            transactions,
            unused: _,
            recall_for,
            stuck,
        } = self;
        for (slot, line) in (0..lines.count()).filter_map(|slot| Some((slot, lines.line(slot)?))) {
            let its = &entries[slot];
            let age = |slot: usize| ranks[slot] & AGE;
            let older = |s: &usize| lines.line(*s).is_some() && age(*s) < age(slot);
            let older = (0..lines.count()).filter(older).count();
            (slot, line, older, its.sharers, its.owner).hash(into);
            (dirty[slot], its.leaving, its.pins, its.tag, data[slot]).hash(into);
        }
        let mut flushed: Vec<_> = flushed.iter().collect();
        flushed.sort_unstable();
        let mut departed: Vec<_> = departed.iter().collect();
        departed.sort_unstable();
        let mut active: Vec<_> = active.iter().collect();
        active.sort_unstable();
        active.iter().for_each(|(line, at)| (line, &transactions[**at]).hash(into));
        let mut recall_for: Vec<_> = recall_for.iter().collect();
        recall_for.sort_unstable();
        (flushed, departed, recall_for, stuck).hash(into);
    }
}

impl State {
    pub(super) fn new(spec: &DirectorySpec) -> State {
        let lines = spec.shape.lines();
        State {
            replacement: spec.replacement,
            lines: Tags::new(spec.shape),
            entries: vec![Entry::default(); lines],
            ranks: vec![0; lines],
            dirty: vec![false; lines],
            flushed: FxHashMap::default(),
            departed: FxHashMap::default(),
            data: vec![[0; 64]; lines],
            tick: 0,
            active: FxHashMap::default(),
            last: None,
            transactions: Vec::new(),
            unused: Vec::new(),
            recall_for: FxHashMap::default(),
            stuck: Vec::new(),
        }
    }

    // Transactions.

    /// Queues a request; true when it is the only one and starts now.
    pub(super) fn enqueue(&mut self, line: Line, request: Request) -> bool {
        let State { active, transactions, unused, .. } = self;
        let mut starts = false;
        let index = *active.entry(line.0).or_insert_with(|| {
            starts = true;
            unused.pop().unwrap_or_else(|| {
                let queue = VecDeque::with_capacity(8);
                transactions.push(Transaction { queue, phase: Phase::Waiting, asked: Time::ZERO });
                transactions.len() - 1
            })
        });
        transactions[index].queue.push_back(request);
        self.last = Some((line, index));
        starts
    }

    /// Where a line's transaction is.
    #[inline]
    fn index(&self, line: Line) -> Option<usize> {
        match self.last {
            Some((last, index)) if last == line => Some(index),
            _ => self.active.get(&line.0).copied(),
        }
    }

    fn transaction(&mut self, line: Line) -> Option<&mut Transaction> {
        let index = self.index(line)?;
        self.last = Some((line, index));
        Some(&mut self.transactions[index])
    }

    /// The request of a line that is being served.
    #[inline]
    pub(super) fn current(&self, line: Line) -> Option<&Request> {
        self.transactions[self.index(line)?].queue.front()
    }

    pub(super) fn set_phase(&mut self, line: Line, phase: Phase) {
        if let Some(t) = self.transaction(line) {
            t.phase = phase;
        }
    }

    /// A controller is asked for the bytes of a line, at `now`.
    pub(super) fn ask_memory(&mut self, line: Line, controller: usize, now: Time) {
        if let Some(t) = self.transaction(line) {
            t.phase = Phase::Memory { controller: controller as u16 };
            t.asked = now;
        }
    }

    /// Whether a controller owes the bytes of a line.
    #[inline]
    pub(super) fn is_asked(&mut self, line: Line, controller: usize) -> bool {
        self.transaction(line).is_some_and(|t| t.phase == Phase::Memory { controller: controller as u16 })
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

    /// Drops the request at the head. Gives whether another follows, and the line that waits for this one's place if it was under recall.
    pub(super) fn finish(&mut self, line: Line) -> (bool, Option<Line>) {
        let Some(t) = self.transaction(line) else { return (false, None) };
        let was_recalled = matches!(t.queue.pop_front(), Some(Request::Recall));
        t.phase = Phase::Waiting;
        let follows = !t.queue.is_empty();
        if !follows {
            self.last = None;
            self.unused.extend(self.active.remove(&line.0));
        }
        let waiting = if was_recalled { self.recall_for.remove(&line.0) } else { None };
        (follows, waiting)
    }

    pub(super) fn is_active(&self, line: Line) -> bool {
        self.active.contains_key(&line.0)
    }

    /// Lines that are asked for, each with what it waits for and when memory was asked last, in order.
    pub(super) fn under_way(&self) -> Vec<(Line, Phase, Time)> {
        let of = |(line, at): (&u64, &usize)| {
            let Transaction { queue: _, phase, asked } = &self.transactions[*at];
            (Line(*line), *phase, *asked)
        };
        let mut all: Vec<_> = self.active.iter().map(of).collect();
        all.sort_unstable_by_key(|(line, ..)| *line);
        all
    }

    /// Lines of which a write has left that is not durable yet, in order.
    pub(super) fn not_durable(&self) -> Vec<Line> {
        let mut all: Vec<Line> = self.flushed.keys().copied().map(Line).collect();
        all.sort_unstable();
        all
    }

    // Lines.

    pub(super) fn find(&self, line: Line) -> Option<Slot> {
        self.lines.find(line)
    }

    pub(super) fn line(&self, slot: Slot) -> Option<Line> {
        self.lines.line(slot)
    }

    /// The place for a new line: free, or least recently used among those that are neither busy nor pinned;
    /// lines without private copies and without an epoch tag first.
    pub(super) fn victim(&self, line: Line) -> Option<Slot> {
        let set = self.lines.set(line);
        let (mut rank, mut way) = least_from(&self.ranks[set.clone()], 0);
        while rank < PINNED {
            let slot = set.start + way;
            // Few lines are busy: asking for the best one alone is cheaper than asking for all.
            if !self.line(slot).is_some_and(|old| self.is_active(old)) {
                return Some(slot);
            }
            (rank, way) = least_from(&self.ranks[set.clone()], rank + 1);
        }
        None
    }

    /// Something of which a place's rank is made has changed; its age has not.
    #[inline]
    fn rank_again(&mut self, slot: Slot) {
        let its = &self.entries[slot];
        let worth = |is: bool, bit: u64| if is { bit } else { 0 };
        let worth = worth(its.pins > 0, PINNED)
            | worth(self.line(slot).is_some(), TAKEN)
            | worth(its.tag != NOTHING, TAGGED)
            | worth(self.has_copies(slot), HAS_COPIES);
        self.ranks[slot] = worth | self.ranks[slot] & AGE;
    }

    pub(super) fn reserve(&mut self, slot: Slot, line: Line) {
        self.free(slot);
        self.lines.put(slot, line);
        if !self.departed.is_empty() {
            self.entries[slot].tag = self.departed.remove(&line.0).unwrap_or(NOTHING);
        }
        self.touch(slot);
    }

    /// A line leaves the cache for another one, and its epoch tag does not.
    pub(super) fn leave(&mut self, slot: Slot) {
        let Some(line) = self.line(slot) else { return };
        if self.entries[slot].tag != NOTHING {
            self.departed.insert(line.0, self.entries[slot].tag);
        }
        self.free(slot);
    }

    pub(super) fn free(&mut self, slot: Slot) {
        self.lines.clear(slot);
        self.dirty[slot] = false;
        self.entries[slot] = Entry::default();
        // An age stays, by which free places are chosen.
        self.ranks[slot] &= AGE;
    }

    pub(super) fn touch(&mut self, slot: Slot) {
        self.tick += 1;
        let age = match self.replacement {
            Replacement::Lru => self.tick,
            // The tick below keeps any two apart.
            Replacement::Random => (mix(self.tick) & 0xFFFF) << 40 | self.tick & ((1 << 40) - 1),
        };
        debug_assert!(age <= AGE);
        self.ranks[slot] = age;
        self.rank_again(slot);
    }

    pub(super) fn fill(&mut self, slot: Slot, data: &Block) {
        self.data[slot] = *data;
    }

    pub(super) fn take_data(&mut self, slot: Slot, data: &Block) {
        self.data[slot] = *data;
        self.dirty[slot] = true;
    }

    pub(super) fn data(&self, slot: Slot) -> &Block {
        &self.data[slot]
    }

    pub(super) fn is_dirty(&self, slot: Slot) -> bool {
        self.dirty[slot]
    }

    pub(super) fn set_clean(&mut self, slot: Slot) {
        self.dirty[slot] = false;
    }

    /// Whether some of a clean line's bytes are not durable yet, or may not be.
    pub(super) fn is_leaving(&self, slot: Slot, line: Line) -> bool {
        self.entries[slot].leaving || self.flushed.contains_key(&line.0)
    }

    pub(super) fn write_leaves(&mut self, line: Line) {
        *self.flushed.entry(line.0).or_default() += 1;
    }

    /// False where no write has left that is not durable yet.
    pub(super) fn write_is_durable(&mut self, line: Line) -> bool {
        let Some(left) = self.flushed.get_mut(&line.0) else { return false };
        *left -= 1;
        if *left == 0 {
            self.flushed.remove(&line.0);
        }
        true
    }

    pub(super) fn set_leaving(&mut self, slot: Slot, leaving: bool) {
        self.entries[slot].leaving = leaving;
    }

    pub(super) fn dirty_lines(&self) -> impl Iterator<Item = (Line, &Block)> {
        (0..self.lines.count())
            .filter(|s| self.dirty[*s])
            .filter_map(|s| Some((self.line(s)?, &self.data[s])))
    }

    // Holders.

    pub(super) fn owner(&self, slot: Slot) -> Option<u8> {
        self.entries[slot].owner.checked_sub(1)
    }

    /// The cores that have a copy, in order. Cost: a step for each of them, and none for others.
    pub(super) fn holders(&self, slot: Slot) -> impl Iterator<Item = u8> + use<> {
        let its = &self.entries[slot];
        let owner = its.owner.checked_sub(1).map_or(0, |core| 1_u64 << core);
        bits(its.sharers | owner).map(|core| core as u8)
    }

    pub(super) fn has_copies(&self, slot: Slot) -> bool {
        self.entries[slot].owner != 0 || self.entries[slot].sharers != 0
    }

    /// `core` answered a snoop and keeps a copy to read, or none.
    pub(super) fn answered(&mut self, slot: Slot, core: u8, keeps: bool) {
        if self.entries[slot].owner == core + 1 {
            self.entries[slot].owner = 0;
        }
        if keeps {
            self.entries[slot].sharers |= 1 << core;
        } else {
            self.entries[slot].sharers &= !(1 << core);
        }
        self.rank_again(slot);
    }

    /// Gives a line to a core, and says with which right.
    pub(super) fn grant(&mut self, slot: Slot, core: u8, modify: bool) -> Grant {
        let its = &mut self.entries[slot];
        let others = its.sharers & !(1 << core);
        let grant = if modify || others == 0 {
            (its.owner, its.sharers) = (core + 1, 0);
            if modify { Grant::Modified } else { Grant::Exclusive }
        } else {
            its.owner = 0;
            its.sharers |= 1 << core;
            Grant::Shared
        };
        self.rank_again(slot);
        grant
    }

    /// The owner evicts a line that it changed.
    pub(super) fn put(&mut self, line: Line, core: u8, data: &Block) {
        let Some(slot) = self.find(line) else {
            panic!("line {:#x}: an inclusive cache has every line that core {core} has", line.0);
        };
        self.take_data(slot, data);
        if self.entries[slot].owner == core + 1 {
            self.entries[slot].owner = 0;
            self.entries[slot].tag = NOTHING;
            self.rank_again(slot);
        }
    }

    // Epoch tags and pins.

    pub(super) fn tag(&self, slot: Slot) -> Option<EpochTag> {
        from_word(self.entries[slot].tag)
    }

    pub(super) fn set_tag(&mut self, slot: Slot, tag: Option<EpochTag>) {
        self.entries[slot].tag = tag.map_or(NOTHING, |t| u64::from(t.core + 1) << 32 | u64::from(t.epoch));
        self.rank_again(slot);
    }

    pub(super) fn untag(&mut self, line: Line, tag: EpochTag) {
        let Some(slot) = self.find(line) else {
            let committed = self.departed.get(&line.0).is_some_and(|word| from_word(*word) == Some(tag));
            if committed {
                self.departed.remove(&line.0);
            }
            return;
        };
        if self.tag(slot) == Some(tag) {
            self.entries[slot].tag = NOTHING;
            self.rank_again(slot);
        }
    }

    pub(super) fn pin(&mut self, slot: Slot) {
        self.entries[slot].pins += 1;
        self.rank_again(slot);
    }

    pub(super) fn is_pinned(&self, slot: Slot) -> bool {
        self.entries[slot].pins > 0
    }

    pub(super) fn unpin(&mut self, line: Line) {
        if let Some(slot) = self.find(line) {
            self.entries[slot].pins = self.entries[slot].pins.saturating_sub(1);
            self.rank_again(slot);
        }
    }
}

/// A tag that is kept in a word; none is nought.
fn from_word(tag: u64) -> Option<EpochTag> {
    let core = ((tag >> 32) as u8).checked_sub(1)?;
    Some(EpochTag { core, epoch: tag as u32 })
}
