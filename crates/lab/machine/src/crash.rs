//! Power failures at many instants of one run: each gives the memory that this machine would leave then.

use crate::arenas::within_arenas;
use crate::build::WiredMachine;
use crate::describe::{Description, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::forgets::forgets_all;
use crate::memories::Entry;
use crate::options::RunOptions;
use cpu::Core;
use engine::NodeId;
use protocol::{
    AddressMap, Block, Drained, Image, Line, Lost, Msg, PAGE_BYTES, PM_BASE, TURN, line_of, offset_of,
};
use std::collections::BTreeSet;
use units::Time;
use workloads::Persistent;

/// When the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashEvery {
    /// After every so many writes that reach persistent memory or its controllers' tables.
    Persists(u64),
    /// After every event of the simulation.
    Event,
    /// After every so many events.
    Events(u64),
    /// At most `most` times in a run of so many events, at places that do not fall into step with a loop; its end is
    /// one of them.
    Among {
        /// Events of the run that count.
        events: u64,
        /// Power failures.
        most: u64,
    },
    /// Once.
    At(Time),
}

/// When the power fails, and from when on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// How often.
    pub every: CrashEvery,
    /// Of a recording: only once each of these threads has passed so many of its records.
    pub after: Vec<(usize, u64)>,
}

impl From<CrashEvery> for Cuts {
    fn from(every: CrashEvery) -> Cuts {
        Cuts { every, after: Vec::new() }
    }
}

/// What one power failure leaves.
#[derive(Clone)]
pub struct CrashPoint {
    /// When.
    pub at: Time,
    /// For each core: operations that it had ended.
    pub ended: Vec<u64>,
    /// Of a recording: records that each thread had passed, before the first mark of which nobody was told yet.
    pub passed: Vec<u64>,
    /// What the program had been told was durable, and is not.
    pub lost: Vec<Lost>,
    /// What stored energy has to bring to the media, for no more than that to be lost.
    pub drained: Drained,
    /// When everything had come to its end, where the power was to fail later.
    pub after_end: Option<Time>,
    parts: Vec<Image>,
    map: AddressMap,
}

impl CrashPoint {
    /// The bytes of a line of persistent memory.
    pub fn read(&self, line: Line) -> Block {
        let (controller, line) = self.map.place(line);
        self.parts[controller].read(line)
    }

    /// The words that it leaves, for a workload's recovery.
    pub fn words(&self) -> Words<'_> {
        Words { point: self, at: (Line(0), [0; 64]) }
    }

    /// Whether it leaves the same bytes as `other`.
    pub fn leaves_as(&self, other: &CrashPoint) -> bool {
        self.parts == other.parts
    }

    /// Bytes that it holds and `other` does not.
    pub fn bytes_apart(&self, other: &CrashPoint) -> u64 {
        self.parts.iter().zip(&other.parts).map(|(own, other)| own.bytes_apart(other)).sum()
    }

    /// Addresses of the pages of persistent memory in which something may be, as programs address them, in order.
    pub fn pages(&self) -> Vec<u64> {
        let mut pages = BTreeSet::new();
        for (index, memory) in self.map.memories().enumerate() {
            for part in &self.parts[memory.numbers()] {
                let own = part.pages().map(|address| (address - part.base()) / PAGE_BYTES);
                pages.extend(own.map(|page| PM_BASE + self.map.program_page(index, page) * PAGE_BYTES));
            }
        }
        pages.into_iter().collect()
    }

    /// The bytes of a page.
    pub fn page(&self, address: u64) -> [u8; PAGE_BYTES as usize] {
        let mut bytes = [0; PAGE_BYTES as usize];
        for (line, block) in (address / 64..).map(Line).zip(bytes.as_chunks_mut::<64>().0) {
            *block = self.read(line);
        }
        bytes
    }
}

/// What a power failure left as recovery reads it, with the line looked at last.
pub struct Words<'a> {
    point: &'a CrashPoint,
    at: (Line, Block),
}

impl Persistent for Words<'_> {
    fn word(&mut self, address: u64) -> u64 {
        // A wild pointer leads nowhere.
        if address < PM_BASE {
            return 0;
        }
        let (line, at) = (line_of(address), offset_of(address));
        if self.at.0 != line {
            self.at = (line, self.point.read(line));
        }
        protocol::word_of(&self.at.1, at)
    }

    fn may_be_older(&self, address: u64) -> bool {
        self.point.lost.contains(&Lost::Line(line_of(address).address()))
    }
}

