//! What holds of hosts, of programs for them, and of the search.

use crate::explore::SharedSpace;
use crate::mutant::{MUTANTS, Mutant};
use crate::params::SharedParameters;
use crate::{Kind, Outcome, Search};
use explore::Held;
use params::{Parameters, Setting, Settings};
use workloads::{SHARED_WORKLOADS, SharedWorkload, find_shared};

fn searched(workload: &SharedWorkload, bug: &str, seed: u64, schedules: u64) -> Outcome {
    let machine = Settings::defaults(SharedParameters::TABLE);
    let mut settings = Settings::defaults(workload.params);
    settings.set("workload.bug", Setting::Text(bug.into()));
    Search { machine: &machine, workload, settings: &settings, seed, schedules }.run()
}

fn bugs(workload: &SharedWorkload) -> impl Iterator<Item = &'static str> + use<> {
    let param = workload.params.iter().find(|p| p.key == "workload.bug").unwrap();
    let params::Kind::Choice(all) = param.kind else { panic!("{} has no list of bugs", workload.name) };
    all.iter().copied().filter(|bug| *bug != "none")
}

/// More schedules only where few show nothing.
fn found(workload: &SharedWorkload, bug: &str, seed: u64) -> Outcome {
    let more = [1, 60, 500].map(|schedules| searched(workload, bug, seed, schedules));
    more.into_iter()
        .find(|outcome| !outcome.found.is_empty())
        .unwrap_or_else(|| panic!("{} {bug}: nothing found", workload.name))
}

#[test]
fn every_seeded_bug_of_hosts_is_found_with_both_places() {
    let mut all = 0;
    for workload in SHARED_WORKLOADS {
        for bug in bugs(workload) {
            all += 1;
            for found in found(workload, bug, 1).found {
                let finding = &found.finding;
                let there = finding.there.unwrap_or_else(|| panic!("{} {bug}: {finding:?}", workload.name));
                assert!(finding.message.contains(&there.place()), "{} {bug}: {finding:?}", workload.name);
                assert!(
                    finding.message.contains(&finding.here.place()),
                    "{} {bug}: {finding:?}",
                    workload.name
                );
            }
        }
    }
    assert!(all >= 55, "{all}");
}

#[test]
fn nothing_is_found_in_programs_for_hosts_without_a_bug() {
    let schedules: u64 = option_env!("COREPLANE_TEST_SCHEDULES").map_or(150, |n| n.parse().unwrap());
    for workload in SHARED_WORKLOADS {
        let outcome = searched(workload, "none", 1, schedules);
        assert!(outcome.found.is_empty(), "{}: {:#?}", workload.name, outcome.found);
        assert!(outcome.references > schedules * 100, "{}", workload.name);
    }
}
#[test]
fn zz_seeds() {
    for workload in SHARED_WORKLOADS {
        for seed in 2..6 {
            let o = searched(workload, "none", seed, 1000);
            if !o.found.is_empty() {
                println!(
                    "NONE {} {:#?}",
                    workload.name,
                    o.found.iter().map(|f| (&f.finding.message, &f.schedule)).collect::<Vec<_>>()
                );
            }
        }
        for bug in bugs(workload) {
            for seed in 2..8 {
                let o = searched(workload, bug, seed, 1);
                if o.found.is_empty() && searched(workload, bug, seed, 500).found.is_empty() {
                    println!("MISSED {} {bug} {seed}", workload.name);
                }
            }
        }
    }
}
#[test]
fn zz_explore() {
    for (h, l, o) in [(2, 1, 2), (2, 2, 2), (2, 1, 3)] {
        let s =
            SharedSpace { hosts: h, lines: l, operations: o, stays: false, coherent: false, mutant: None };
        let r = explore::explore(&s, 3_000_000);
        println!("{h} {l} {o}: {} {} {} {:?}", r.states, r.depth, r.complete, r.violation);
        let r = explore::explore(&SharedSpace { coherent: true, ..s }, 3_000_000);
        println!("coh {h} {l} {o}: {} {} {} {:?}", r.states, r.depth, r.complete, r.violation);
    }
    for (name, m, _) in MUTANTS {
        for coherent in [false, true] {
            let s =
                SharedSpace { hosts: 2, lines: 1, operations: 3, stays: false, coherent, mutant: Some(*m) };
            let r = explore::explore(&s, 3_000_000);
            println!("{name} {coherent} {} {:?}", r.states, r.violation.map(|v| (v.message, v.trace)));
        }
    }
}
