//! A recording at page fidelity: its loads and stores as visits of pages.

use crate::record::{Kind, Trace};
use protocol::pages::{Arrival, PageProgram, PageStep, Visit};
use rustc_hash::FxHashMap;
use units::{Dur, Time};

/// A program's time for a load or store: four instructions at 2 GHz.
const WORK: Dur = Dur::ns(2);

struct Stretch {
    page: u64,
    records: u64,
    lines: u64,
    write: bool,
}

/// The recording as one program: threads take turns, a record each, and records in a row that meet one page are one
/// visit. Pages are numbered by first use.
pub fn page_programs(trace: &Trace) -> Vec<Arrival> {
    let mut numbers: FxHashMap<u64, u64> = FxHashMap::default();
    let mut stretches: Vec<Stretch> = Vec::new();
    let longest = trace.threads.iter().map(Vec::len).max().unwrap_or(0);
    let mut last_page = None;
    let mut touched = 0_u64;
    for nth in 0..longest {
        for record in trace.threads.iter().filter_map(|t| t.get(nth)) {
            let Some(write) = access(record.kind) else { continue };
            let line = 1 << (record.address >> 6 & 63);
            let page = record.address >> 12;
            if last_page != Some(page) {
                let next = numbers.len() as u64;
                let page = *numbers.entry(page).or_insert(next);
                stretches.push(Stretch { page, records: 0, lines: 0, write: false });
                touched = 0;
            }
            last_page = Some(page);
            touched |= line;
            if let Some(stretch) = stretches.last_mut() {
                stretch.records += 1;
                stretch.lines = u64::from(touched.count_ones());
                stretch.write |= write;
            }
        }
    }
    let (pages, mut next) = (numbers.len().max(1) as u64, stretches.into_iter());
    let steps = std::iter::once(PageStep::Map { area: 0, pages })
        .chain(std::iter::from_fn(move || next.next().map(step)))
        .chain([PageStep::Operations { kind: 0, count: 1 }]);
    vec![Arrival { at: Time::ZERO, program: Box::new(Steps(steps)) }]
}

fn access(kind: Kind) -> Option<bool> {
    match kind {
        Kind::Load | Kind::LoadAcquire => Some(false),
        Kind::Store | Kind::StoreNonTemporal | Kind::StoreRelease | Kind::Rmw => Some(true),
        _ => None,
    }
}

fn step(s: Stretch) -> PageStep {
    PageStep::Visit(Visit::sweep(0, s.page, 1, s.lines, s.write, WORK * s.records))
}

struct Steps<I>(I);

impl<I: Iterator<Item = PageStep>> PageProgram for Steps<I> {
    fn next(&mut self) -> PageStep {
        self.0.next().unwrap_or(PageStep::End)
    }
}
