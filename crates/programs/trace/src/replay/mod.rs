//! A recorded program as a workload: each thread's records in program order, with the instructions between them.
//!
//! A load waits for nothing; an access waits for the load that gave its address, as far as the recording tells
//! ([`pointers`]). Files lie one after the other in persistent memory and hold at first what they held then; what the
//! kernel does to them takes the thread's time ([`FileSync`]).
//!
//! Who comes first where threads meet is one of two things. Recorded: every address that threads synchronise on has a
//! turn word in simulated memory; the k-th operation on it waits until the word says k, acts, and releases the word
//! with k + 1. Simulated: a lock is a word that threads fight for; other synchronisation keeps its recorded turn where
//! the thread holds no lock, and as far as its patience reaches.

mod merge;
mod order;
mod pending;
mod pointers;
mod scout;
mod scouts;
mod settings;
mod survey;
mod tails;

pub use settings::{FileSync, Options, PARAMS};
pub use survey::Survey;

use crate::error::TraceError;
use crate::record::{Call, Kind, Record};
use crate::recording::Recording;
use crate::space::Layout;
use order::{Flushed, Running};
use protocol::{Cpu, FenceKind, FlushKind, Op, OpKind, Order, PAGE_BYTES, PM_BASE, Touched};
use scout::{FORGOTTEN, NO_WORD, Places, Step};
use scouts::Scouts;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use survey::MOST_CORES;
use units::{Dur, Time};

/// Marks of a thread that are remembered: more than wait behind a store buffer.
const MOST_MARKS: usize = 1024;

/// A recording, ready to run on a machine.
pub struct Replay {
    survey: Arc<Survey>,
    options: Options,
    scouts: RefCell<Scouts>,
    /// For each thread: the words that say that it was created and has ended; 0 where nobody asks.
    births: Vec<(u64, u64)>,
    /// For each thread: records done.
    passed: Vec<Cell<u64>>,
    /// For each thread: records done before each of its last marks, the latest last.
    marks: Vec<RefCell<VecDeque<u64>>>,
    /// How far the region of interest is, how many bounds of it there are, and how many have been passed.
    region: Cell<Region>,
    bounds: u64,
    bounds_passed: Cell<u64>,
    /// How many more of these were beginnings than ends: a thread may come to the next part before another has left this one.
    depth: Cell<i64>,
    /// When the region last began or ended, and how long it was not open between its parts.
    turned: Cell<Time>,
    gaps: Cell<Dur>,
}

/// How often the region of interest has begun or ended, where the recording bounds it: it is open after an odd number of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region(u64);

impl Region {
    /// Whether what happens now is of it.
    pub fn is_open(self) -> bool {
        self.0 % 2 == 1
    }

    fn has_begun(self) -> bool {
        self.0 > 0
    }
}

/// What a core has been told of the region of interest: how far it is, and how long it was not open between its parts.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    region: Region,
    gaps: Dur,
}

/// When the value of a remembered load is there.
#[derive(Clone, Copy, Debug, Default)]
enum Arrival {
    #[default]
    Here,
    At(Time),
    WithLine(protocol::Line),
}

