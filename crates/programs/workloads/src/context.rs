//! What a workload's thread is given: its core, its share of memory, its random numbers, its parameters.

use crate::pages::PageStream;
use protocol::{Access, Cpu, DRAM_BASE, NearInterface, PM_BASE, Settings};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use units::{Dur, Random};

/// How memory is divided: a common part for roots, locks and what is shared from the start, and an arena for
/// each thread, so that no allocation of one thread depends on another's timing.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bytes of the common part, in each of the two memories.
    pub common_bytes: u64,
    /// Bytes of each thread's arena, in each of the two memories.
    pub arena_bytes: u64,
}

impl Layout {
    /// The usual division.
    pub const USUAL: Layout = Layout { common_bytes: 64 << 20, arena_bytes: 64 << 20 };

    /// The parameter by which a workload's threads may have more than usual, in MiB.
    pub const KEY: &str = "workload.thread_mib";

    /// The division for a workload with these parameters: by [`Layout::KEY`] where it has that, else the usual one.
    pub fn of(settings: &Settings) -> Layout {
        let mib = settings.get(Layout::KEY).and_then(|setting| setting.as_number());
        Layout { arena_bytes: mib.map_or(Layout::USUAL.arena_bytes, |mib| mib << 20), ..Layout::USUAL }
    }

    pub(crate) fn arena(&self, base: u64, thread: usize) -> Arena {
        let first = base + self.common_bytes + thread as u64 * self.arena_bytes;
        Arena::new(first, first + self.arena_bytes)
    }
}

/// A program needs more memory than its arena has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaFull;

/// Does `work`, in which programs allocate.
///
/// # Errors
/// When one of them needs more memory than its arena has.
pub fn within_arenas<T>(work: impl FnOnce() -> T) -> Result<T, ArenaFull> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|payload| {
        if !payload.is::<ArenaFull>() {
            std::panic::resume_unwind(payload);
        }
        ArenaFull
    })
}

/// A bump allocator over a range of simulated memory. Freed memory is not reused: workloads are sized to fit.
#[derive(Clone, Debug)]
pub struct Arena {
    next: Rc<Cell<u64>>,
    end: u64,
}

impl Arena {
    /// An arena over `first..end`.
    pub fn new(first: u64, end: u64) -> Arena {
        Arena { next: Rc::new(Cell::new(first)), end }
    }

    /// `bytes` bytes at a multiple of `align`, a power of two.
    ///
    /// Unwinds with [`ArenaFull`] when there is no room: how much a program needs shows only as it runs.
    pub fn alloc(&self, bytes: u64, align: u64) -> u64 {
        let address = self.next.get().next_multiple_of(align);
        match address.checked_add(bytes).filter(|end| *end <= self.end) {
            Some(end) => self.next.set(end),
            None => std::panic::resume_unwind(Box::new(ArenaFull)),
        }
        address
    }

    /// `lines` whole cache lines.
    pub fn lines(&self, lines: u64) -> u64 {
        self.alloc(lines * 64, 64)
    }
}

/// A DRAM cache in front of persistent memory, or one in front of each of several memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PmCache {
    /// Bytes that are in them at once.
    pub bytes: u64,
    /// Bytes one after the other of which each has as many as it holds.
    pub span_bytes: u64,
}

/// What a thread has.
#[derive(Clone)]
pub struct Context {
    /// Its core.
    pub cpu: Cpu,
    /// Its number, from zero.
    pub thread: usize,
    /// How many threads there are.
    pub threads: usize,
    /// Persistent memory of its own.
    pub pm: Arena,
    /// DRAM of its own.
    pub dram: Arena,
    /// The parameters of the workload.
    pub settings: Rc<Settings>,
    /// What of persistent memory is in a DRAM cache in front of it; none where there is no such cache.
    pub pm_cache: Option<PmCache>,
    /// Bytes of the shared cache in which stores past the caches stay; 0 where they go past them.
    pub stays_cached: u64,
    /// Whether the first touch of a page of persistent memory is a fault, in which a driver maps it.
    pub is_mapped_late: bool,
    /// Devices that take crash consistency over; none where programs do it themselves.
    pub near: Option<NearInterface>,
    /// A recorded page stream that the user gave.
    pub pages: Option<Arc<PageStream>>,
    /// Instructions that a core executes in a millisecond where nothing makes it wait.
    pub rate: u64,
    /// Cycles of a core in a microsecond.
    pub clock_mhz: u64,
    seed: u64,
}

