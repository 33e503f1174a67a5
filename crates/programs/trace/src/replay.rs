//! A recorded program as a workload: each thread's records in program order, and synchronisation in the recorded
//! order, so that who waits for whom follows the simulated machine.
//!
//! Every address that threads synchronise on gets a turn word in simulated memory. The k-th operation on it waits
//! until the word says k, acts, and releases the word with k + 1. Loads do not wait for their values: the recorder
//! does not know which later instruction needed them.

use crate::error::TraceError;
use crate::record::{Kind, Record, Trace};
use protocol::params::Kind as ParamKind;
use protocol::{
    Cpu, DRAM_BASE, FenceKind, FlushKind, Op, OpKind, Order, PAGE_BYTES, PM_BASE, Param, RmwKind,
};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use units::Dur;

/// Parameters of a replayed trace.
pub const PARAMS: &[Param] = &[Param {
    key: "workload.pm",
    kind: ParamKind::Choice(&["ranges", "all"]),
    default: "ranges",
    source: "-",
    meaning: "what is persistent memory: the ranges that the program mapped, or every address",
}];

/// Threads that a trace may have to be replayed.
const MOST_THREADS: usize = 64;

/// Cycles of 2 GHz between two looks at a turn word: at first, and at most.
const BACKOFF_PS: (u64, u64) = (10_000, 160_000);

/// A trace made ready: addresses translated, turns counted.
pub struct Replay {
    threads: Vec<Vec<Record>>,
    /// For each thread: the turn of each of its stamped records, and the word that shows it.
    turns: Vec<Vec<(u64, u64)>>,
    /// For each thread: the words that say that it was created, 0 for those that start by themselves, and has ended.
    births: Vec<(u64, u64)>,
}

impl Replay {
    /// Makes a trace ready; `all_pm` takes every address for persistent memory.
    ///
    /// # Errors
    /// When the trace has no persistent range and `all_pm` is not asked for, or too many threads.
    pub fn new(trace: &Trace, all_pm: bool) -> Result<Replay, TraceError> {
        if trace.threads.len() > MOST_THREADS {
            let text = format!("{} threads; a machine has at most {MOST_THREADS} harts", trace.threads.len());
            return Err(TraceError::unfit(text));
        }
        let ranges = trace.pm_ranges();
        if ranges.is_empty() && !all_pm {
            let text = "the trace has no persistent range (its program mapped no file for writing); --set workload.pm=all takes every address for persistent memory";
            return Err(TraceError::unfit(text));
        }
        let mut pages = Pages::new(if all_pm { Vec::new() } else { ranges }, all_pm);
        let mut words = Words { next: DRAM_BASE + PAGE_BYTES };
        let births = births(trace, &mut words);
        let turns = turns(trace, &mut words);
        let mut threads = trace.threads.clone();
        // Addresses get their places in the order of the threads' records.
        for record in threads.iter_mut().flatten() {
            if uses_address(record.kind) {
                record.address = pages.translate(record.address);
            }
        }
        Ok(Replay { threads, turns, births })
    }

    /// Harts that it takes.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The program of one thread.
    pub async fn run(self: Rc<Replay>, cpu: Cpu, thread: usize) {
        let (born, ended) = self.births[thread];
        if born != 0 {
            wait(&cpu, born, 1).await;
        }
        let mut turn = self.turns[thread].iter().copied();
        for record in &self.threads[thread] {
            let stamped = if takes_turn(record.kind) { turn.next() } else { None };
            if let Some((word, k)) = stamped {
                wait(&cpu, word, k).await;
            }
            self.step(&cpu, record).await;
            if let Some((word, k)) = stamped {
                cpu.store_release(word, k + 1).await;
            }
        }
        cpu.store_release(ended, 1).await;
    }

    async fn step(&self, cpu: &Cpu, r: &Record) {
        let op = |kind, order| Op { kind, address: r.address, size: r.size, order, value: r.value };
        match r.kind {
            Kind::Load => _ = cpu.op(op(OpKind::Touch, Order::Plain)).await,
            Kind::Store => _ = cpu.op(op(OpKind::Store, Order::Plain)).await,
            Kind::StoreNonTemporal => _ = cpu.op(op(OpKind::StoreNonTemporal, Order::Plain)).await,
            Kind::LoadAcquire => _ = cpu.op(op(OpKind::Load, Order::Acquire)).await,
            Kind::StoreRelease => _ = cpu.op(op(OpKind::Store, Order::Release)).await,
            Kind::Rmw => _ = cpu.op(op(OpKind::Rmw(RmwKind::Exchange), Order::AcquireRelease)).await,
            Kind::Clwb => _ = cpu.op(op(OpKind::Flush(FlushKind::Clwb), Order::Plain)).await,
            Kind::Clflushopt => _ = cpu.op(op(OpKind::Flush(FlushKind::Clflushopt), Order::Plain)).await,
            Kind::Clflush => _ = cpu.op(op(OpKind::Flush(FlushKind::Clflush), Order::Plain)).await,
            Kind::Sfence => _ = cpu.fence(FenceKind::Sfence).await,
            Kind::Order => _ = cpu.fence(FenceKind::Ofence).await,
            Kind::Mfence => _ = cpu.fence(FenceKind::Mfence).await,
            Kind::Lock => _ = cpu.compare_exchange(r.address & !7, 0, 1, Order::Acquire).await,
            Kind::Unlock => _ = cpu.store_release(r.address & !7, 0).await,
            Kind::Create => self.signal(cpu, r.value, |(born, _)| born, true).await,
            Kind::Join => self.signal(cpu, r.value, |(_, ended)| ended, false).await,
            Kind::Mark => cpu.operation_done(),
            Kind::Map
            | Kind::Unmap
            | Kind::Start
            | Kind::End
            | Kind::Operand
            | Kind::Call
            | Kind::Written
            | Kind::Observed
            | Kind::Contents
            | Kind::Unseen => {}
        }
    }

