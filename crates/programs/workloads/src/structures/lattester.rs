//! LATTester's bandwidth experiments: every thread loads or stores in its pages, in accesses of some lines that lie a stride
//! apart or anywhere.
//!
//! Loads of an access wait for nothing but the instruction window, as vector loads whose values nobody uses. A store
//! is of one word, since what moves is its line; non-temporal stores fill lines, as vector stores do.

use crate::context::Context;
use crate::sync;
use crate::workload::{Asked, Count, Multiple, MultipleOrZero, N, Nanoseconds, Workload, params};
use params::{Plain, Words};
use protocol::{DRAM_BASE, FenceKind, LINE_BYTES, Order, PAGE_BYTES, PM_BASE, line_of};
use units::{Dur, Random, Time};

/// Up to 64 MiB.
const SIZE: params::Kind = Multiple { of: 64, max: 1 << 26 };
/// The same, or nothing.
const SIZE_OR_NONE: params::Kind = MultipleOrZero { of: 64, max: 1 << 26 };

pub(crate) const WORKLOAD: Workload = Workload {
    name: "lattester",
    meaning: "a device's bandwidth: accesses of some size, a stride apart or at random, each thread in its pages",
    source: "Yang et al. (FAST 2020), LATTester's bandwidth experiments",
    params: params! {
        threads "1", "open 1: what is asked of the program";
        "operations" N, "1000000", "open 1000000: what is asked of the program", "the most lines of 64 B that all threads access in the region of interest; the last access ends where they do";
        "time_ns" Nanoseconds { min_ps: 1, max_ps: 1_000_000_000_000 }, "60000", "open 60000: what is asked of the program", "time after which threads begin no other access line, so that they end together";
        "warm" Count { min: 0, max: 10_000_000 }, "0", "open 0: what is asked of the program", "lines before the region of interest; 0: as many as fill what stands before the media, which is more for stores alone";
        "operation" Operation::KIND, "load", "open load: what is asked of the program", "what is done with the lines";
        "reads_per_store" Count { min: 0, max: 1000 }, "1", "open 1: what is asked of the program", "with mix: accesses loaded before each that is stored past the caches";
        "pattern" Pattern::KIND, "stride", "open stride: what is asked of the program", "where the next access is; halves: a stride apart, but the first half of each access of the footprint alone, and then the second half of each";
        "access_size" SIZE, "256", "open 256: what is asked of the program", "bytes of an access, whole lines";
        "stride" SIZE_OR_NONE, "256", "open 256: what is asked of the program", "bytes from the beginning of an access to that of the next, whole lines; 0: each in one place";
        "footprint" SIZE_OR_NONE, "0", "open 0: what is asked of the program", "bytes at the beginning of a thread's pages that it accesses again and again; 0: all of them";
        "region" Region::KIND, "own", "open own: what is asked of the program", "which pages a thread has: own, 2 GiB, one thread behind the other; shared, 16 GiB of all; as if six DIMMs took turns by 4 KiB, dimm: those of one, controller: of every other, channels: of two, three apart";
        "clwb_size" SIZE_OR_NONE, "0", "open 0: what is asked of the program", "bytes stored before their lines are flushed, at the latest at the end of the access; 0: each line at once with store+clwb, none with others";
        "fence_size" SIZE_OR_NONE, "0", "open 0: what is asked of the program", "bytes stored before an sfence, or loaded before an mfence, which takes 12.7 ns more than what it waits for, at the latest at the end of the access; 0: none before the end of the run";
    },
    check: Some(fits),
    program: |c| Box::pin(run(c)),
    recover: None,
};

/// Bytes of a thread's region, one behind the other as in the program: on six DIMMs all threads begin on three of them.
const REGION: u64 = 2 << 30;
/// The DIMMs over which the host lays its pages in turn, and those of one of its two controllers.
const DIMMS: u64 = 6;
const OF_A_CONTROLLER: u64 = 3;
/// A word for each thread, in a line of its own.
const SETTLED: u64 = DRAM_BASE + PAGE_BYTES;
/// Lines that fill the module's buffers and the queues before them.
const FILL_BUFFERS: u64 = 6_000;
/// Twice the lines of the `optane` machine's caches, whose sets fill by chance: evictions are then what reaches memory.
const FILL_CACHES: u64 = 70_000;

