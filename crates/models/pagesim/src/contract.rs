//! What every policy owes, checked on each of the table.

use crate::memory::MemoryManager;
use crate::policies::POLICIES;
use crate::policy::Entry;
use crate::report::outcome;
use crate::run::{PageMachine, Stopped};
use crate::settings::{Described, check};
use crate::stand_in::Costs;
use crate::tables::PARAMETERS;
use crate::tests::{Steps, sweep};
use params::{Setting, Settings};
use proptest::prelude::*;
use protocol::pages::{Arrival, PageStep, Pattern, Visit};
use std::collections::BTreeSet;
use units::{Dur, Time};

/// A small machine under the policy.
fn settings(entry: &Entry) -> Settings {
    let mut s = Settings::defaults(PARAMETERS);
    for (key, value) in [
        ("fusion.design", entry.word),
        ("fusion.dram_gib", "1"),
        ("fusion.pm_gib", "3"),
        ("fusion.device_gib", "1"),
        ("fusion.node_gib", "1"),
        ("os.cores", "2"),
        ("os.swap_gib", "1"),
        ("os.reserved_mib", "32"),
    ] {
        let row = PARAMETERS.iter().find(|p| p.key == key).unwrap();
        s.set(row.key, row.kind.read(value).unwrap());
    }
    // Short runs see scans and looks of kernel threads.
    for row in entry.params.iter().filter(|p| p.key.ends_with("period_ns")) {
        s.set(row.key, Setting::Number(Dur::ns(20_000_000).as_ps()));
    }
    check(&s).unwrap_or_else(|e| panic!("{}: {e}", entry.word));
    s
}

fn machine(entry: &Entry, arrivals: Vec<Arrival>) -> PageMachine {
    machine_of(entry, &settings(entry), arrivals)
}

fn machine_of(entry: &Entry, s: &Settings, arrivals: Vec<Arrival>) -> PageMachine {
    let described = Described::read(s);
    let (policy, platform) = ((entry.new)(s), described.platform());
    let spec = described.machine(&platform, policy.boot(&platform), 7, Costs::default());
    PageMachine::new(spec, policy, arrivals).unwrap()
}

/// What a program does, and the visits that it makes.
#[derive(Clone, Debug)]
struct Plan {
    at: Time,
    steps: Vec<PageStep>,
    visits: u64,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let visit = (0u64..2, 1u64..64, 0u64..100, any::<bool>(), any::<bool>());
    let area = (1u64..120_000, prop::collection::vec(visit, 0..4), any::<bool>());
    let program = (0u64..50, prop::collection::vec(area, 1..4), any::<bool>());
    type Areas = Vec<(u64, Vec<(u64, u64, u64, bool, bool)>, bool)>;
    let plan = |(late, areas, device): (u64, Areas, bool)| {
        let (mut steps, mut visits) = (Vec::new(), 0);
        if device {
            let file = PageStep::MapDevice { area: 9, pages: 1000, file_pages: 1000, file: 0 };
            steps.extend([file, sweep(9, 1000, true)]);
            visits += 1000;
        }
        for (number, (pages, each, unmapped)) in areas.into_iter().enumerate() {
            steps.push(PageStep::Map { area: number, pages });
            for (passes, lines, percent, write, random) in each {
                let count = pages * percent / 100 * passes;
                let pattern = if random { Pattern::Random } else { Pattern::Sweep };
                let whole = Visit::sweep(number, 0, pages, lines, write, Dur::ns(50));
                let visit = Visit { count, pattern, ..whole };
                if count > 0 {
                    steps.push(PageStep::Visit(visit));
                    visits += count;
                }
            }
            steps.extend(unmapped.then_some(PageStep::Unmap { area: number }));
        }
        Plan { at: Time::ZERO + Dur::ns(late * 1_000_000), steps, visits }
    };
    prop::collection::vec(program.prop_map(plan), 1..5)
}

fn arrivals(plans: &[Plan]) -> Vec<Arrival> {
    let one = |p: &Plan| Arrival { at: p.at, program: Box::new(Steps(p.steps.clone().into_iter())) };
    plans.iter().map(one).collect()
}

fn ended(m: &mut PageMachine) -> Result<(), Stopped> {
    let end = m.run();
    m.memory().assert_whole();
    end
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn pages_are_conserved_visits_are_answered_once_and_runs_repeat(plans in plans()) {
        for entry in POLICIES {
            let mut m = machine(entry, arrivals(&plans));
            let result = ended(&mut m);
            let totals = m.totals();
            if totals.out_of_memory == 0 {
                prop_assert_eq!(&result, &Ok(()), "{}", entry.word);
                prop_assert_eq!(totals.ended, plans.len() as u64, "{}", entry.word);
                prop_assert_eq!(totals.visits, plans.iter().map(|p| p.visits).sum::<u64>(), "{}", entry.word);
                prop_assert_eq!(m.memory().swap_bytes().0, 0, "{}: programs are gone, and so are their slots", entry.word);
            }
            let mut again = machine(entry, arrivals(&plans));
            prop_assert_eq!(ended(&mut again), result, "{}", entry.word);
            let told = |m: &PageMachine| format!("{:?}", outcome(m, &[]));
            prop_assert_eq!(told(&again), told(&m), "{}", entry.word);
        }
    }
}