/// Whether a power failure leaves anything on this machine.
///
/// # Errors
/// Why not.
pub fn can_crash(machine: &Description) -> Result<(), ConfigError> {
    if let Some(simulator) = machine.simulator() {
        return Err(ConfigError::new(format!("{}: {}", machine.name, simulator.has_no_images())));
    }
    match forgets_all(machine)? {
        Some(why) => Err(ConfigError::new(format!("{}: {why}, there is nothing to recover", machine.name))),
        None => Ok(()),
    }
}

/// What a power failure takes on this machine that programs may rely on elsewhere, memory by memory.
///
/// # Errors
/// When the list of its memories is not accepted.
pub fn takes_what_was_durable(machine: &Description) -> Result<Vec<String>, ConfigError> {
    let entries = machine.entries()?;
    let why = |e: &Entry| e.kind.forgets(&e.settings).or_else(|| e.kind.is_volatile(&e.settings));
    let told = entries.iter().enumerate();
    Ok(told.filter_map(|(n, e)| Some(told_of(&entries, n, why(e)?))).collect())
}

/// Memories that a power failure empties, and in which some of `files` lie, each from an address on of so many bytes.
///
/// # Errors
/// When the list of its memories is not accepted.
pub fn forgets_of(machine: &Description, files: &[(u64, u64)]) -> Result<Vec<String>, ConfigError> {
    let entries = machine.entries()?;
    let map = machine.address_map()?;
    let holding: BTreeSet<usize> = files.iter().flat_map(|file| memories_of(&map, *file)).collect();
    let why = |e: &Entry| e.kind.is_volatile(&e.settings).filter(|_| e.kind.is_emptied(&e.settings));
    Ok(holding.into_iter().filter_map(|n| Some(told_of(&entries, n, why(&entries[n])?))).collect())
}

fn told_of(entries: &[Entry], index: usize, why: &str) -> String {
    let name = entries[index].kind.name();
    if entries.len() > 1 { format!("memory {index} ({name}): {why}") } else { why.to_string() }
}

/// The memories in which so many bytes from an address on lie. After each bound of a range all have had a page within a turn.
fn memories_of(map: &AddressMap, (base, bytes): (u64, u64)) -> BTreeSet<usize> {
    let (first, end) = ((base - PM_BASE) / PAGE_BYTES, (base - PM_BASE + bytes).div_ceil(PAGE_BYTES));
    let bounds = map.memories().filter_map(|memory| memory.range).flat_map(|(from, n)| [from, from + n]);
    let starts = bounds.chain([first]).map(|page| page.max(first));
    let pages = starts.flat_map(|from| from..(from + TURN as u64).min(end));
    pages.map(|page| map.memory_of(PM_BASE + page * PAGE_BYTES)).collect()
}

/// Simulates `workload` on `machine`, and shows what a power failure would leave at many instants of the part that
/// counts. Costs, for each, what changed since the one before. `visit` says whether to go on.
///
/// # Errors
/// As [`crate::run`].
pub fn run_with_crashes(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    cuts: impl Into<Cuts>,
    visit: &mut dyn FnMut(CrashPoint) -> bool,
) -> Result<(), RunError> {
    can_crash(machine)?;
    let cuts = cuts.into();
    within_arenas(workload, || run_to_crashes(machine, workload, options, cuts, visit))?
}

fn run_to_crashes(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    cuts: Cuts,
    visit: &mut dyn FnMut(CrashPoint) -> bool,
) -> Result<(), RunError> {
    let Cuts { every, after } = cuts;
    let options = RunOptions { without_images: false, ..*options };
    let mut m = WiredMachine::prepare(machine, &workload.in_recorded_order(), &options)?;
    let threads = workload.threads();
    if let CrashEvery::At(at) = every {
        m.engine.stop_after(at);
    }
    let (mut done, mut counts, mut steps) = (0, Counts::new(workload, after), Steps::new(every));
    let mut next = steps.first();
    let mut msg = Msg::Wake;
    while let Some((now, to, port)) = m.engine.next(&mut msg) {
        m.dispatch(now, to, port, &msg);
        if m.is_broken(to) {
            break;
        }
        if !counts.from(&m, to, now) {
            continue;
        }
        done = match every {
            CrashEvery::Event | CrashEvery::Events(_) | CrashEvery::Among { .. } => done + 1,
            CrashEvery::At(_) => continue,
            CrashEvery::Persists(_) => m.writes(),
        };
        if done < next {
            continue;
        }
        next = steps.after(done);
        if !visit(m.crash(now, threads)?) {
            return m.check_promises();
        }
    }
    m.check_promises()?;
    let mut after_end = None;
    let end = match every {
        CrashEvery::At(at) if counts.began > at => {
            let text = format!(
                "{at}: the workload is being set up then, and nothing is promised yet; give a later time (counted from power-on: run --format json has region_began_ns)"
            );
            return Err(ConfigError::new(text).into());
        }
        CrashEvery::At(at) => {
            after_end = m.ended_before(at);
            at
        }
        CrashEvery::Persists(_) | CrashEvery::Event | CrashEvery::Events(_) | CrashEvery::Among { .. } => {
            m.check_finished()?;
            m.cores.iter().map(Core::now).max().unwrap_or(Time::ZERO)
        }
    };
    visit(CrashPoint { after_end, ..m.crash(end, threads)? });
    // Devices that replay may have found what must not be, at this last point too.
    m.check_promises()
}