/// An mfence with nothing to wait for: 33 cycles of the host's 2.6 GHz (Fog's instruction tables, Skylake-X).
const MFENCE: Dur = Dur::ps(12_700);

/// What is done with the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Operation {
    Load,
    Store,
    #[word = "store+clwb"]
    StoreFlush,
    #[word = "ntstore"]
    NonTemporal,
    /// Accesses that are loaded, and then one of non-temporal stores.
    Mix,
}

/// Where the next access is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Pattern {
    Stride,
    Random,
    Halves,
}

impl Pattern {
    /// In how many parts an access is done, all first parts before all second ones.
    fn parts(self) -> u64 {
        match self {
            Pattern::Stride | Pattern::Random => 1,
            Pattern::Halves => 2,
        }
    }
}

/// Which pages a thread has, as the program's alignments have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Region {
    Own,
    Shared,
    Dimm,
    Controller,
    Channels,
}

impl Region {
    /// Where the pages that a thread's lie among begin in persistent memory, and how many bytes of pages it has of them.
    fn of(self, thread: u64) -> (u64, u64) {
        match self {
            Region::Own => (thread * REGION, REGION),
            Region::Shared => (0, 8 * REGION),
            Region::Dimm => (thread / DIMMS * DIMMS * REGION, REGION),
            Region::Channels => (thread / DIMMS * OF_A_CONTROLLER * REGION, REGION),
            Region::Controller => (0, 4 * REGION),
        }
    }

    /// The place of a thread's own page among these.
    fn page(self, page: u64, thread: u64) -> u64 {
        match self {
            Region::Own | Region::Shared => page,
            Region::Dimm => page * DIMMS + thread % DIMMS,
            Region::Controller => page * 2 + (thread + 1) % 2,
            Region::Channels => page / 2 * DIMMS + page % 2 * OF_A_CONTROLLER + thread % OF_A_CONTROLLER,
        }
    }

    /// The place of a byte of a thread's pages in persistent memory.
    fn place(self, byte: u64, thread: u64) -> u64 {
        self.of(thread).0 + self.page(byte / PAGE_BYTES, thread) * PAGE_BYTES + byte % PAGE_BYTES
    }
}

/// Threads' pages are within the memory, accesses within the footprint, and halves are whole lines.
fn fits(asked: &Asked<'_>) -> Result<(), String> {
    let [access, footprint] =
        ["access_size", "footprint"].map(|key| asked.settings.number(&format!("workload.{key}")));
    if (1..access).contains(&footprint) {
        return Err(format!(
            "workload.footprint = {footprint}: an access has more; give at least workload.access_size = {access}, whole lines, or 0"
        ));
    }
    let pattern: Pattern = asked.settings.read("workload.pattern");
    if !access.is_multiple_of(pattern.parts() * LINE_BYTES) {
        return Err(format!(
            "workload.pattern = {}: half of workload.access_size = {access} is no whole number of lines of {LINE_BYTES} bytes",
            pattern.word()
        ));
    }
    let memory = asked.memory_bytes.unwrap_or(u64::MAX);
    let region: Region = asked.settings.read("workload.region");
    let threads = asked.settings.number("workload.threads");
    let end = |thread| region.place(region.of(thread).1 - 1, thread) + 1;
    let needed = (0..threads).map(end).max().unwrap_or(0);
    if needed > memory {
        return Err(format!(
            "workload.region = {}, workload.threads = {threads}: the threads' pages lie in {needed} bytes, and the memory has {memory}",
            region.word()
        ));
    }
    Ok(())
}

/// One thread's way through its region.
struct Accesses {
    operation: Operation,
    region: Region,
    thread: u64,
    pattern: Pattern,
    /// Bytes that are accessed at once, and in how many such parts those at a place are.
    access: u64,
    parts: u64,
    stride: u64,
    /// Places where an access may begin, and bytes between them.
    places: u64,
    apart: u64,
    /// Lines before a flush and a fence; none where there are none.
    flush_lines: Option<u64>,
    fence_lines: Option<u64>,
    /// Of a mix, accesses loaded before each that is stored.
    reads_per_store: u64,
    number: u64,
    /// The byte of the thread's pages at which the present access begins, and how many of its lines were accessed before.
    here: u64,
    begun: u64,
    random: Random,
    value: u64,
    /// The line that was loaded last.
    loaded: u64,
}