#[test]
fn full_memory_loses_no_page_either() {
    for entry in POLICIES {
        let steps = || {
            vec![PageStep::Map { area: 0, pages: 500_000 }, sweep(0, 500_000, true), sweep(0, 500_000, false)]
        };
        let plan = |_| Plan { at: Time::ZERO, steps: steps(), visits: 1_000_000 };
        let mut m = machine(entry, arrivals(&[0, 1, 2].map(plan)));
        _ = ended(&mut m);
        let t = m.totals();
        assert_eq!(t.ended + t.out_of_memory, 3, "{}", entry.word);
        assert!(
            t.passed.counts.by_kswapd + t.passed.counts.by_direct > 0,
            "{}: reclaim was at work",
            entry.word
        );
    }
}

#[test]
fn no_number_hangs_on_how_often_is_looked() {
    for entry in POLICIES {
        let steps = || vec![PageStep::Map { area: 0, pages: 330_000 }, sweep(0, 330_000, true)];
        let plan = |_| Plan { at: Time::ZERO, steps: steps(), visits: 330_000 };
        let told = |sample_ns: u64| {
            let mut s = settings(entry);
            s.set("os.sample_ns", Setting::Number(Dur::ns(sample_ns).as_ps()));
            let mut m = machine_of(entry, &s, arrivals(&[0, 1].map(plan)));
            _ = ended(&mut m);
            format!("{:?}", outcome(&m, &[]).statistics)
        };
        assert_eq!(told(1_000_000), told(100_000_000_000), "{}", entry.word);
    }
}

#[test]
fn a_machine_without_programs_does_nothing() {
    for entry in POLICIES {
        let mut m = machine(entry, Vec::new());
        let free = m.memory().free();
        ended(&mut m).unwrap();
        let said = outcome(&m, &[]);
        assert_eq!((said.time, said.visits, m.totals().system), (Dur::ZERO, 0, Dur::ZERO), "{}", entry.word);
        for statistic in entry.statistics {
            let value = said.statistics.iter().find(|(name, _)| *name == statistic.name);
            assert_eq!(
                value.map(|(_, v)| v.to_string()).as_deref(),
                Some("0"),
                "{} {}",
                entry.word,
                statistic.name
            );
        }
        // Nor do its kernel threads, however often they look.
        let mut policy = (entry.new)(&settings(entry));
        let mut memory = MemoryManager::new(m.memory().spec().clone()).unwrap();
        for n in 1..=20 {
            let now = Time::ZERO + Dur::ns(n * 1_000_000_000);
            let time = policy.watch(&mut memory, now) + policy.scan(&mut memory, now);
            assert_eq!((time, memory.free()), (Dur::ZERO, free), "{}", entry.word);
        }
        memory.assert_whole();
    }
}

#[test]
fn exactly_the_declared_statistics_are_reported() {
    for entry in POLICIES {
        let steps = vec![
            PageStep::Map { area: 0, pages: 300_000 },
            sweep(0, 300_000, true),
            sweep(0, 300_000, false),
        ];
        let mut m = machine(entry, arrivals(&[Plan { at: Time::ZERO, steps, visits: 600_000 }]));
        ended(&mut m).unwrap();
        let told: Vec<&str> = m.totals().policy.iter().map(|(name, _)| name).collect();
        let declared: Vec<&str> = entry.statistics.iter().map(|s| s.name).collect();
        assert_eq!(told, declared, "{}", entry.word);
        let names: Vec<&str> = outcome(&m, &[]).statistics.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names.iter().collect::<BTreeSet<_>>().len(),
            names.len(),
            "{}: each name once",
            entry.word
        );
    }
}

#[test]
fn bad_parameters_are_refused_and_no_key_is_said_twice() {
    let keys: BTreeSet<&str> = PARAMETERS.iter().map(|p| p.key).collect();
    assert_eq!(keys.len(), PARAMETERS.len());
    for entry in POLICIES {
        for row in entry.params {
            for bad in ["", "-1", "nonsense", "18446744073709551616"] {
                assert!(row.kind.read(bad).is_err(), "{} = {bad}", row.key);
            }
        }
        for (key, value, word) in [
            ("fusion.device_gib", 3, "fusion.device_gib = 3"),
            ("os.reserved_mib", 1024, "os.reserved_mib = 1024"),
            ("os.min_free_kib", 1 << 20, "os.min_free_kib = 1048576"),
            ("os.quantum_ns", 1, "os.quantum_ns"),
        ] {
            let mut s = settings(entry);
            s.set(key, Setting::Number(value));
            let refusal = check(&s).expect_err(entry.word);
            assert!(refusal.contains(word) && refusal.contains("give"), "{}: {refusal}", entry.word);
        }
        for row in entry.params.iter().filter(|p| p.key.ends_with("period_ns")) {
            let mut s = settings(entry);
            s.set(row.key, Setting::Number(0));
            assert!(check(&s).expect_err(entry.word).contains(row.key));
        }
    }
}
