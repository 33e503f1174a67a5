//! A recording at page fidelity: its loads and stores as visits of pages.

use crate::record::{Kind, Record};
use crate::recording::{Recording, Thread};
use protocol::pages::{Arrival, PageProgram, PageStep, Visit};
use rustc_hash::FxHashMap;
use units::{Dur, Time};

/// A program's time for a load or store where instructions were not counted: four of them, one a cycle, at 2 GHz.
const WORK: Dur = Dur::ns(2);

/// What a recording does at page fidelity.
enum Part {
    Accesses(Stretch),
    /// The region begins, or ends.
    Bound(bool),
}

/// Consecutive accesses of one page.
struct Stretch {
    page: u64,
    records: u64,
    instructions: u64,
    touched: u64,
    write: bool,
}

/// The recording as one program: threads take turns, a record each, and records in a row that meet one page are one
/// visit. Pages are numbered by first use. What comes after the last part of a region is left out.
///
/// `time_of` is what so many instructions take.
pub fn page_programs(recording: &Recording, time_of: impl Fn(u64) -> Dur + 'static) -> Vec<Arrival> {
    let counted = recording.counts().instructions > 0;
    // The program maps all its pages first: how many is known after a pass of its own.
    let last = Parts::new(recording)
        .filter_map(|part| if let Part::Accesses(s) = part { Some(s.page) } else { None })
        .max();
    let steps = std::iter::once(PageStep::Map { area: 0, pages: last.map_or(1, |page| page + 1) })
        .chain(Parts::new(recording).map(move |part| match part {
            Part::Bound(opens) => PageStep::Bound { opens },
            Part::Accesses(s) => {
                let work = if counted { time_of(s.instructions) } else { WORK * s.records };
                PageStep::Visit(Visit::sweep(0, s.page, 1, s.touched.count_ones().into(), s.write, work))
            }
        }))
        .chain([PageStep::Operations { kind: 0, count: 1 }]);
    vec![Arrival { at: Time::ZERO, program: Box::new(Steps(steps)) }]
}

/// The visits of a recording, and the bounds of its region.
struct Parts {
    /// Each thread, and a bound at which it waits.
    threads: Vec<(Thread, Option<Record>)>,
    next_thread: usize,
    /// Bounds of the region, and how many of them were met.
    bounds: u64,
    met: u64,
    /// One that comes when the stretch before it is done.
    bound: Option<bool>,
    numbers: FxHashMap<u64, u64>,
    current: Option<(u64, Stretch)>,
    /// Instructions since the last access.
    instructions: u64,
}

impl Parts {
    fn new(recording: &Recording) -> Parts {
        let threads = (0..recording.threads()).map(|t| (recording.thread(t), None)).collect();
        Parts {
            threads,
            next_thread: 0,
            bounds: recording.counts().kind(Kind::Region),
            met: 0,
            bound: None,
            numbers: FxHashMap::default(),
            current: None,
            instructions: 0,
        }
    }

    /// Whether the last part of a region has ended.
    fn is_over(&self) -> bool {
        self.bounds > 0 && self.met == self.bounds
    }

    /// The accesses of the stretch that has ended.
    fn done(&mut self) -> Option<Part> {
        self.current.take().map(|(_, stretch)| Part::Accesses(stretch))
    }

    /// The next thread's next record. One that is at a bound waits for those before it, as long as another thread goes on.
    fn record(&mut self) -> Option<Record> {
        let mut waiting = 0;
        while !self.threads.is_empty() {
            if self.next_thread >= self.threads.len() {
                self.next_thread = 0;
            }
            let (thread, held) = &mut self.threads[self.next_thread];
            let Some(record) = held.take().or_else(|| thread.next()) else {
                // The others keep their order.
                self.threads.remove(self.next_thread);
                continue;
            };
            if record.kind == Kind::Region && record.value > self.met + 1 && waiting < self.threads.len() {
                self.threads[self.next_thread].1 = Some(record);
                waiting += 1;
                self.next_thread += 1;
                continue;
            }
            self.met += u64::from(record.kind == Kind::Region);
            self.next_thread += 1;
            return Some(record);
        }
        None
    }
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        if let Some(opens) = self.bound.take() {
            return Some(Part::Bound(opens));
        }
        while !self.is_over()
            && let Some(record) = self.record()
        {
            self.instructions += u64::from(record.instructions);
            if record.kind == Kind::Region {
                let opens = record.value % 2 == 1;
                let Some(done) = self.done() else { return Some(Part::Bound(opens)) };
                self.bound = Some(opens);
                return Some(done);
            }
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
                return Some(Part::Accesses(done));
            }
        }
        self.done()
    }
}

fn access(kind: Kind) -> Option<bool> {
    (kind.is_load() || kind.changes_memory()).then(|| kind.changes_memory())
}

struct Steps<I>(I);

impl<I: Iterator<Item = PageStep>> PageProgram for Steps<I> {
    fn next(&mut self) -> PageStep {
        self.0.next().unwrap_or(PageStep::End)
    }
}
