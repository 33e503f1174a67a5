//! A time slice of a program: its steps, its visits, its faults.

use crate::cache::Found;
use crate::memory::{AreaError, FaultError, Medium, PAGE};
use crate::run::PageMachine;
use protocol::LINE_BYTES;
use protocol::pages::{PageProgram, PageStep, Pattern, Visit};
use units::{Dur, Random, Time};

const LINES_OF_PAGE: u64 = 64;
/// Random visits drawn together, so that the host's misses overlap.
const DRAWN: usize = 32;

/// A program, and how far it is.
pub(crate) struct Task {
    program: Box<dyn PageProgram>,
    pub(crate) process: u32,
    /// Visits under way, and how many are done.
    visit: Option<(Visit, u64)>,
    random: Random,
    /// Pages that the next random visits go to.
    drawn: Vec<u64>,
    pub(crate) dead: bool,
}

impl Task {
    pub(crate) fn new(program: Box<dyn PageProgram>, process: u32, seed: u64) -> Task {
        let random = Random::new(seed, u64::from(process));
        Task { program, process, visit: None, random, drawn: Vec::with_capacity(DRAWN), dead: false }
    }

    /// How much of the program is done, all of it being one, as far as it knows.
    pub(crate) fn done(&self) -> f64 {
        if self.dead { 1.0 } else { self.program.done() }
    }
}

/// Pages to visit: so many from one on, or each of these.
#[derive(Clone, Copy)]
enum Pages<'a> {
    From(u64, u64),
    Each(&'a [u64]),
}

/// How a slice ended.
pub(crate) struct SliceEnd {
    pub(crate) at: Time,
    /// The program waits for a device until then.
    pub(crate) wakes: Option<Time>,
}

/// What a slice has spent.
struct Spent {
    now: Time,
    until: Time,
    user: Dur,
    system: Dur,
    /// Lines moved on DRAM and on persistent memory.
    lines: [u64; 2],
}

impl Spent {
    fn system(&mut self, time: Dur) {
        self.now += time;
        self.system += time;
    }

    fn user(&mut self, time: Dur) {
        self.now += time;
        self.user += time;
    }
}

impl PageMachine {
    /// Runs a program until its slice is over, it waits, or it ends.
    pub(crate) fn slice(&mut self, task: u32, now: Time) -> SliceEnd {
        self.look_at_load(now);
        let until = now + self.spec.quantum;
        let mut spent = Spent { now, until, user: Dur::ZERO, system: Dur::ZERO, lines: [0; 2] };
        let scan = self.scan(now);
        spent.system(scan);
        let mut wakes = None;
        while spent.now < until && wakes.is_none() && !self.tasks[task as usize].dead {
            match self.tasks[task as usize].visit.take() {
                Some((visit, done)) => wakes = self.go_on(task, visit, done, &mut spent),
                None => self.step(task, &mut spent),
            }
        }
        self.share_buses(now, &mut spent);
        self.totals.user += spent.user;
        self.totals.system += spent.system;
        SliceEnd { at: spent.now, wakes: wakes.map(|at: Time| at.max(spent.now)) }
    }

    /// The time of so many visits of persistent memory.
    fn pm_visits(&mut self, lines: u64, write: bool, visits: u64) -> Dur {
        let Some(now) = &self.pm_now else { return self.spec.pm.visit(lines, write) * visits };
        let time = now.time(lines, write) * visits;
        self.pm_load.add(time);
        time
    }

    /// What visits of persistent memory cost from now on, where that is measured.
    fn look_at_load(&mut self, now: Time) {
        let Some((curve, pages)) = &self.spec.curve else { return };
        if self.pm_load.pass(now, self.spec.quantum) || self.pm_now.is_none() {
            let set = self.memory.used_bytes(Medium::Pm) / PAGE * 1000 / pages;
            self.pm_now = Some(curve.at(self.pm_load.milli, set));
        }
    }

    /// Lines of all cores share each medium's bus: a slice ends no sooner than its lines have passed.
    fn share_buses(&mut self, began: Time, spent: &mut Spent) {
        let service = [self.spec.dram.service, self.spec.pm.service];
        for ((bus, lines), service) in self.bus.iter_mut().zip(spent.lines).zip(service) {
            if lines > 0 {
                *bus = (*bus).max(began) + service * lines;
                let late = bus.since(spent.now);
                spent.now += late;
                spent.user += late;
            }
        }
    }

