use crate::memory::{Costs, Descriptors, Medium, MemoryManager, MemorySpec, PAGE, Rule, SwapSpec, ZoneSpec};
use crate::policy::Policy;
use crate::run::{PageMachine, Stopped};
use crate::spec::{CacheSpec, MachineSpec, MediumSpec, PowerSpec};
use protocol::pages::{Arrival, PageProgram, PageStep, Pattern, Visit};
use units::{Dur, Time};

pub(crate) struct Steps(pub(crate) std::vec::IntoIter<PageStep>);
impl PageProgram for Steps {
    fn next(&mut self) -> PageStep {
        self.0.next().unwrap_or(PageStep::End)
    }
}

pub(crate) fn program(steps: Vec<PageStep>) -> Vec<Arrival> {
    vec![Arrival { at: Time::ZERO, program: Box::new(Steps(steps.into_iter())) }]
}

pub(crate) fn sweep(area: usize, pages: u64, write: bool) -> PageStep {
    PageStep::Visit(Visit::sweep(area, 0, pages, 1, write, Dur::ns(100)))
}

pub(crate) fn spec(dram: u64, pm: u64, online: bool) -> MachineSpec {
    let medium = MediumSpec { read: Dur::ns(20), write: Dur::ns(20), service: Dur::ns(1) };
    let ns = Dur::ns;
    let costs = Costs {
        fault: ns(700),
        major: ns(2000),
        scan: ns(100),
        unmap: ns(500),
        free: ns(60),
        map: ns(40),
        describe: ns(20),
    };
    let swap = SwapSpec {
        pages: 1 << 17,
        channels: 4,
        read: ns(90_000),
        write: ns(20_000),
        page: ns(2000),
        seeks: false,
        is_pm: false,
    };
    let memory = MemorySpec {
        zones: vec![
            ZoneSpec { medium: Medium::Dram, sections: dram, online: true },
            ZoneSpec { medium: Medium::Pm, sections: pm, online },
        ],
        descriptor_bytes: 56,
        descriptors: Descriptors::Dram,
        device_sections: 1,
        reserved: 1024,
        rule: Rule::Before46,
        min_free_kib: 0,
        swap: Some(swap),
        readahead: 8,
        costs,
    };
    MachineSpec {
        memory,
        seed: 1,
        cores: 2,
        quantum: Dur::ns(1_000_000),
        switch: Dur::ns(2000),
        dram: medium,
        pm: MediumSpec { read: Dur::ns(75), ..medium },
        cache: None,
        dram_cache: 0,
        curve: None,
        sample: Dur::ns(10_000_000),
        power: PowerSpec { idle: 230, active: 1340, transition: 760, wakes: Dur::ns(10_000_000) },
        block_bytes: 0,
    }
}

/// Nothing is decided.
struct Plain;
impl Policy for Plain {}

fn ran(spec: MachineSpec, programs: Vec<Arrival>) -> PageMachine {
    ran_under(Box::new(Plain), spec, programs)
}

pub(crate) fn ran_under(policy: Box<dyn Policy>, spec: MachineSpec, programs: Vec<Arrival>) -> PageMachine {
    let mut m = PageMachine::new(spec, policy, programs).unwrap();
    m.run().unwrap();
    m
}

#[test]
fn a_program_takes_the_time_of_its_visits_and_faults() {
    let m = ran(spec(4, 1, true), program(vec![PageStep::Map { area: 0, pages: 100 }, sweep(0, 100, false)]));
    let faults = Dur::ns(700 + 64 * 20) * 100;
    assert_eq!(m.totals().user, Dur::ns(120) * 100);
    assert_eq!(m.totals().system, Dur::ns(700) + faults + Dur::ns(60) * 100);
    assert_eq!(m.totals().time, m.totals().user + m.totals().system);
    assert_eq!((m.totals().passed.counts.minor, m.totals().visits), (100, 100));
}

#[test]
fn scans_are_the_time_of_programs_and_take_little_of_it_however_often_they_are_asked_for() {
    struct Scanning;
    impl Policy for Scanning {
        fn scans_every(&self) -> Option<Dur> {
            Some(Dur::ns(1000))
        }
        fn scan(&mut self, _: &mut MemoryManager, _: Time) -> Dur {
            Dur::ns(100_000)
        }
    }
    let steps = || {
        let sweeps = (0..10).map(|_| sweep(0, 5000, false));
        program(std::iter::once(PageStep::Map { area: 0, pages: 5000 }).chain(sweeps).collect())
    };
    let plain = ran(spec(4, 1, true), steps()).totals().time;
    let m = ran_under(Box::new(Scanning), spec(4, 1, true), steps());
    let t = m.totals();
    let scans = t.time - plain;
    assert_eq!((t.time, t.threads), (t.user + t.system, Dur::ZERO));
    assert!(scans >= Dur::ns(300_000) && scans * 30 < t.time, "{scans:?} of {:?}", t.time);
}

