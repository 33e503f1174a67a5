//! Reads a recording ahead of the machine, in an order of its own, and says of every record what the machine does not
//! know: where it lies, whose turn it is, and what it needs. Nothing here depends on simulated time, so that both
//! engines replay the same.

use super::merge::Merge;
use super::pending::Pending;
use super::pointers::Pointers;
use super::survey::Survey;
use super::tails::{Tails, Zeros};
use super::{FileSync, Options};
use crate::record::{Call, Kind, Record, Syncs};
use crate::recording::Recording;
use crate::space::{Layout, Space, file_of};
use protocol::{DRAM_BASE, PAGE_BYTES};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Records that are read ahead for the thread that asks.
const AHEAD: usize = 256;

/// The record of a load that nobody remembers.
pub(super) const FORGOTTEN: u8 = u8::MAX;

/// No word shows a turn.
pub(super) const NO_WORD: u64 = 0;

/// A record with what its replay takes.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// With its address in simulated memory.
    pub(super) record: Record,
    /// The word that shows the turns of what is synchronised on, or of the lock.
    pub(super) word: u64,
    /// Operations that came before it there; for a lock that a wait gives back, how often it was unlocked before.
    pub(super) turn: u64,
    /// The loads that its address comes from, a bit for each number.
    pub(super) needs: u16,
    /// The number under which the load is remembered.
    pub(super) number: u8,
    /// Lines that a call makes durable, or that become zero before it.
    pub(super) lines: Box<[u64]>,
    /// Records of the thread that are done with it.
    pub(super) passed: u64,
}

/// A lock of the program.
struct Lock {
    word: u64,
    unlocks: u64,
}

/// The reader.
pub(super) struct Scout {
    merge: Merge,
    ready: Vec<VecDeque<Step>>,
    /// Records read of each thread.
    passed: Vec<u64>,
    /// Of each thread, whether its next record is a wait for another's end that it has been given already.
    joins: Vec<bool>,
    /// Whether a thread's steps are wanted.
    wanted: Vec<bool>,
    /// Steps that are kept.
    pub(super) kept_steps: usize,
    space: Space,
    layout: Layout,
    places: Places,
    pointers: Pointers,
    pending: Pending,
    tails: Tails,
    turns: FxHashMap<u64, (u64, u64)>,
    /// Of words that accesses keep their places on: what shows how many stores there were, and the number of them; and what
    /// each thread has seen last.
    kept: FxHashMap<u64, (u64, u64)>,
    kept_last: Vec<(u64, u64)>,
    locks: FxHashMap<u64, Lock>,
    /// The word that shows how many bounds of the region of interest were met, where several threads tell of them.
    bounds: Option<u64>,
    /// For each thread, the unlocking that was its last record: of what, and where in the program.
    unlocked: Vec<Option<(u64, u32)>>,
    simulated: bool,
    sync: FileSync,
}

impl Scout {
    pub(super) fn new(recording: &Recording, survey: &Survey, options: &Options, places: Places) -> Scout {
        let threads = recording.threads();
        Scout {
            merge: Merge::new(recording),
            ready: vec![VecDeque::new(); threads],
            passed: vec![0; threads],
            joins: vec![false; threads],
            wanted: vec![true; threads],
            kept_steps: 0,
            space: Space::new(),
            layout: survey.layout.clone(),
            places,
            pointers: Pointers::new(threads, options.pointer_reach),
            pending: Pending::default(),
            tails: Tails::new(recording.about()),
            turns: FxHashMap::default(),
            kept: FxHashMap::default(),
            kept_last: vec![(NO_WORD, 0); threads],
            locks: FxHashMap::default(),
            bounds: None,
            unlocked: vec![None; threads],
            simulated: options.simulated,
            sync: options.sync,
        }
    }