    fn step(&mut self, task: u32, spent: &mut Spent) {
        let step = self.tasks[task as usize].program.next();
        match step {
            PageStep::Visit(visit) => {
                let t = &mut self.tasks[task as usize];
                t.drawn.clear();
                t.visit = Some((visit, 0));
            }
            PageStep::Operations { kind, count } => self.operations(kind, count, spent),
            PageStep::Map { area, pages } => {
                spent.system(self.spec.memory.costs.fault);
                self.totals.failed_maps += u64::from(self.memory.map(task, area, pages).is_err());
            }
            PageStep::MapDevice { area, pages, file_pages, file } => {
                self.map_device(task, (area, pages, file_pages, file), spent);
            }
            PageStep::Unmap { area } => {
                let time = self.memory.unmap(task, area, spent.now);
                spent.system(self.spec.memory.costs.fault + time);
            }
            PageStep::Bound { opens } => self.bound(opens, spent),
            PageStep::End => {
                self.totals.ended += 1;
                let time = self.reap(task, true, spent.now);
                spent.system(time);
            }
        }
    }

    /// A part of the region begins or ends, in the middle of a slice.
    fn bound(&mut self, opens: bool, spent: &Spent) {
        let mut passed = self.passed(spent.now);
        passed.user += spent.user;
        passed.system += spent.system;
        self.region.bound(opens, &passed);
    }

    fn operations(&mut self, kind: usize, count: u64, spent: &Spent) {
        if self.totals.operations.len() <= kind {
            self.totals.operations.resize(kind + 1, (0, Time::NEVER, Time::ZERO));
        }
        let (all, from, to) = &mut self.totals.operations[kind];
        *all += count;
        *from = (*from).min(spent.now);
        *to = (*to).max(spent.now);
    }

    fn map_device(
        &mut self,
        task: u32,
        (area, pages, file_pages, file): (usize, u64, u64, usize),
        spent: &mut Spent,
    ) {
        let place = self.memory.device_file(&mut self.files, file, file_pages);
        let mapped = place
            .ok_or(AreaError::NoSpace)
            .and_then(|first| self.memory.map_device(task, area, pages, (first, file_pages), spent.now));
        spent.system(self.spec.memory.costs.fault);
        match mapped {
            Ok(time) => spent.system(time),
            Err(_) => self.totals.failed_maps += 1,
        }
    }

    /// Goes on with visits; gives when the program wakes, where it has to wait.
    fn go_on(&mut self, task: u32, visit: Visit, mut done: u64, spent: &mut Spent) -> Option<Time> {
        while done < visit.count && spent.now < spent.until {
            let wanted = self.fits(&visit, spent).min(visit.count - done);
            let (visited, next) = match visit.pattern {
                Pattern::Sweep => {
                    let first = visit.first + done;
                    let visited = self.visit(task, &visit, Pages::From(first, wanted), spent);
                    (visited, (visited < wanted).then_some(first + visited))
                }
                Pattern::Random => self.visit_random(task, &visit, wanted, spent),
            };
            done += visited;
            let Some(page) = next else { continue };
            match self.fault(task, visit.area, page, spent.now) {
                Ok(fault) => {
                    spent.system(fault.kernel);
                    if let Some(frame) = fault.filled {
                        self.fill(frame, spent);
                    }
                    if fault.ready > spent.now {
                        self.tasks[task as usize].visit = Some((visit, done));
                        return Some(fault.ready);
                    }
                }
                Err(FaultError::Area(_)) => {
                    self.totals.signals += 1;
                    let time = self.reap(task, true, spent.now);
                    spent.system(time);
                    return None;
                }
                Err(FaultError::OutOfMemory) => {
                    let victim = self.kill_largest().unwrap_or(task);
                    let time = self.reap(victim, victim == task, spent.now);
                    spent.system(time);
                    if victim == task {
                        return None;
                    }
                }
            }
        }
        if done < visit.count {
            self.tasks[task as usize].visit = Some((visit, done));
        }
        None
    }

    /// Visits up to `wanted` random pages; gives how many, and the one that faults. It stays the next one to visit.
    fn visit_random(
        &mut self,
        task: u32,
        visit: &Visit,
        wanted: u64,
        spent: &mut Spent,
    ) -> (u64, Option<u64>) {
        let mut drawn = std::mem::take(&mut self.tasks[task as usize].drawn);
        let wanted = wanted.min(DRAWN as u64) as usize;
        while drawn.len() < wanted {
            let t = &mut self.tasks[task as usize];
            drawn.push(visit.first + t.random.below(visit.span.max(1)));
        }
        let visited = self.visit(task, visit, Pages::Each(&drawn[..wanted]), spent);
        drawn.drain(..visited as usize);
        let next = ((visited as usize) < wanted).then(|| drawn[0]);
        self.tasks[task as usize].drawn = drawn;
        (visited, next)
    }

