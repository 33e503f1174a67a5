//! The machine: cores that take programs in turn, kernel threads, samples; in order of (time, kind, number).

use crate::cache::Cache;
use crate::curve::{Load, Visits};
use crate::energy;
use crate::full::Full;
use crate::memory::{Elapsed, Fault, FaultError, Level, Medium, MemoryManager, NoRoom, PAGE};
use crate::policy::Policy;
use crate::region::{Passed, Region};
use crate::samples::{Sample, Totals};
use crate::slice::Task;
use crate::spec::MachineSpec;
use protocol::pages::Arrival;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Dur, Time, watch};

/// Samples kept, at most; then every other one is dropped and the period doubles.
const MOST_SAMPLES: usize = 1024;

/// So many times as long as a scan took no other one begins, which holds them to 3 % of the time (`task_numa_work`).
const SCAN_REST: u64 = 32;

/// What happens next; at one time in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrive(u32),
    Wake(u32),
    Watch,
    Kswapd(u32),
    Scan,
    Core(u32),
    Sample,
}

/// Why a machine cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Boot failed.
    NoRoom(NoRoom),
    /// Every program was killed for want of memory, which was so when the first of them was.
    OutOfMemory(Full),
}

/// A machine at page fidelity, with its programs.
pub(crate) struct PageMachine {
    pub(crate) spec: MachineSpec,
    pub(crate) memory: MemoryManager,
    pub(crate) policy: Box<dyn Policy>,
    pub(crate) cache: Option<Cache>,
    /// When the buses of DRAM and persistent memory are free.
    pub(crate) bus: [Time; 2],
    pub(crate) tasks: Vec<Task>,
    /// How loaded persistent memory is, and what its visits cost then, where that is measured.
    pub(crate) pm_load: Load,
    pub(crate) pm_now: Option<Visits>,
    arrivals: Vec<Option<Arrival>>,
    ready: VecDeque<u32>,
    idle: Vec<u32>,
    events: BinaryHeap<Reverse<(Time, Event)>>,
    kswapd_runs: Vec<bool>,
    /// Mapped memory is to be scanned by the program that runs next.
    scan_is_due: bool,
    last_sample: Time,
    period: Dur,
    samples: Vec<Sample>,
    /// Device files opened so far: first frame, pages.
    pub(crate) files: Vec<(u64, u64)>,
    pub(crate) totals: Totals,
    pub(crate) region: Region,
    /// Memory when the first program was killed for want of it.
    full: Option<Full>,
    left: usize,
}

impl PageMachine {
    /// At boot, with programs to come.
    ///
    /// # Errors
    /// When descriptors do not fit into DRAM.
    pub(crate) fn new(
        spec: MachineSpec,
        policy: Box<dyn Policy>,
        arrivals: Vec<Arrival>,
    ) -> Result<PageMachine, Stopped> {
        let memory = MemoryManager::new(spec.memory.clone()).map_err(Stopped::NoRoom)?;
        let zones = memory.zones().len();
        let mut m = PageMachine {
            policy,
            cache: spec.cache.map(Cache::new),
            bus: [Time::ZERO; 2],
            tasks: Vec::new(),
            pm_load: Load::default(),
            pm_now: None,
            ready: VecDeque::new(),
            idle: (0..spec.cores as u32).rev().collect(),
            events: BinaryHeap::new(),
            kswapd_runs: vec![false; zones],
            scan_is_due: false,
            last_sample: Time::ZERO,
            period: spec.sample,
            samples: Vec::new(),
            files: Vec::new(),
            totals: Totals::default(),
            region: Region::default(),
            full: None,
            left: arrivals.len(),
            arrivals: Vec::new(),
            memory,
            spec,
        };
        for (number, arrival) in arrivals.into_iter().enumerate() {
            m.at(arrival.at, Event::Arrive(number as u32));
            m.arrivals.push(Some(arrival));
        }
        if m.policy.watches_every().is_some() {
            m.at(Time::ZERO, Event::Watch);
        }
        if let Some(period) = m.policy.scans_every() {
            m.at(Time::ZERO + period, Event::Scan);
        }
        m.at(Time::ZERO, Event::Sample);
        Ok(m)
    }

    fn at(&mut self, time: Time, event: Event) {
        self.events.push(Reverse((time, event)));
    }