#[test]
fn identical_programs_cost_the_same_however_often_is_looked() {
    let steps = || vec![PageStep::Map { area: 0, pages: 5000 }, sweep(0, 5000, true)];
    let joules = |programs: u64, sample: u64, power: PowerSpec| {
        let spec = MachineSpec { sample: Dur::ns(sample), power, ..spec(2, 1, true) };
        let at = |n| Time::ZERO + Dur::ns(4_000_000_000) * n;
        let arrival = |n| Arrival { at: at(n), program: Box::new(Steps(steps().into_iter())) };
        ran(spec, (0..programs).map(arrival).collect()).totals().passed.joules
    };
    let all = spec(2, 1, true).power;
    let waking = PowerSpec { idle: 0, active: 0, ..all };
    for programs in 1..=3 {
        let wanted = (programs * 5000 * 760) as f64 * 1e-3 * 0.01 / f64::from(1 << 18);
        assert!((joules(programs, 1_000_000, waking) / wanted - 1.0).abs() < 1e-9, "{programs}");
    }
    // More samples than are kept, and none but the first and the last.
    let [often, never] = [1_000_000, 100_000_000_000].map(|sample| joules(3, sample, all));
    assert_eq!(often.to_bits(), never.to_bits());
}

#[test]
fn visits_of_pm_are_slower_where_the_medium_is_and_wear_it() {
    let steps =
        || vec![PageStep::Map { area: 0, pages: 60_000 }, sweep(0, 60_000, true), sweep(0, 60_000, false)];
    let m = ran(spec(1, 2, true), program(steps()));
    let equal = MachineSpec { pm: spec(1, 1, true).dram, ..spec(1, 2, true) };
    let same = ran(equal, program(steps()));
    assert!(m.totals().user > same.totals().user);
    let on_pm = m.memory().counts.pm_written;
    assert!(on_pm > 0 && on_pm.is_multiple_of(64), "{on_pm}");
}

#[test]
fn filling_pages_of_pm_wears_it_whoever_fills_them() {
    let written = |pm: u64, sweeps: usize, write: bool| {
        let mut steps = vec![PageStep::Map { area: 0, pages: 80_000 }];
        steps.extend(std::iter::repeat_n(sweep(0, 80_000, write), sweeps));
        let m = ran(spec(1, pm, true), program(steps));
        assert_eq!(m.totals().passed.counts.major > 0, pm == 1 && sweeps > 1);
        m.memory().counts.pm_written
    };
    let zeroed = written(3, 1, false);
    assert!(zeroed.is_multiple_of(PAGE) && (48_000..80_000).contains(&(zeroed / PAGE)), "{zeroed}");
    assert_eq!(written(3, 1, true), zeroed + zeroed / PAGE * 64, "the same pages, and a line of each");
    let swapped_in = written(1, 2, false) - written(1, 1, false);
    assert!(swapped_in.is_multiple_of(PAGE) && swapped_in > 0, "{swapped_in}");
}

/// Swap slots of persistent memory are written as any of it: no page of a zone is, here.
#[test]
fn what_leaves_for_persistent_memory_is_written_to_it() {
    let written = |is_pm: bool| {
        let mut spec = spec(1, 0, true);
        spec.memory.zones.truncate(1);
        spec.memory.device_sections = 0;
        spec.memory.swap.iter_mut().for_each(|swap| swap.is_pm = is_pm);
        let steps = vec![PageStep::Map { area: 0, pages: 60_000 }, sweep(0, 60_000, true)];
        let m = ran(spec, program(steps));
        let (pages, memory) = (m.memory().swap_traffic().1, m.memory());
        assert!(pages > 0);
        assert_eq!(memory.has_pm(), is_pm);
        assert!(!is_pm || memory.most_worn() > 0);
        assert!(memory.most_worn() <= memory.counts.pm_written);
        (memory.counts.pm_written, pages * PAGE)
    };
    let (bytes, swapped) = written(true);
    assert_eq!(bytes, swapped);
    assert_eq!(written(false).0, 0);
}

/// Pages are zeroed in the cache: their first visit finds them, and what is changed is written when its place is taken.
#[test]
fn new_pages_go_through_the_cache_in_front_of_pm() {
    let (fill, write_back) = (Dur::ns(1000), Dur::ns(2000));
    let cached = |pages: u64| {
        let mut spec = spec(1, 2, true);
        spec.memory.zones.remove(0);
        spec.cache = Some(CacheSpec { pages: 1000, fill, write_back });
        let steps = vec![PageStep::Map { area: 0, pages }, sweep(0, pages, false)];
        ran(spec, program(steps))
    };
    let few = cached(1000);
    assert_eq!((few.totals().passed.cache, few.memory().counts.pm_written), ((1000, 1000), 0));
    assert_eq!(few.totals().user, Dur::ns(120) * 1000);
    let each = Dur::ns(700 + 64 * 20 + 60) + fill;
    assert_eq!(few.totals().system, Dur::ns(700) + each * 1000);
    let more = cached(1500);
    assert_eq!((more.totals().passed.cache, more.memory().counts.pm_written), ((1500, 1500), 500 * PAGE));
    assert_eq!(more.totals().system, Dur::ns(700) + each * 1500 + write_back * 500);
}