pub(crate) async fn run(c: Context) {
    let mut accesses = Accesses::new(&c);
    let fill = if accesses.operation == Operation::Store && accesses.flush_lines.is_none() {
        FILL_CACHES
    } else {
        FILL_BUFFERS
    };
    let warm = match c.settings.number("workload.warm") {
        0 => fill * accesses.repeats(),
        lines => lines,
    };
    accesses.go(&c, c.share(warm), Time::NEVER).await;
    sync::start(&c).await;
    let ends = c.cpu.now() + c.settings.dur("workload.time_ns");
    let lines = accesses.go(&c, c.share(c.settings.number("workload.operations")), ends).await;
    c.cpu.moved(lines * LINE_BYTES);
    accesses.settle(&c).await;
    sync::finish(&c).await;
}

impl Accesses {
    fn new(c: &Context) -> Accesses {
        let s = &c.settings;
        let operation: Operation = s.read("workload.operation");
        let lines =
            |key: &str| Some(s.number(key)).filter(|bytes| *bytes > 0).map(|b| b.div_ceil(LINE_BYTES));
        let (region, thread) = (s.read::<Region>("workload.region"), c.thread as u64);
        let pattern: Pattern = s.read("workload.pattern");
        let is_random = pattern == Pattern::Random;
        let bytes = Some(s.number("workload.footprint")).filter(|b| *b > 0).unwrap_or(region.of(thread).1);
        let access = s.number("workload.access_size");
        let parts = pattern.parts();
        let stride = s.number("workload.stride");
        // Accesses at random begin at multiples of the power of two that their size has, a page's at most.
        let apart = if is_random { (access & access.wrapping_neg()).min(PAGE_BYTES) } else { stride.max(1) };
        let places = (bytes - access) / apart + 1;
        let mut random = c.random();
        let mut accesses = Accesses {
            operation,
            region,
            thread,
            pattern,
            access: access / parts,
            parts,
            stride,
            places,
            apart,
            flush_lines: lines("workload.clwb_size").or((operation == Operation::StoreFlush).then_some(1)),
            fence_lines: lines("workload.fence_size"),
            reads_per_store: s.number("workload.reads_per_store"),
            number: random.below(places),
            here: 0,
            begun: 0,
            random,
            value: 0,
            loaded: PM_BASE + region.place(0, thread),
        };
        // Threads that have run for seconds are no longer in step: each is somewhere within an access.
        accesses.here = accesses.next();
        accesses.begun = accesses.random.below(accesses.access / LINE_BYTES);
        accesses
    }

    /// Waits until memory has taken what was stored, or given what was loaded: what is on its way at the end was not moved.
    async fn settle(&self, c: &Context) {
        if matches!(self.operation, Operation::Load | Operation::Mix) {
            c.cpu.load(self.loaded).await;
        }
        if self.operation == Operation::Load {
            return;
        }
        c.cpu.dfence().await;
        // A locked operation waits for the fence, which programs themselves go past.
        c.cpu.fetch_add(SETTLED + c.thread as u64 * LINE_BYTES, 1, Order::AcquireRelease).await;
    }

    /// How often each line is accessed, at most 64 times.
    fn repeats(&self) -> u64 {
        if self.pattern == Pattern::Random {
            1
        } else {
            self.access.div_ceil(self.stride.max(LINE_BYTES)).min(64)
        }
    }

    /// So many lines at most, access by access, until `ends`; gives how many.
    async fn go(&mut self, c: &Context, most: u64, ends: Time) -> u64 {
        let mut lines = 0;
        while lines < most && c.cpu.now() < ends {
            let of_access = (self.access / LINE_BYTES - self.begun).min(most - lines);
            lines += self.one(c, of_access, ends).await;
            c.cpu.operation_done();
        }
        lines
    }