    /// Runs all programs to their end.
    ///
    /// # Errors
    /// When every program was killed for want of memory.
    pub(crate) fn run(&mut self) -> Result<(), Stopped> {
        while self.left > 0 {
            let Some(Reverse((now, event))) = self.events.pop() else { break };
            watch::at(now.ps());
            self.memory.pass(now);
            self.cache.iter_mut().for_each(|cache| cache.holds.pass(now));
            match event {
                Event::Arrive(number) => self.arrive(number, now),
                Event::Wake(task) => self.make_ready(task, now),
                Event::Core(core) => self.run_core(core, now),
                Event::Watch => self.watch(now),
                Event::Kswapd(zone) => self.run_kswapd(zone, now),
                Event::Scan => self.scan_is_due = true,
                Event::Sample => {
                    self.sample(now);
                    self.tell();
                    self.at(now + self.period, Event::Sample);
                }
            }
        }
        self.finish();
        match self.full.filter(|_| self.totals.ended == 0) {
            Some(full) => Err(Stopped::OutOfMemory(full)),
            None => Ok(()),
        }
    }

    /// Says how much of all programs is done: in thousandths of a program.
    fn tell(&self) {
        const WHOLE: f64 = 1000.0;
        let done: f64 = self.tasks.iter().map(Task::done).sum();
        watch::parts((WHOLE * done) as u64, self.arrivals.len() as u64 * WHOLE as u64);
    }

    fn arrive(&mut self, number: u32, now: Time) {
        let Some(arrival) = self.arrivals[number as usize].take() else { return };
        let process = self.memory.spawn();
        debug_assert_eq!(process as usize, self.tasks.len());
        self.tasks.push(Task::new(arrival.program, process, self.spec.seed));
        self.make_ready(process, now);
    }

    fn make_ready(&mut self, task: u32, now: Time) {
        self.ready.push_back(task);
        if let Some(core) = self.idle.pop() {
            self.at(now, Event::Core(core));
        }
    }

    fn run_core(&mut self, core: u32, now: Time) {
        let next = loop {
            match self.ready.pop_front() {
                Some(task) if self.tasks[task as usize].dead => {}
                other => break other,
            }
        };
        let Some(task) = next else {
            self.idle.push(core);
            return;
        };
        self.totals.slices += 1;
        let end = self.slice(task, now);
        self.totals.time = self.totals.time.max(end.at.since(Time::ZERO));
        match end.wakes {
            Some(at) => self.at(at, Event::Wake(task)),
            None if self.tasks[task as usize].dead => self.left -= 1,
            None => self.ready.push_back(task),
        }
        self.wake_kswapd(end.at);
        let switch = if self.ready.front().is_some_and(|next| *next != task) {
            self.totals.system += self.spec.switch;
            self.spec.switch
        } else {
            Dur::ZERO
        };
        self.at(end.at + switch, Event::Core(core));
    }

    fn wake_kswapd(&mut self, now: Time) {
        let woken: Vec<usize> = self.memory.awake().filter(|z| !self.kswapd_runs[*z]).collect();
        for zone in woken {
            self.kswapd_runs[zone] = true;
            self.at(now, Event::Kswapd(zone as u32));
        }
    }

    fn run_kswapd(&mut self, zone: u32, now: Time) {
        let (time, next) = self.memory.kswapd(zone as usize, now, &mut *self.policy);
        self.beside(time);
        match next {
            // A batch that took no time at all would never let time pass.
            Some(at) => self.at(at.max(now + Dur::ns(1)), Event::Kswapd(zone)),
            None => self.kswapd_runs[zone as usize] = false,
        }
    }

    fn watch(&mut self, now: Time) {
        self.memory.settle(now);
        let time = self.policy.watch(&mut self.memory, now);
        self.beside(time);
        if let Some(period) = self.policy.watches_every() {
            self.at(now + period, Event::Watch);
        }
    }

    /// Time of a thread of the kernel's, which takes no core from the programs.
    fn beside(&mut self, time: Dur) {
        self.totals.system += time;
        self.totals.threads += time;
    }