impl Replay {
    /// Makes a recording ready that `survey` is of.
    ///
    /// # Errors
    /// When nothing in it is in the machine's memory, or too many of its threads run at once.
    pub fn new(recording: Recording, survey: Arc<Survey>, options: Options) -> Result<Replay, TraceError> {
        if survey.lanes.len() > MOST_CORES {
            let text = format!(
                "{} of its {} threads run at once; a machine has at most {MOST_CORES} cores",
                survey.lanes.len(),
                survey.threads
            );
            return Err(TraceError::unfit(text));
        }
        if recording.about().pages {
            let text = "the trace tells of pages and of nothing smaller; give a machine at page fidelity (machine.fidelity = page)";
            return Err(TraceError::unfit(text));
        }
        if survey.layout.files().is_empty() && !options.all_pm {
            let text = "the trace has no persistent range (its program mapped no file for writing); --set workload.pm=all takes every address for persistent memory";
            return Err(TraceError::unfit(text));
        }
        let after_files = survey.layout.end().next_multiple_of(PAGE_BYTES);
        let mut places = Places::new(options.all_pm.then_some(after_files));
        let mut births = vec![(NO_WORD, NO_WORD); recording.threads()];
        let joins = recording.counts().kind(Kind::Join) > 0;
        for thread in survey.lanes.iter().flatten() {
            let born = if survey.created[*thread] { places.word() } else { NO_WORD };
            let ended = if joins { places.word() } else { NO_WORD };
            births[*thread] = (born, ended);
        }
        let passed = vec![Cell::new(0); recording.threads()];
        let bounds = recording.counts().kind(Kind::Region);
        let marks = vec![RefCell::default(); recording.threads()];
        let scouts = Scouts::new(recording, Arc::clone(&survey), options.clone(), places);
        Ok(Replay {
            survey,
            options,
            scouts: RefCell::new(scouts),
            births,
            passed,
            marks,
            region: Cell::default(),
            bounds,
            bounds_passed: Cell::default(),
            depth: Cell::default(),
            turned: Cell::default(),
            gaps: Cell::default(),
        })
    }

    /// Cores that it takes.
    pub fn threads(&self) -> usize {
        self.survey.lanes.len()
    }

    /// Where the files lie.
    pub fn layout(&self) -> &Layout {
        &self.survey.layout
    }

    /// Records done of each thread, in the order of `Recording::thread`.
    pub fn passed(&self) -> Vec<u64> {
        self.passed.iter().map(Cell::get).collect()
    }

    /// The same as the world has been told of, where a core has not told of its last `untold` marks: as if the thread stood before
    /// the first of these.
    pub fn told(&self, untold: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut told = self.passed();
        for (lane, untold) in self.survey.lanes.iter().zip(untold) {
            let Some(thread) = lane.iter().rev().find(|thread| told[**thread] > 0) else { continue };
            let marks = self.marks[*thread].borrow();
            let first = marks.len().saturating_sub(untold as usize);
            if let Some(before) = marks.get(first) {
                told[*thread] = told[*thread].min(*before);
            }
        }
        told
    }

    /// Records done of all threads.
    pub fn done(&self) -> u64 {
        self.passed.iter().map(Cell::get).sum()
    }

    /// Whether the recording bounds a region of interest.
    pub fn is_bounded(&self) -> bool {
        self.bounds > 0
    }

    /// How far the region of interest is.
    pub fn region(&self) -> Region {
        self.region.get()
    }

    /// When the region of interest last began or ended.
    pub fn region_turned(&self) -> Time {
        self.turned.get()
    }

    /// Whether the region of interest has ended for the last time: nothing that comes is counted.
    pub fn is_over(&self) -> bool {
        self.bounds > 0 && !self.region.get().is_open() && self.bounds_passed.get() == self.bounds
    }

    /// The program of one core: its threads, one after the other.
    pub async fn run(self: Rc<Replay>, cpu: Cpu, core: usize) {
        let mut told = Told::default();
        for thread in &self.survey.lanes[core] {
            told = self.thread(&cpu, *thread, told).await;
        }
    }

    /// Gives what its core has been told of the region of interest.
    async fn thread(&self, cpu: &Cpu, thread: usize, told: Told) -> Told {
        let (born, ended) = self.births[thread];
        if born != NO_WORD {
            order::wait_for(cpu, born, 1).await;
        }
        let mut running = Running::new(told);
        loop {
            let steps = self.scouts.borrow_mut().take(thread);
            if steps.is_empty() {
                break;
            }
            for step in &steps {
                if running.told.region != self.region.get() {
                    cpu.catch_up().await;
                    self.follow_region(cpu, &mut running.told);
                }
                self.step(cpu, step, &mut running).await;
                self.passed[thread].set(step.passed);
            }
        }
        if running.written {
            // What the kernel wrote leaves the write-combining buffers by and by.
            cpu.fence(FenceKind::Sfence).await;
        }
        if ended != NO_WORD {
            cpu.store_release(ended, 1).await;
        }
        running.told
    }