impl Context {
    /// The context of `thread` of `threads`.
    pub fn new(cpu: Cpu, thread: usize, threads: usize, settings: Rc<Settings>, seed: u64) -> Context {
        let layout = Layout::of(&settings);
        let (pm, dram) = (layout.arena(PM_BASE, thread), layout.arena(DRAM_BASE, thread));
        Context {
            cpu,
            thread,
            threads,
            pm,
            dram,
            settings,
            pm_cache: None,
            stays_cached: 0,
            is_mapped_late: false,
            near: None,
            pages: None,
            rate: 3_000_000,
            clock_mhz: 2000,
            seed,
        }
    }

    /// The common part of persistent memory: the same addresses in every thread, so the calls must be too.
    pub fn common_pm() -> Arena {
        Arena::new(PM_BASE, PM_BASE + Layout::USUAL.common_bytes)
    }

    /// The common part of DRAM.
    pub fn common_dram() -> Arena {
        // The first lines are the barrier's.
        Arena::new(DRAM_BASE + 4096, DRAM_BASE + Layout::USUAL.common_bytes)
    }

    /// A stream of random numbers for this thread.
    pub fn random(&self) -> Random {
        Random::new(self.seed, self.thread as u64)
    }

    /// A stream of random numbers that every thread has alike.
    pub fn common_random(&self) -> Random {
        Random::new(self.seed, u64::MAX)
    }

    /// This thread's share of `total` things: how many, the first threads taking the remainder.
    pub fn share(&self, total: u64) -> u64 {
        let n = self.threads as u64;
        total / n + u64::from((self.thread as u64) < total % n)
    }

    /// The number of things in the shares of the threads before this one.
    pub fn share_start(&self, total: u64) -> u64 {
        let (n, t) = (self.threads as u64, self.thread as u64);
        total / n * t + t.min(total % n)
    }

    /// Computes for as many cycles of the core.
    pub async fn compute(&self, cycles: u64) {
        self.cpu.compute(Dur::ps(cycles * 1_000_000 / self.clock_mhz.max(1))).await;
    }

    /// Executes instructions that refer to nothing simulated: what the original of a program does at this place besides.
    #[track_caller]
    pub fn executes(&self, instructions: u64) -> Access<'_> {
        let time = u128::from(instructions) * 1_000_000_000 / u128::from(self.rate.max(1));
        self.cpu.compute_instructions(Dur::ps(time as u64), instructions)
    }

    /// Flushes the lines of `size` bytes at `address` and orders them before what follows.
    #[track_caller]
    pub fn persist(&self, address: u64, size: u64) -> impl Future<Output = ()> + '_ {
        let (flushes, fence) = (self.cpu.clwb_range(address, size), self.cpu.ofence());
        async move {
            flushes.await;
            fence.await;
        }
    }
}

/// Short forms of what data structures do most.
impl Context {
    #[track_caller]
    pub(crate) fn load(&self, address: u64) -> Access<'_> {
        self.cpu.load(address)
    }

    #[track_caller]
    pub(crate) fn store(&self, address: u64, value: u64) -> Access<'_> {
        self.cpu.store(address, value)
    }

    /// Stores one word and orders it before what follows.
    #[track_caller]
    pub(crate) fn publish(&self, address: u64, value: u64) -> impl Future<Output = ()> + '_ {
        let (store, persist) = (self.cpu.store(address, value), self.persist(address, 8));
        async move {
            store.await;
            persist.await;
        }
    }

    /// Stores one word that others may act on once they read it, and orders it before what follows.
    #[track_caller]
    pub(crate) fn release(&self, address: u64, value: u64) -> impl Future<Output = ()> + '_ {
        let (store, persist) = (self.cpu.store_release(address, value), self.persist(address, 8));
        async move {
            store.await;
            persist.await;
        }
    }

    /// The end of an operation that must be durable before it is answered, where the workload asks for that.
    pub(crate) async fn end_operation(&self) {
        if self.settings.flag("workload.durable") {
            self.cpu.dfence().await;
        }
        self.cpu.operation_done();
    }
}