    /// The scan that is due, if one is, by a program that begins to run. Gives its time.
    pub(crate) fn scan(&mut self, now: Time) -> Dur {
        if !std::mem::take(&mut self.scan_is_due) {
            return Dur::ZERO;
        }
        self.memory.settle(now);
        let time = self.policy.scan(&mut self.memory, now);
        if let Some(period) = self.policy.scans_every() {
            self.at(now + period.max(time * (1 + SCAN_REST)), Event::Scan);
        }
        time
    }

    /// The kernel kills the program with the largest footprint (`oom_badness`); false when none is left.
    pub(crate) fn kill_largest(&mut self) -> Option<u32> {
        let alive = self.tasks.iter().filter(|t| !t.dead).map(|t| t.process);
        let victim = alive.max_by_key(|p| (self.memory.footprint(*p), Reverse(*p)))?;
        self.totals.out_of_memory += 1;
        self.full.get_or_insert(Full::of(&self.memory));
        Some(victim)
    }

    /// A program is gone, with all that was its.
    pub(crate) fn reap(&mut self, task: u32, running: bool, now: Time) -> Dur {
        let t = &mut self.tasks[task as usize];
        t.dead = true;
        if !running {
            self.left -= 1;
        }
        self.memory.exit(task, now)
    }

    pub(crate) fn fault(
        &mut self,
        task: u32,
        area: usize,
        page: u64,
        now: Time,
    ) -> Result<Fault, FaultError> {
        self.memory.fault(task, area, page, now, &mut *self.policy)
    }

    /// Memory's energy until now, exactly: who looks at it changes nothing.
    fn joules(&mut self, now: Time) -> f64 {
        self.memory.settle(now);
        // What the allocator knows nothing of: a swap device of persistent memory, and DRAM that caches it.
        let MachineSpec { block_bytes, dram_cache, .. } = self.spec;
        let others = [block_bytes / PAGE, dram_cache].map(|pages| Level::of(pages).until(now));
        let slots = self.memory.slots().filter(|_| block_bytes > 0);
        let cached = self.cache.as_ref().map(|cache| &cache.holds).filter(|_| dram_cache > 0);
        let of = |level: Option<&Level>| level.map_or(Elapsed::default(), |level| level.until(now));
        let usage = &self.memory.usage;
        let (online, used) = (usage.online.until(now), usage.used.until(now));
        energy::joules(&self.spec.power, &[online, others[0], others[1]], &[used, of(slots), of(cached)])
    }

    /// What has passed by an instant, but for a slice that is under way.
    pub(crate) fn passed(&mut self, now: Time) -> Passed {
        Passed {
            joules: self.joules(now),
            time: now.since(Time::ZERO),
            visits: self.totals.visits,
            user: self.totals.user,
            system: self.totals.system,
            threads: self.totals.threads,
            counts: self.memory.counts,
            swap: self.memory.swap_traffic(),
            cache: self.cache.as_ref().map_or((0, 0), |c| (c.hits, c.misses)),
        }
    }

    fn sample(&mut self, now: Time) {
        let joules = self.joules(now);
        self.last_sample = now;
        let marks = self.memory.marks();
        let pm = self.memory.online_bytes(Medium::Pm);
        if self.samples.len() == MOST_SAMPLES {
            let mut nth = 0;
            self.samples.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.period = self.period * 2;
        }
        self.samples.push(Sample {
            at: now,
            free: self.memory.free(),
            low: marks.low,
            high: marks.high,
            pm_online: pm,
            descriptors: self.memory.descriptor_bytes(),
            swap: self.memory.swap_bytes().0,
            minor: self.memory.counts.minor,
            major: self.memory.counts.major,
            user: self.totals.user,
            system: self.totals.system,
            joules,
        });
    }

    fn finish(&mut self) {
        let end = Time::ZERO + self.totals.time;
        self.sample(end.max(self.last_sample));
        let passed = self.passed(end);
        self.totals.passed = self.region.counted(&passed);
        self.policy.statistics(&self.memory, &mut self.totals.policy);
    }

    /// What is seen over time.
    pub(crate) fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Numbers of the whole run.
    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Cores.
    pub(crate) fn cores(&self) -> usize {
        self.spec.cores
    }

    /// Whether a cache stands in front of persistent memory.
    pub(crate) fn has_cache(&self) -> bool {
        self.cache.is_some()
    }

    /// What decides about pages.
    pub(crate) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    /// Main memory.
    pub(crate) fn memory(&self) -> &MemoryManager {
        &self.memory
    }
}