    fn next(&mut self) -> u64 {
        self.number += 1;
        if self.pattern == Pattern::Random {
            return self.random.below(self.places) * self.apart;
        }
        let part = self.number / self.places % self.parts;
        (self.number % self.places * self.stride) / LINE_BYTES * LINE_BYTES + part * self.access
    }

    /// Where a line of the present access is.
    fn at(&self, number: u64) -> u64 {
        PM_BASE + self.region.place(self.here + number * LINE_BYTES, self.thread)
    }

    /// One access of `lines`, or fewer where `ends` comes before its end; gives how many.
    async fn one(&mut self, c: &Context, lines: u64, ends: Time) -> u64 {
        if self.begun == 0 {
            self.here = self.next();
        }
        let begun = self.begun;
        self.begun = (begun + lines) % (self.access / LINE_BYTES);
        let [mut unflushed, mut unfenced] = [begun; 2];
        for n in begun..begun + lines {
            self.line(c, self.at(n)).await;
            let done = n + 1;
            let is_last = done == begun + lines || c.cpu.now() >= ends;
            let is_due = |every: u64| is_last || done.is_multiple_of(every);
            if self.flush_lines.is_some_and(is_due) {
                for number in unflushed..done {
                    c.cpu.clwb(self.at(number)).await;
                }
                unflushed = done;
            }
            if self.fence_lines.is_some_and(is_due) {
                self.fence(c, unfenced..done).await;
                unfenced = done;
            }
            if is_last {
                return done - begun;
            }
        }
        lines
    }

    /// What is done with the present access.
    fn here(&self) -> Operation {
        let is_stored = || self.number % (self.reads_per_store + 1) == self.reads_per_store;
        match self.operation {
            Operation::Mix if is_stored() => Operation::NonTemporal,
            Operation::Mix => Operation::Load,
            Operation::Load | Operation::Store | Operation::StoreFlush | Operation::NonTemporal => {
                self.operation
            }
        }
    }

    /// An sfence, or an mfence: `lines` of the present access were loaded since the last one.
    async fn fence(&self, c: &Context, lines: std::ops::Range<u64>) {
        if self.here() != Operation::Load {
            c.cpu.fence(FenceKind::Sfence).await;
            return;
        }
        for number in lines {
            c.cpu.arrival(line_of(self.at(number))).await;
        }
        c.cpu.compute(MFENCE).await;
    }

    async fn line(&mut self, c: &Context, line: u64) {
        self.value += 1;
        match self.here() {
            Operation::Load | Operation::Mix => {
                self.loaded = line;
                c.cpu.prefetch(line).await;
            }
            Operation::Store | Operation::StoreFlush => drop(c.cpu.store(line, self.value).await),
            Operation::NonTemporal => c.cpu.store_line_nontemporal(line, self.value).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DIMMs on which a thread's first pages are, where six take turns.
    fn dimms(region: Region, thread: u64) -> Vec<u64> {
        let page = |n| region.place(n * PAGE_BYTES + 64, thread) / PAGE_BYTES;
        let mut dimms: Vec<u64> = (0..600).map(|n| page(n) % DIMMS).collect();
        dimms.sort_unstable();
        dimms.dedup();
        dimms
    }

    #[test]
    fn threads_have_the_dimms_of_their_region() {
        let all: Vec<u64> = (0..DIMMS).collect();
        for thread in 0..24 {
            assert_eq!(dimms(Region::Own, thread), all);
            assert_eq!(dimms(Region::Shared, thread), all);
            assert_eq!(dimms(Region::Dimm, thread), [thread % 6]);
            assert_eq!(dimms(Region::Channels, thread), [thread % 3, thread % 3 + 3]);
            let first = (thread + 1) % 2;
            assert_eq!(dimms(Region::Controller, thread), [first, first + 2, first + 4]);
        }
    }

    #[test]
    fn no_two_bytes_of_a_thread_are_in_one_place() {
        for region in [Region::Own, Region::Shared, Region::Dimm, Region::Controller, Region::Channels] {
            let mut places: Vec<u64> = (0..1000).map(|n| region.place(n * 1024, 7)).collect();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 1000, "{region:?}");
        }
    }
}