    /// The next steps of a thread, empty when it has ended; none where more than `most` steps of others would have to be kept.
    pub(super) fn take(&mut self, thread: usize, most: usize) -> Option<VecDeque<Step>> {
        while self.ready[thread].len() < AHEAD
            && let Some(next) = self.merge.peek(thread).copied()
            && !self.joins(next)
        {
            if self.kept_steps > most {
                if self.ready[thread].is_empty() {
                    return None;
                }
                break;
            }
            let Some(record) = self.merge.next() else { break };
            self.read(record);
        }
        let steps = std::mem::take(&mut self.ready[thread]);
        self.kept_steps -= steps.len();
        Some(steps)
    }

    /// From here on only these threads' steps are wanted, of each without those that it was given.
    pub(super) fn only(&mut self, threads: &[usize], given: &[u64]) {
        self.wanted.fill(false);
        let mut left = vec![0; given.len()];
        for thread in threads {
            self.wanted[*thread] = true;
            left[*thread] = given[*thread] - self.given_its_wait(*thread, given[*thread]);
        }
        let mut all: u64 = left.iter().sum();
        while all > 0
            && let Some(record) = self.merge.next()
        {
            self.read(record);
            let thread = usize::from(record.thread);
            let new = self.ready[thread].len().min(left[thread] as usize);
            self.ready[thread].drain(..new);
            self.kept_steps -= new;
            let done = new as u64 + self.given_its_wait(thread, left[thread] - new as u64);
            left[thread] -= done;
            all -= done;
        }
    }

    /// 1 where the only step left of those that a thread was given is a wait for another's end: its turn need not have come.
    fn given_its_wait(&mut self, thread: usize, left: u64) -> u64 {
        let waits = |next: &Record| next.kind == Kind::Join;
        if left != 1 || !self.merge.peek(thread).is_some_and(waits) {
            return 0;
        }
        self.joins[thread] = true;
        1
    }

    /// The thread of which most steps are kept.
    pub(super) fn most_kept(&self) -> usize {
        (0..self.ready.len()).max_by_key(|thread| self.ready[*thread].len()).unwrap_or(0)
    }

    /// This thread's steps are wanted no more.
    pub(super) fn without(&mut self, thread: usize) {
        self.wanted[thread] = false;
        self.kept_steps -= std::mem::take(&mut self.ready[thread]).len();
    }

    /// Whether a thread waits for another's end next, and gets that before its turn has come: all that the other does until then
    /// would have to be kept meanwhile. Nothing else hangs on such a wait.
    fn joins(&mut self, next: Record) -> bool {
        let thread = usize::from(next.thread);
        if next.kind != Kind::Join || self.joins[thread] {
            return false;
        }
        if self.ready[thread].is_empty() {
            self.joins[thread] = true;
            self.kept_steps += 1;
            self.ready[thread].push_back(Step { passed: self.passed[thread] + 1, ..step(next) });
        }
        true
    }

    fn read(&mut self, record: Record) {
        _ = self.space.follow(&record);
        let thread = usize::from(record.thread);
        let before = self.unlocked[thread].take();
        self.passed[thread] += 1;
        if std::mem::take(&mut self.joins[thread]) {
            // It is the wait that was given before.
        } else if matches!(record.kind, Kind::Lock | Kind::Unlock) {
            self.lock(record, before);
        } else if record.kind == Kind::Call {
            self.call(record);
        } else if record.kind == Kind::Turn && !self.simulated {
            self.keep_place(record);
        } else if record.kind == Kind::Region && record.value > 0 && self.passed.len() > 1 {
            let places = &mut self.places;
            let word = *self.bounds.get_or_insert_with(|| places.word());
            self.push(Step { word, turn: record.value - 1, ..step(record) });
        } else if record.kind == Kind::Contents {
            let place = self.space.place(record.address).unwrap_or(record.address);
            self.pointers.stored(place, record.size, record.value);
            if let Some(place) = self.layout.compact(place) {
                self.tails.holds(place);
            }
        } else if record.kind.has_place() {
            self.access(record);
        } else {
            self.push(step(record));
        }
    }