/// At which count the power fails next.
enum Steps {
    Even(u64),
    Spread(Box<dyn Iterator<Item = u64>>),
}

impl Steps {
    fn new(every: CrashEvery) -> Steps {
        match every {
            CrashEvery::Persists(n) | CrashEvery::Events(n) => Steps::Even(n),
            CrashEvery::Event | CrashEvery::At(_) => Steps::Even(1),
            // The number after the last event's is the end, which comes by itself.
            CrashEvery::Among { events, most } => {
                Steps::Spread(Box::new(units::spread(events + 1, most).map(|n| n + 1).chain([u64::MAX])))
            }
        }
    }

    fn first(&mut self) -> u64 {
        match self {
            Steps::Even(_) => 0,
            Steps::Spread(_) => self.after(0),
        }
    }

    fn after(&mut self, done: u64) -> u64 {
        match self {
            Steps::Even(step) => done.saturating_add(*step),
            Steps::Spread(numbers) => numbers.next().unwrap_or(u64::MAX),
        }
    }
}

/// How many events the part of a run has at which its power can fail.
///
/// # Errors
/// As [`crate::run`].
pub fn events_to_cut(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    after: &[(usize, u64)],
) -> Result<u64, RunError> {
    to_cut(machine, workload, options, after).map(|(events, _)| events)
}

/// The same, and how many writes reach persistent memory or its controllers' tables in that part.
///
/// # Errors
/// As [`crate::run`].
pub fn to_cut(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    after: &[(usize, u64)],
) -> Result<(u64, u64), RunError> {
    can_crash(machine)?;
    let mut m = WiredMachine::prepare(machine, &workload.in_recorded_order(), options)?;
    let (mut events, mut before, mut counts) = (0, 0, Counts::new(workload, after.to_vec()));
    let mut msg = Msg::Wake;
    while let Some((now, to, port)) = m.engine.next(&mut msg) {
        m.dispatch(now, to, port, &msg);
        if m.is_broken(to) {
            break;
        }
        let is_counted = counts.from(&m, to, now);
        if is_counted && events == 0 {
            before = m.writes();
        }
        events += u64::from(is_counted);
    }
    m.check_promises()?;
    m.check_finished()?;
    Ok((events, m.writes() - before))
}

/// Whether the region of interest has begun.
struct Counts {
    after: Vec<(usize, u64)>,
    began: Time,
}

impl Counts {
    fn new(workload: &WorkloadDescription, after: Vec<(usize, u64)>) -> Counts {
        // A recording has no set-up of its own.
        let began = if workload.recording().is_some() { Time::ZERO } else { Time::NEVER };
        Counts { after, began }
    }

    /// After an event of `to` at `now`.
    fn from(&mut self, m: &WiredMachine, to: NodeId, now: Time) -> bool {
        self.began = self.began.min(m.region_began_on(to));
        if !self.after.is_empty() {
            let passed = m.replay.as_ref().map(|r| r.passed()).unwrap_or_default();
            self.after.retain(|(thread, n)| passed.get(*thread).is_none_or(|done| done < n));
        }
        self.after.is_empty() && now >= self.began
    }
}

impl WiredMachine {
    /// Writes that have reached persistent memory or its controllers' tables so far.
    fn writes(&self) -> u64 {
        self.controllers.iter().map(|device| device.persists()).sum()
    }

    fn crash(&mut self, at: Time, threads: usize) -> Result<CrashPoint, RunError> {
        let (parts, lost, drained) = self.power_fails(at);
        self.check_models()?;
        let ended = self.cores.iter().take(threads).map(Core::told_operations).collect();
        let untold = || self.cores.iter().map(|core| core.operations() - core.told_operations());
        let passed = self.replay.as_ref().map(|r| r.told(untold())).unwrap_or_default();
        Ok(CrashPoint { at, ended, passed, lost, drained, after_end: None, parts, map: self.map })
    }
}