    async fn step(&self, cpu: &Cpu, step: &Step, running: &mut Running) {
        self.compute(cpu, step).await;
        if step.needs != 0 {
            wait_for_address(cpu, step.needs, &running.loads).await;
        }
        self.settle(cpu, step.record.kind, running).await;
        match step.record.kind {
            kind @ (Kind::Region | Kind::LoadAcquire | Kind::StoreRelease | Kind::Rmw)
                if if kind == Kind::Region { step.word != NO_WORD } else { self.options.simulated } =>
            {
                let seen = self.options.turn(cpu, step, running).await;
                self.act(cpu, step, running).await;
                if seen <= step.turn {
                    self.options.pass_turn(cpu, step).await;
                }
            }
            Kind::Lock if self.options.simulated => {
                self.options.lock(cpu, step, running).await;
                self.note_persistent_lock(cpu, step, running).await;
            }
            Kind::Unlock if self.options.simulated => {
                self.note_persistent_lock(cpu, step, running).await;
                order::unlock(cpu, step, running).await;
            }
            Kind::Turn if step.word != NO_WORD => {
                order::keep_place(cpu, step).await;
                // A store is the next of them.
                if step.record.value != 0 {
                    self.options.pass_turn(cpu, step).await;
                }
            }
            Kind::LoadAcquire | Kind::StoreRelease | Kind::Rmw | Kind::Lock | Kind::Unlock => {
                order::wait_for_turn(cpu, step).await;
                self.act(cpu, step, running).await;
                self.options.pass_turn(cpu, step).await;
            }
            Kind::Load
            | Kind::Store
            | Kind::StoreNonTemporal
            | Kind::Clwb
            | Kind::Clflushopt
            | Kind::Clflush
            | Kind::Sfence
            | Kind::Mfence
            | Kind::Create
            | Kind::Join
            | Kind::Map
            | Kind::Unmap
            | Kind::Start
            | Kind::End
            | Kind::Mark
            | Kind::Operand
            | Kind::Call
            | Kind::Written
            | Kind::Observed
            | Kind::Contents
            | Kind::Unseen
            | Kind::Order
            | Kind::Turn
            | Kind::Region => self.act(cpu, step, running).await,
        }
    }

    /// On x86 a full fence and a locked operation wait for earlier flushes as sfence does; machines that know only their
    /// own fences are told so.
    async fn settle(&self, cpu: &Cpu, kind: Kind, running: &mut Running) {
        let fences = matches!(kind, Kind::Mfence | Kind::Rmw | Kind::Lock);
        let lets_go_on =
            matches!(kind, Kind::Unlock | Kind::StoreRelease | Kind::Rmw | Kind::Create | Kind::Turn);
        if lets_go_on && std::mem::take(&mut running.written) {
            // The kernel takes and gives back its own locks after it has written, by locked operations.
            cpu.fence(FenceKind::Sfence).await;
        }
        // By clflush a line is written in the order of stores, and whoever hears of a mark hears of it by one: libpmem fences no clflush.
        let is_told = kind == Kind::Mark && running.flushed == Flushed::InOrder;
        if kind == Kind::Clflush {
            running.flushed = running.flushed.max(Flushed::InOrder);
        } else if kind.is_flush() || kind == Kind::StoreNonTemporal {
            running.flushed = Flushed::Unordered;
        } else if kind == Kind::Written && self.options.sync == FileSync::Dax {
            running.written = true;
        } else if kind == Kind::Sfence {
            running.flushed = Flushed::Nothing;
        } else if (fences || is_told) && std::mem::take(&mut running.flushed) > Flushed::Nothing {
            cpu.fence(FenceKind::Sfence).await;
        }
    }

    /// A lock in persistent memory changes its line, whoever may have it.
    async fn note_persistent_lock(&self, cpu: &Cpu, step: &Step, running: &mut Running) {
        if step.record.address >= PM_BASE {
            self.act(cpu, step, running).await;
        }
    }

    /// The instructions since the thread's last record; the record's own is charged with the reference.
    async fn compute(&self, cpu: &Cpu, step: &Step) {
        let counted = u64::from(step.record.instructions);
        let own = u64::from(step.record.kind.has_place());
        let instructions = counted.saturating_sub(own);
        if instructions > 0 {
            cpu.compute_instructions(self.options.time_of(instructions), instructions).await;
        }
    }