    /// Visits that may fit into what is left of a slice, were they all on DRAM.
    fn fits(&self, visit: &Visit, spent: &Spent) -> u64 {
        let line = if visit.write { self.spec.dram.write } else { self.spec.dram.read };
        let each = (visit.compute + line * visit.lines).as_ps().max(1);
        (spent.until.since(spent.now).as_ps() / each).max(1)
    }

    /// Visits pages that are there, until one is not; gives how many.
    fn visit(&mut self, task: u32, visit: &Visit, pages: Pages<'_>, spent: &mut Spent) -> u64 {
        let cached = self.cache.is_some();
        let written = if visit.write && !cached { visit.lines * LINE_BYTES } else { 0 };
        let touched = match pages {
            Pages::From(first, count) => self.memory.visit(task, visit.area, first, count, written),
            Pages::Each(pages) => self.memory.visit_each(task, visit.area, pages, written),
        };
        self.totals.visits += touched.done;
        spent.user(visit.compute * touched.done);
        if cached && touched.pm > 0 {
            match pages {
                Pages::From(first, _) => {
                    (first..first + touched.done).for_each(|p| self.visit_cached(task, visit, p, spent));
                }
                Pages::Each(pages) => {
                    pages[..touched.done as usize]
                        .iter()
                        .for_each(|p| self.visit_cached(task, visit, *p, spent));
                }
            }
            return touched.done;
        }
        let dram = self.spec.dram.visit(visit.lines, visit.write) * (touched.done - touched.pm);
        let pm = self.pm_visits(visit.lines, visit.write, touched.pm);
        spent.user(dram + pm);
        spent.lines[0] += visit.lines * (touched.done - touched.pm);
        spent.lines[1] += visit.lines * touched.pm;
        touched.done
    }

    fn visit_cached(&mut self, task: u32, visit: &Visit, page: u64, spent: &mut Spent) {
        let line = if visit.write { self.spec.dram.write } else { self.spec.dram.read };
        let frame = self.memory.frame(task, visit.area, page);
        if let Some(frame) = frame.filter(|frame| self.memory.medium(*frame) == Medium::Pm) {
            let time = self.through_cache(frame, visit.write, spent);
            spent.user(time);
        }
        spent.user(line * visit.lines);
        spent.lines[0] += visit.lines;
    }

    /// An access of a page of persistent memory through the cache in front of it; gives what a miss takes.
    fn through_cache(&mut self, frame: u64, write: bool, spent: &mut Spent) -> Dur {
        let found = self.cache.as_mut().map(|cache| cache.access(frame, write, spent.now));
        let Some(Found::Miss(time, victim)) = found else { return Dur::ZERO };
        spent.lines[1] += LINES_OF_PAGE;
        if let Some(victim) = victim {
            self.memory.wear(victim, PAGE);
            spent.lines[1] += LINES_OF_PAGE;
        }
        time
    }

    /// The kernel zeroes a page, or a device has written it, and those that were read ahead.
    fn fill(&mut self, frame: u64, spent: &mut Spent) {
        let time = match (self.memory.medium(frame), self.cache.is_some()) {
            (Medium::Pm, false) => self.pm_visits(LINES_OF_PAGE, true, 1),
            (Medium::Dram, _) | (Medium::Pm, true) => self.spec.dram.visit(LINES_OF_PAGE, true),
        };
        let missed = self.write_page(frame, spent);
        spent.system(time + missed);
        // Beside the program: the device alone writes them.
        let read_ahead = std::mem::take(&mut self.memory.read_ahead);
        for frame in &read_ahead {
            self.write_page(*frame, spent);
        }
        self.memory.read_ahead = read_ahead;
    }

    /// All lines of a page are written, to a cache where one is in front of it; gives what a miss there takes.
    fn write_page(&mut self, frame: u64, spent: &mut Spent) -> Dur {
        let is_pm = self.memory.medium(frame) == Medium::Pm;
        if is_pm && self.cache.is_some() {
            spent.lines[0] += LINES_OF_PAGE;
            return self.through_cache(frame, true, spent);
        }
        spent.lines[usize::from(is_pm)] += LINES_OF_PAGE;
        if is_pm {
            self.memory.wear(frame, PAGE);
        }
        Dur::ZERO
    }
}