    /// An access is cut where it crosses lines: what is simulated does not.
    fn access(&mut self, record: Record) {
        let first = (64 - record.address % 64).min(record.size.max(1).into()) as u8;
        let head = Record { size: first, ..record };
        self.access_line(head, record.address);
        if first < record.size && !record.kind.is_flush() {
            let kind = if record.kind.is_load() {
                Kind::Load
            } else if matches!(record.kind, Kind::StoreRelease | Kind::Rmw) {
                Kind::Store
            } else {
                record.kind
            };
            let (address, value) =
                (record.address.wrapping_add(first.into()), record.value >> (8 * u32::from(first)));
            let size = record.size - first;
            let tail = Record { address, value, size, kind, instructions: 0, ..record };
            self.access_line(tail, record.address);
        }
    }

    fn access_line(&mut self, record: Record, named: u64) {
        let thread = usize::from(record.thread);
        let in_file = self.space.place(record.address);
        let place = in_file.unwrap_or(record.address);
        let mut step = step(record);
        let persistent = in_file.and_then(|p| self.layout.compact(p));
        step.record.address = persistent.unwrap_or_else(|| self.places.of(record.address));
        if !record.kind.is_flush() {
            step.needs = self.pointers.needed(thread, named);
        }
        if record.kind == Kind::Load {
            step.number = self.pointers.loaded(thread, place, record.size).unwrap_or(FORGOTTEN);
        } else if record.kind.is_flush() {
            self.pending.flushed(step.record.address);
        } else if record.kind != Kind::LoadAcquire {
            self.pointers.stored(place, record.size, record.value);
            if persistent.is_some() {
                let zeros = self.tails.stores(&self.layout, step.record.address);
                self.clear(zeros, record);
            }
            let on_its_way = record.kind == Kind::Written && self.sync == FileSync::Dax;
            if persistent.is_some() && !on_its_way {
                self.pending.stored(step.record.address);
            }
        }
        if matches!(record.kind, Kind::LoadAcquire | Kind::StoreRelease | Kind::Rmw) {
            (step.word, step.turn) = self.turn(place & !7);
        }
        self.push(step);
    }

    /// An access that is no operation of synchronisation keeps its place among the stores to its word. A load that has seen
    /// the last of them before waits for nothing.
    fn keep_place(&mut self, record: Record) {
        let mut step = step(record);
        let place = self.space.place(record.address).unwrap_or(record.address) & !7;
        let places = &mut self.places;
        let word = self.kept.entry(place).or_insert_with(|| (places.word(), 0));
        (step.word, step.turn) = *word;
        word.1 += u64::from(record.value != 0);
        let last = &mut self.kept_last[usize::from(record.thread)];
        if record.value == 0 && (*last == (step.word, step.turn) || step.turn == 0) {
            step.word = NO_WORD;
        } else {
            *last = (step.word, step.turn + u64::from(record.value != 0));
        }
        self.push(step);
    }

    fn turn(&mut self, place: u64) -> (u64, u64) {
        let places = &mut self.places;
        let next = self.turns.entry(place).or_insert_with(|| (places.word(), 0));
        next.1 += 1;
        (next.0, next.1 - 1)
    }

    fn lock(&mut self, record: Record, before: Option<(u64, u32)>) {
        let in_file = self.space.place(record.address & !7);
        let place = in_file.unwrap_or(record.address & !7);
        let mut step = step(record);
        let persistent = in_file.and_then(|p| self.layout.compact(p));
        step.record.address = persistent.unwrap_or_else(|| self.places.of(record.address & !7));
        if !self.simulated {
            (step.word, step.turn) = self.turn(place);
            return self.push(step);
        }
        let places = &mut self.places;
        let lock = self.locks.entry(place).or_insert_with(|| Lock { word: places.word(), unlocks: 0 });
        step.word = lock.word;
        if record.kind == Kind::Unlock {
            lock.unlocks += 1;
            self.unlocked[usize::from(record.thread)] = Some((place, record.location));
        } else if before == Some((place, record.location)) && record.location != 0 {
            // One place of the program gave the lock back and took it again: a wait for a condition.
            step.turn = lock.unlocks;
        }
        self.push(step);
    }