    /// Sets another thread's word, or waits for it.
    async fn signal(&self, cpu: &Cpu, thread: u64, word: impl Fn((u64, u64)) -> u64, set: bool) {
        match self.births.get(thread as usize).map(|b| word(*b)) {
            Some(word) if word != 0 && set => _ = cpu.store_release(word, 1).await,
            Some(word) if word != 0 => wait(cpu, word, 1).await,
            _ => {}
        }
    }
}

/// Spins until a word has a value.
async fn wait(cpu: &Cpu, word: u64, value: u64) {
    let mut pause = BACKOFF_PS.0;
    while cpu.load_acquire(word).await != value {
        cpu.work(Dur::ps(pause)).await;
        pause = (pause * 2).min(BACKOFF_PS.1);
    }
}

fn uses_address(kind: Kind) -> bool {
    use Kind::{
        Clflush, Clflushopt, Clwb, Load, LoadAcquire, Lock, Rmw, Store, StoreNonTemporal, StoreRelease,
        Unlock,
    };
    matches!(
        kind,
        Load | Store
            | StoreNonTemporal
            | LoadAcquire
            | StoreRelease
            | Rmw
            | Clwb
            | Clflushopt
            | Clflush
            | Lock
            | Unlock
    )
}

/// Whether the kind waits for its turn at an address.
fn takes_turn(kind: Kind) -> bool {
    matches!(kind, Kind::LoadAcquire | Kind::StoreRelease | Kind::Rmw | Kind::Lock | Kind::Unlock)
}

/// Words of the replay's own, a line each.
struct Words {
    next: u64,
}

impl Words {
    fn take(&mut self) -> u64 {
        self.next += 64;
        self.next - 64
    }
}

fn births(trace: &Trace, words: &mut Words) -> Vec<(u64, u64)> {
    let created: Vec<u64> = trace.records().filter(|r| r.kind == Kind::Create).map(|r| r.value).collect();
    (0..trace.threads.len() as u64)
        .map(|t| (if created.contains(&t) { words.take() } else { 0 }, words.take()))
        .collect()
}

/// The turn of each stamped record, by address in the order of the stamps.
fn turns(trace: &Trace, words: &mut Words) -> Vec<Vec<(u64, u64)>> {
    let mut stamped: Vec<(u32, usize, usize, u64)> = Vec::new();
    for (thread, records) in trace.threads.iter().enumerate() {
        let own = records.iter().filter(|r| takes_turn(r.kind));
        stamped.extend(own.enumerate().map(|(n, r)| (r.stamp, thread, n, r.address & !7)));
    }
    stamped.sort_unstable();
    let mut next: FxHashMap<u64, (u64, u64)> = FxHashMap::default();
    let mut turns: Vec<Vec<(u64, u64)>> = vec![Vec::new(); trace.threads.len()];
    for (_, thread, n, address) in stamped {
        let (word, k) = next.entry(address).or_insert_with(|| (words.take(), 0));
        let row = &mut turns[thread];
        if row.len() <= n {
            row.resize(n + 1, (0, 0));
        }
        row[n] = (*word, *k);
        *k += 1;
    }
    turns
}

/// Pages of the recorded program and their places in simulated memory.
struct Pages {
    ranges: Vec<(u64, u64, u64)>,
    places: FxHashMap<u64, u64>,
    next: u64,
}

impl Pages {
    fn new(ranges: Vec<(u64, u64)>, all_pm: bool) -> Pages {
        let mut at = PM_BASE;
        let mut placed = Vec::new();
        for (first, bytes) in ranges {
            placed.push((first, bytes, at));
            at += bytes.next_multiple_of(PAGE_BYTES);
        }
        // The replay's own words come before the program's pages.
        let next = if all_pm { PM_BASE } else { DRAM_BASE + (64 << 20) };
        Pages { ranges: placed, places: FxHashMap::default(), next }
    }

    fn translate(&mut self, address: u64) -> u64 {
        let range = self.ranges.iter().find(|(first, bytes, _)| address.wrapping_sub(*first) < *bytes);
        if let Some((first, _, at)) = range {
            return at + (address - first);
        }
        let page = self.places.entry(address / PAGE_BYTES).or_insert_with(|| {
            self.next += PAGE_BYTES;
            self.next - PAGE_BYTES
        });
        *page + address % PAGE_BYTES
    }
}