    async fn act(&self, cpu: &Cpu, step: &Step, running: &mut Running) {
        let r = &step.record;
        let value = self.value(r);
        let op = |kind, order| Op { kind, address: r.address, size: r.size, order, value };
        let exchange = OpKind::Rmw(protocol::RmwKind::Exchange);
        match r.kind {
            Kind::Load => {
                let answer = cpu.op(op(OpKind::Prefetch, Order::Plain)).await;
                if step.number != FORGOTTEN {
                    running.loads[usize::from(step.number)] = match Touched::from_answer(answer) {
                        Touched::After(time) => Arrival::At(cpu.now() + time),
                        Touched::WithLine(line) => Arrival::WithLine(line),
                    };
                }
            }
            Kind::Store | Kind::Observed => _ = cpu.op(op(OpKind::Store, Order::Plain)).await,
            Kind::StoreNonTemporal => _ = cpu.op(op(OpKind::StoreNonTemporal, Order::Plain)).await,
            Kind::Written if !step.lines.is_empty() => self.clear(cpu, step).await,
            Kind::Written if self.options.sync == FileSync::Dax => {
                _ = cpu.op(op(OpKind::StoreNonTemporal, Order::Plain)).await;
            }
            Kind::Written => _ = cpu.op(op(OpKind::Store, Order::Plain)).await,
            Kind::LoadAcquire => _ = cpu.op(op(OpKind::Load, Order::Acquire)).await,
            Kind::StoreRelease => _ = cpu.op(op(OpKind::Store, Order::Release)).await,
            Kind::Rmw => _ = cpu.op(op(exchange, Order::AcquireRelease)).await,
            Kind::Clwb => _ = cpu.op(op(OpKind::Flush(FlushKind::Clwb), Order::Plain)).await,
            Kind::Clflushopt => _ = cpu.op(op(OpKind::Flush(FlushKind::Clflushopt), Order::Plain)).await,
            Kind::Clflush => _ = cpu.op(op(OpKind::Flush(FlushKind::Clflush), Order::Plain)).await,
            Kind::Sfence => _ = cpu.fence(FenceKind::Sfence).await,
            Kind::Order => _ = cpu.fence(FenceKind::Ofence).await,
            Kind::Mfence => _ = cpu.fence(FenceKind::Mfence).await,
            Kind::Lock => {
                // One of several readers hands on what it acquired.
                let (address, order) = (r.address & !7, Order::AcquireRelease);
                _ = cpu.op(Op { kind: exchange, address, size: 8, order, value: 1 }).await;
            }
            Kind::Unlock => _ = cpu.store_release(r.address & !7, 0).await,
            Kind::Create => self.signal(cpu, r.value, |(born, _)| born, true).await,
            Kind::Join => self.signal(cpu, r.value, |(_, ended)| ended, false).await,
            Kind::Mark => {
                cpu.operation_done();
                let mut marks = self.marks[usize::from(r.thread)].borrow_mut();
                if marks.len() == MOST_MARKS {
                    marks.pop_front();
                }
                marks.push_back(step.passed - 1);
            }
            Kind::Call => self.call(cpu, step).await,
            Kind::Map
            | Kind::Unmap
            | Kind::Start
            | Kind::End
            | Kind::Operand
            | Kind::Contents
            | Kind::Unseen
            | Kind::Turn => {}
            Kind::Region => self.bound(cpu, r.value % 2 == 1, &mut running.told).await,
        }
    }

    /// The region of interest begins or ends, on this core here and on others at their next records. The core is ahead of its store
    /// buffer: what becomes visible by now comes before the bound.
    async fn bound(&self, cpu: &Cpu, begins: bool, told: &mut Told) {
        cpu.catch_up().await;
        self.bounds_passed.set(self.bounds_passed.get() + 1);
        self.depth.set((self.depth.get() + if begins { 1 } else { -1 }).max(0));
        let region = self.region.get();
        if region.is_open() != (self.depth.get() > 0) {
            let before = self.turned.replace(cpu.now());
            if begins && region.has_begun() {
                self.gaps.set(self.gaps.get() + cpu.now().since(before));
            }
            self.region.set(Region(region.0 + 1));
            self.follow_region(cpu, told);
        }
    }

