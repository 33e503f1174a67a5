//! A recording at page fidelity: its loads and stores as visits of pages.

use crate::record::{Kind, Record};
use crate::recording::{Recording, Thread};
use protocol::pages::{Arrival, PageProgram, PageStep, Visit};
use rustc_hash::FxHashMap;
use units::{Dur, Time};

/// A program's time for a load or store where instructions were not counted: four of them, one a cycle, at 2 GHz.
const WORK: Dur = Dur::ns(2);

/// Consecutive accesses of one page.
struct Stretch {
    page: u64,
    records: u64,
    instructions: u64,
    touched: u64,
    write: bool,
}

/// The recording as one program: threads take turns, a record each, and records in a row that meet one page are one
/// visit. Pages are numbered by first use.
///
/// `time_of` is what so many instructions take.
pub fn page_programs(recording: &Recording, time_of: impl Fn(u64) -> Dur + 'static) -> Vec<Arrival> {
    let counted = recording.counts().instructions > 0;
    // The program maps all its pages first: how many is known after a pass of its own.
    let pages = Stretches::new(recording).map(|s| s.page + 1).max().unwrap_or(1);
    let steps = std::iter::once(PageStep::Map { area: 0, pages })
        .chain(Stretches::new(recording).map(move |s| {
            let work = if counted { time_of(s.instructions) } else { WORK * s.records };
            PageStep::Visit(Visit::sweep(0, s.page, 1, s.touched.count_ones().into(), s.write, work))
        }))
        .chain([PageStep::Operations { kind: 0, count: 1 }]);
    vec![Arrival { at: Time::ZERO, program: Box::new(Steps(steps)) }]
}

/// The visits of a recording.
struct Stretches {
    threads: Vec<Thread>,
    next_thread: usize,
    numbers: FxHashMap<u64, u64>,
    current: Option<(u64, Stretch)>,
    /// Instructions since the last access.
    instructions: u64,
}

impl Stretches {
    fn new(recording: &Recording) -> Stretches {
        let threads = (0..recording.threads()).map(|t| recording.thread(t)).collect();
        Stretches { threads, next_thread: 0, numbers: FxHashMap::default(), current: None, instructions: 0 }
    }

    /// The next thread's next record.
    fn record(&mut self) -> Option<Record> {
        while !self.threads.is_empty() {
            if self.next_thread >= self.threads.len() {
                self.next_thread = 0;
            }
            if let Some(record) = self.threads[self.next_thread].next() {
                self.next_thread += 1;
                return Some(record);
            }
            // The others keep their order.
            self.threads.remove(self.next_thread);
        }
        None
    }
}

impl Iterator for Stretches {
    type Item = Stretch;

    fn next(&mut self) -> Option<Stretch> {
        while let Some(record) = self.record() {
            self.instructions += u64::from(record.instructions);
            let Some(write) = access(record.kind) else { continue };
            let (line, page) = (1 << (record.address >> 6 & 63), record.address >> 12);
            if let Some((_, current)) = self.current.as_mut().filter(|(p, _)| *p == page) {
                current.records += 1;
                current.instructions += std::mem::take(&mut self.instructions);
                current.touched |= line;
                current.write |= write;
                continue;
            }
            let next = self.numbers.len() as u64;
            let number = *self.numbers.entry(page).or_insert(next);
            let instructions = std::mem::take(&mut self.instructions);
            let stretch = Stretch { page: number, records: 1, instructions, touched: line, write };
            if let Some((_, done)) = self.current.replace((page, stretch)) {
                return Some(done);
            }
        }
        self.current.take().map(|(_, done)| done)
    }
}

fn access(kind: Kind) -> Option<bool> {
    (kind.is_load() || kind.is_store()).then(|| kind.is_store())
}

struct Steps<I>(I);

impl<I: Iterator<Item = PageStep>> PageProgram for Steps<I> {
    fn next(&mut self) -> PageStep {
        self.0.next().unwrap_or(PageStep::End)
    }
}