    fn call(&mut self, record: Record) {
        let zeros = self.tails.call(&self.layout, &record);
        self.clear(zeros, record);
        let mut step = step(record);
        let bytes = record.value >> 8;
        let whole = |number: u32| self.layout.file(number).map(|file| (file.base, file.base + file.bytes));
        let call = Call::from_number(record.value as u8);
        let range = match (call.map(Call::syncs), file_of(record.address)) {
            (Some(Syncs::Everything), _) => Some((0, u64::MAX)),
            (Some(Syncs::File), Some((number, _))) => whole(number),
            // Of whole pages: what else is pending in them goes with it.
            (Some(Syncs::Range), Some((number, offset))) => whole(number).map(|(base, end)| {
                let last = offset.saturating_add(bytes).checked_next_multiple_of(PAGE_BYTES);
                let at = |offset: u64| base.saturating_add(offset).min(end);
                (at(offset / PAGE_BYTES * PAGE_BYTES), at(last.unwrap_or(u64::MAX)))
            }),
            (Some(Syncs::File | Syncs::Range), None) | (Some(Syncs::Nothing) | None, _) => None,
        };
        if let Some((first, end)) = range {
            step.lines = self.pending.take(first, end);
        }
        self.push(step);
    }

    /// Before a record, bytes of a file become zero.
    fn clear(&mut self, zeros: Zeros, record: Record) {
        if zeros.lines.is_empty() {
            return;
        }
        if self.sync == FileSync::PageCache {
            zeros.lines.iter().for_each(|line| self.pending.stored(*line));
        }
        let passed = self.passed[usize::from(record.thread)] - 1;
        let (kind, address) = (Kind::Written, zeros.from);
        let written = Record { kind, address, value: 0, instructions: 0, ..record };
        self.keep(Step { lines: zeros.lines, passed, ..step(written) });
    }

    fn push(&mut self, step: Step) {
        let passed = self.passed[usize::from(step.record.thread)];
        self.keep(Step { passed, ..step });
    }

    fn keep(&mut self, step: Step) {
        let thread = usize::from(step.record.thread);
        if self.wanted[thread] {
            self.kept_steps += 1;
            self.ready[thread].push_back(step);
        }
    }
}

fn step(record: Record) -> Step {
    Step { record, word: NO_WORD, turn: 0, needs: 0, number: FORGOTTEN, lines: Box::new([]), passed: 0 }
}

/// Places of what is in no file: pages of the program by first use, and the replay's own words, a line each.
#[derive(Clone)]
pub(super) struct Places {
    pages: FxHashMap<u64, u64>,
    next_page: u64,
    words: u64,
    next_dram: u64,
    /// Pages of the program are persistent.
    all_pm: bool,
}

impl Places {
    /// Pages that are persistent too begin at `pm`.
    pub(super) fn new(pm: Option<u64>) -> Places {
        Places {
            pages: FxHashMap::default(),
            next_page: pm.unwrap_or(0),
            words: 0,
            next_dram: DRAM_BASE + PAGE_BYTES,
            all_pm: pm.is_some(),
        }
    }

    fn dram_page(&mut self) -> u64 {
        self.next_dram += PAGE_BYTES;
        self.next_dram - PAGE_BYTES
    }

    /// A word that nothing else shares a line with.
    pub(super) fn word(&mut self) -> u64 {
        if self.words.is_multiple_of(PAGE_BYTES) {
            self.words = self.dram_page();
        }
        self.words += 64;
        self.words - 64
    }

    fn of(&mut self, address: u64) -> u64 {
        let number = address / PAGE_BYTES;
        let page = match self.pages.get(&number) {
            Some(page) => *page,
            None => {
                let page = if self.all_pm {
                    self.next_page += PAGE_BYTES;
                    self.next_page - PAGE_BYTES
                } else {
                    self.dram_page()
                };
                self.pages.insert(number, page);
                page
            }
        };
        page + address % PAGE_BYTES
    }
}
