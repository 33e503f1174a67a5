//! What a program changes, counted without a machine: each access takes effect at once, windows end after so many
//! operations. So programs of hundreds of megabytes are tracked in seconds; what a window holds does not hang on caches.

use machine::WorkloadDescription;
use pberry::{DirtySet, DirtyWindows};
use protocol::{CorePort, Cpu, DRAM_BASE, Op, OpKind, PM_BASE, Site};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};
use units::{Dur, Time};
use workloads::{Arena, Context};

/// Memory of the program.
const BYTES: u64 = 4 << 30;

struct Memory {
    tracked: DirtyWindows,
    /// Barriers and the like.
    rest: DirtyWindows,
    operations: u64,
    window: u64,
    /// What the windows before the region of interest held.
    before: [DirtySet; 2],
    failed: Option<String>,
}

struct Tap(RefCell<Memory>);

impl Memory {
    fn part(&mut self, address: u64) -> (&mut DirtyWindows, u64) {
        if address >= PM_BASE {
            (&mut self.tracked, address - PM_BASE)
        } else {
            (&mut self.rest, address - DRAM_BASE)
        }
    }

    fn carry_out(&mut self, op: &Op) -> u64 {
        let now = Time::ZERO + Dur::ns(self.operations / self.window);
        let (memory, at) = self.part(op.address.max(DRAM_BASE));
        match op.kind {
            OpKind::Load | OpKind::Prefetch => memory.load(at, op.size),
            OpKind::Store | OpKind::StoreNonTemporal => {
                memory.store(now, at, op.size, op.value);
                0
            }
            OpKind::Rmw(kind) => {
                let old = memory.load(at, op.size);
                if let Some(new) = kind.apply(old, op.value) {
                    memory.store(now, at, op.size, new);
                }
                old
            }
            OpKind::Flush(_) | OpKind::Fence(_) | OpKind::Compute | OpKind::Await => 0,
        }
    }
}

impl CorePort for Tap {
    fn poll(&self, op: &Op) -> Poll<u64> {
        Poll::Ready(self.0.borrow_mut().carry_out(op))
    }

    fn poll_at(&self, op: &Op, _: Site) -> Poll<u64> {
        self.poll(op)
    }

    fn core(&self) -> u8 {
        0
    }

    fn now(&self) -> Time {
        Time::ZERO
    }

    fn operation_done(&self) {
        self.0.borrow_mut().operations += 1;
    }

    fn moved(&self, _: u64) {}

    fn fail(&self, what: String) {
        self.0.borrow_mut().failed = Some(what);
    }

    fn region(&self, starts: bool) {
        let mut memory = self.0.borrow_mut();
        memory.tracked.finish();
        if starts {
            memory.operations = 0;
            memory.before = [memory.tracked.stored(), memory.tracked.changed()];
        }
    }
}

/// Runs a workload of one thread, windows of so many operations, and gives `tracking.*` of its region of interest.
///
/// # Errors
/// What the program found wrong, or that it is none of the project's.
pub(crate) fn run(
    workload: &WorkloadDescription,
    window: u64,
    seed: u64,
) -> Result<BTreeMap<String, f64>, String> {
    let built_in = workload.built_in().ok_or_else(|| format!("{}: no program to track", workload.name))?;
    let windows = || DirtyWindows::new(Dur::ns(1));
    let tap = Rc::new(Tap(RefCell::new(Memory {
        tracked: windows(),
        rest: windows(),
        operations: 0,
        window,
        before: [DirtySet::default(); 2],
        failed: None,
    })));
    let settings = Rc::new(workload.settings.clone());
    let cpu = Cpu::new(Rc::clone(&tap) as Rc<dyn CorePort>);
    let mut context = Context::new(cpu, 0, 1, settings, seed);
    context.pm = Arena::new(PM_BASE + (1 << 21), PM_BASE + BYTES);
    let mut program = (built_in.program)(context);
    let done = program.as_mut().poll(&mut TaskContext::from_waker(Waker::noop()));
    let memory = tap.0.borrow();
    if let Some(what) =
        memory.failed.clone().or_else(|| done.is_pending().then(|| "it waits for another".into()))
    {
        return Err(format!("{}: {what}", workload.name));
    }
    let mut stats = BTreeMap::new();
    for ((name, now), before) in
        [("tracking", memory.tracked.stored()), ("tracking.changed", memory.tracked.changed())]
            .into_iter()
            .zip(memory.before)
    {
        let mut put = |unit: &str, value: u64| stats.insert(format!("{name}.{unit}"), value as f64);
        put("bytes", now.bytes - before.bytes);
        put("lines", now.lines - before.lines);
        put("pages", now.pages - before.pages);
        put("huge_pages", now.huge_pages - before.huge_pages);
    }
    Ok(stats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_at_random_dirty_few_bytes_of_many_pages_and_windows_sum_up() {
        let mut redis = WorkloadDescription::named("redis-random").unwrap();
        redis.set("workload.keys", "20000").unwrap();
        redis.set("workload.operations", "4000").unwrap();
        let stats = run(&redis, 1000, 1).unwrap();
        assert_eq!(stats, run(&redis, 1000, 1).unwrap(), "the same seed, the same windows");
        let clean = |s: &BTreeMap<String, f64>| 1.0 - s["tracking.bytes"] / s["tracking.pages"] / 4096.0;
        assert!((0.8..0.99).contains(&clean(&stats)), "{stats:?}");
        // The longer a window, the more of a page is changed in it.
        assert!(clean(&run(&redis, 4000, 1).unwrap()) < clean(&stats));
    }
}