#[test]
fn a_dram_cache_and_device_files_draw_what_memory_in_use_does() {
    let power = PowerSpec { idle: 230, active: 1340, transition: 0, wakes: Dur::ZERO };
    // Rests of zones and descriptors aside: what more is in use.
    let joules = |dram_cache: u64, steps: Vec<PageStep>| {
        let mut spec = MachineSpec { power, dram_cache, ..spec(1, 2, true) };
        spec.memory.zones.remove(0);
        spec.cache = Some(CacheSpec { pages: 1000, fill: Dur::ns(1000), write_back: Dur::ns(2000) });
        let m = ran(spec, program(steps));
        (m.totals().passed.joules, m.totals().time.as_ns() * 1e-12 / f64::from(1 << 18))
    };
    // A page for most of the run, which is long.
    let steps = || {
        let long = Visit { compute: Dur::ns(1_000_000_000), ..Visit::sweep(0, 0, 1, 1, false, Dur::ZERO) };
        vec![PageStep::Map { area: 0, pages: 1 }, PageStep::Visit(long)]
    };
    let (none, unit) = joules(0, steps());
    let (cache, _) = joules(1000, steps());
    assert!(((cache - none) / unit - f64::from(999 * 230 + 1340)).abs() < 10.0, "one page of 1000 is in use");
    let file = PageStep::MapDevice { area: 1, pages: 500, file_pages: 500, file: 0 };
    let again = PageStep::MapDevice { area: 2, pages: 500, file_pages: 500, file: 0 };
    let (mapped, _) = joules(0, [file, again].into_iter().chain(steps()).collect());
    assert!(((mapped - none) / unit / 500.0 - 1340.0).abs() < 10.0, "{}", (mapped - none) / unit);
    let closed = [file, PageStep::Unmap { area: 1 }].into_iter().chain(steps()).collect();
    assert!((joules(0, closed).0 - none).abs() < none / 100.0, "nobody shows it any more");
}

#[test]
fn device_files_are_there_without_a_fault_and_end_where_they_end() {
    let map = |area, pages| PageStep::MapDevice { area, pages, file_pages: 100, file: 0 };
    let m = ran(spec(4, 1, false), program(vec![map(0, 100), sweep(0, 100, true)]));
    assert_eq!((m.totals().passed.counts.minor, m.totals().signals, m.totals().ended), (0, 0, 1));
    let m = ran(spec(4, 1, false), program(vec![map(0, 200), sweep(0, 101, true)]));
    assert_eq!((m.totals().signals, m.totals().ended, m.totals().visits), (1, 0, 100));
    let m =
        ran(spec(4, 1, false), program(vec![map(0, 100), PageStep::Unmap { area: 0 }, sweep(0, 1, false)]));
    assert_eq!((m.totals().signals, m.totals().ended), (1, 0));
    let m = ran(spec(4, 1, false), program(vec![map(0, 9), map(0, 9), sweep(0, 9, true)]));
    assert_eq!((m.totals().failed_maps, m.totals().ended), (1, 1));
}

#[test]
fn the_largest_program_dies_when_memory_and_swap_are_full() {
    let mut small = spec(1, 0, true);
    small.memory.swap.as_mut().unwrap().pages = 1000;
    let mut both =
        program(vec![PageStep::Map { area: 0, pages: 100 }, sweep(0, 100, true), sweep(0, 100, true)]);
    both.extend(program(vec![PageStep::Map { area: 0, pages: 90_000 }, sweep(0, 90_000, true)]));
    let m = ran(small.clone(), both);
    assert_eq!((m.totals().out_of_memory, m.totals().ended), (1, 1));
    let one = program(vec![PageStep::Map { area: 0, pages: 90_000 }, sweep(0, 90_000, true)]);
    let end = PageMachine::new(small, Box::new(Plain), one).unwrap().run();
    assert!(matches!(end, Err(Stopped::OutOfMemory(_))), "{end:?}");
}

#[test]
fn the_same_programs_give_the_same_run() {
    let programs = || {
        let PageStep::Visit(all) = sweep(0, 40_000, true) else { unreachable!() };
        let random = Visit { pattern: Pattern::Random, count: 50_000, ..all };
        let steps = || vec![PageStep::Map { area: 0, pages: 40_000 }, PageStep::Visit(random)];
        (0..4).flat_map(|_| program(steps())).collect::<Vec<_>>()
    };
    let [a, b] = [0, 1].map(|_| format!("{:?}", ran(spec(2, 1, true), programs()).totals()));
    assert_eq!(a, b);
}