    /// Follows what another core said of the region. A core that is told of its end only later was not in it meanwhile: it waited.
    fn follow_region(&self, cpu: &Cpu, told: &mut Told) {
        let (now, gaps) = (self.region.get(), self.gaps.get());
        let before = std::mem::replace(told, Told { region: now, gaps });
        let skipped = gaps - before.gaps;
        match (before.region.is_open(), now.is_open()) {
            (true, true) => cpu.region_skipped(skipped),
            (false, true) => cpu.region_begins(),
            (true, false) => {
                cpu.region_skipped(skipped + cpu.now().since(self.turned.get()));
                cpu.region_ends();
            }
            (false, false) if !before.region.has_begun() => {
                cpu.region_begins();
                cpu.region_ends();
            }
            (false, false) => {}
        }
    }

    /// What a store leaves. No time hangs on it: where nobody looks, it is zero, which takes no room in memory.
    fn value(&self, r: &Record) -> u64 {
        if self.options.keeps_bytes && r.address >= PM_BASE { r.value } else { 0 }
    }

    /// A call of the kernel. One that makes files durable flushes the lines that are still to be flushed and waits for
    /// them, or writes their pages back.
    async fn call(&self, cpu: &Cpu, step: &Step) {
        cpu.compute(self.options.syscall).await;
        let durable = [Call::Msync, Call::Fdatasync, Call::Fsync, Call::Sync];
        if !Call::from_number(step.record.value as u8).is_some_and(|c| durable.contains(&c)) {
            return;
        }
        if self.options.sync == FileSync::PageCache {
            let pages: BTreeSet<u64> = step.lines.iter().map(|line| line / PAGE_BYTES).collect();
            cpu.compute(self.options.page_write_back * pages.len() as u64).await;
            return;
        }
        for line in &step.lines {
            cpu.clwb(*line).await;
        }
        self.wait_for_durable(cpu).await;
    }

    /// What lies behind the end of a file becomes zero before the file has grown over it: durable on persistent memory, in the
    /// page cache before a device.
    async fn clear(&self, cpu: &Cpu, step: &Step) {
        let dax = self.options.sync == FileSync::Dax;
        let kind = if dax { OpKind::StoreNonTemporal } else { OpKind::Store };
        for line in &step.lines {
            let first = step.record.address.max(*line);
            if dax && first == *line {
                cpu.store_line_nontemporal(*line, 0).await;
                continue;
            }
            for word in (*line..line + 64).step_by(8).filter(|word| word + 8 > first) {
                let address = word.max(first);
                let size = (word + 8 - address) as u8;
                cpu.op(Op { kind, address, size, order: Order::Plain, value: 0 }).await;
            }
        }
        if dax {
            self.wait_for_durable(cpu).await;
        }
    }

    /// The first waits on machines with a persist path, the second on those that flush.
    async fn wait_for_durable(&self, cpu: &Cpu) {
        cpu.dfence().await;
        cpu.fence(FenceKind::Mfence).await;
    }

    /// Sets another thread's word, or waits for it.
    async fn signal(&self, cpu: &Cpu, thread: u64, word: impl Fn((u64, u64)) -> u64, set: bool) {
        match self.births.get(thread as usize).map(|b| word(*b)) {
            Some(word) if word != NO_WORD && set => _ = cpu.store_release(word, 1).await,
            Some(word) if word != NO_WORD => order::wait_for(cpu, word, 1).await,
            _ => {}
        }
    }
}

/// Waits until the values of some loads are there.
async fn wait_for_address(cpu: &Cpu, needs: u16, loads: &[Arrival; pointers::KEPT]) {
    let mut until = Time::ZERO;
    for (_, arrival) in loads.iter().enumerate().filter(|(n, _)| needs >> n & 1 == 1) {
        match arrival {
            Arrival::Here => {}
            Arrival::At(time) => until = until.max(*time),
            Arrival::WithLine(line) => _ = cpu.arrival(*line).await,
        }
    }
    if until > cpu.now() {
        cpu.compute(until.since(cpu.now())).await;
    }
}
