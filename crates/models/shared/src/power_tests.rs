//! What holds of lost links and of power failures.

use crate::params::SharedParameters;
use crate::{Happens, Kind, Outcome, Search, What, run};
use params::{Parameters, Setting, Settings};
use std::rc::Rc;
use units::Dur;
use workloads::{SHARED_WORKLOADS, SharedWorkload, find_shared};

fn machine(set: &[(&'static str, Setting)]) -> Settings {
    let mut machine = Settings::defaults(SharedParameters::TABLE);
    set.iter().for_each(|(key, value)| machine.set(key, value.clone()));
    machine
}

fn flush(word: &str) -> (&'static str, Setting) {
    ("shared.persistent_flush", Setting::Text(word.into()))
}

fn searched(machine: &Settings, workload: &SharedWorkload, bug: &str, schedules: u64) -> Outcome {
    let mut settings = Settings::defaults(workload.params);
    settings.set("workload.bug", Setting::Text(bug.into()));
    Search { machine, workload, settings: &settings, seed: 7, schedules }.run()
}

/// More schedules only where few show nothing.
fn found(machine: &Settings, workload: &SharedWorkload, bug: &str) -> Outcome {
    let all = [60, 500].into_iter().map(|schedules| searched(machine, workload, bug, schedules));
    all.into_iter().find(|o| !o.found.is_empty()).unwrap_or_else(|| panic!("{} {bug}", workload.name))
}

#[test]
fn right_programs_recover_whatever_is_flushed_when_the_power_fails() {
    let schedules: u64 = option_env!("COREPLANE_TEST_SCHEDULES").map_or(60, |n| n.parse().unwrap());
    let short = ("shared.drain_energy_uj", Setting::Number(1));
    let no_time = ("shared.host_flush_timeout_ns", Setting::Number(163_000));
    let slow = ("shared.drain_ns", Setting::Number(100_000_000));
    let coherent = ("shared.coherent_ranges", Setting::Text("0-1,3-63".into()));
    for set in [
        vec![flush("device"), coherent],
        vec![flush("none")],
        vec![flush("none"), slow.clone()],
        vec![flush("device"), short],
        vec![flush("global"), slow],
        vec![flush("global"), no_time],
    ] {
        let machine = machine(&set);
        for workload in SHARED_WORKLOADS {
            let outcome = searched(&machine, workload, "none", schedules);
            assert!(outcome.found.is_empty(), "{set:?} {}: {:#?}", workload.name, outcome.found);
        }
    }
}

#[test]
fn recovery_that_trusts_a_dirty_device_is_told_what_was_not_drained() {
    for workload in SHARED_WORKLOADS {
        for found in found(&machine(&[]), workload, "recovery-trusts-device").found {
            let message = &found.finding.message;
            assert_eq!(found.finding.kind, Kind::PowerFailure, "{message}");
            assert!(
                message.contains("was in the device's buffer, of which time and energy saved"),
                "{message}"
            );
            assert!(message.contains("the power failed as host "), "{message}");
            assert!(found.schedule.iter().any(|h| matches!(h.what, What::PowerFails(Some(_)))), "{found:#?}");
        }
    }
}

/// Programs that leave to a global persistent flush what they have to wait for themselves.
#[test]
fn what_relies_on_a_global_flush_is_right_with_one_and_wrong_without() {
    let bug = "relies-on-persistent-flush";
    for name in ["shared-log", "shared-allocator", "shared-pages", "shared-superblock"] {
        let workload = find_shared(name).unwrap();
        let outcome = searched(&machine(&[flush("global")]), workload, bug, 200);
        assert!(outcome.found.is_empty(), "{name}: {:#?}", outcome.found);
        for found in found(&machine(&[]), workload, bug).found {
            let message = &found.finding.message;
            assert_eq!(found.finding.kind, Kind::PowerFailure, "{message}");
            assert!(message.contains("but no fence had waited for that"), "{message}");
            assert!(found.schedule.iter().any(|h| h.what == What::PowerFails(None)), "{found:#?}");
        }
    }
}

fn ran(workload: &SharedWorkload, happens: Happens) -> crate::Ran {
    let settings = Rc::new(Settings::defaults(workload.params));
    run(&machine(&[]), workload, &settings, vec![happens], false)
}

/// What is on its way is sent again, and whoever needs the device waits as long as the link is down.
#[test]
fn a_link_that_comes_back_in_time_costs_that_time_and_loses_nothing() {
    let lost = Dur::ns(40_000);
    for workload in SHARED_WORKLOADS {
        let usual =
            run(&machine(&[]), workload, &Rc::new(Settings::defaults(workload.params)), Vec::new(), false);
        for access in 0..usual.accesses[0].all {
            let ran = ran(workload, Happens { core: 0, access, what: What::LinkFails(lost) });
            assert!(ran.finding.is_none(), "{}: {:?}", workload.name, ran.finding);
            assert_eq!(ran.operations, usual.operations, "{} {access}", workload.name);
            assert!(ran.time < usual.time + lost * 2, "{} {access}", workload.name);
        }
        let ran = ran(workload, Happens { core: 0, access: 3, what: What::LinkFails(lost) });
        assert!(ran.time >= lost, "{}: {}", workload.name, ran.time.as_ns());
    }
}

/// Another host asks for a line that the owner, whose link is down, has dirty.
#[test]
fn who_needs_a_coherent_line_waits_for_its_owners_link() {
    let coherent = machine(&[("shared.coherent_ranges", Setting::Text("0-63".into()))]);
    let workload = find_shared("shared-ring").unwrap();
    let mut settings = Settings::defaults(workload.params);
    settings.set("workload.bug", Setting::Text("message-not-flushed".into()));
    let settings = Rc::new(settings);
    let lost = Dur::ns(40_000);
    for access in 0..60 {
        let happens = Happens { core: 0, access, what: What::LinkFails(lost) };
        let ran = run(&coherent, workload, &settings, vec![happens], false);
        assert!(
            ran.finding.is_none() && ran.time >= lost,
            "{access}: {:?} {}",
            ran.finding,
            ran.time.as_ns()
        );
    }
}

#[test]
fn what_a_lost_link_leaves_is_told_as_such() {
    let workload = find_shared("shared-pages").unwrap();
    let mut settings = Settings::defaults(workload.params);
    settings.set("workload.bug", Setting::Text("no-takeover".into()));
    let settings = Rc::new(settings);
    let lost = |access| Happens { core: 0, access, what: What::LinkFails(Dur::ns(60_000)) };
    let told = (0..60)
        .filter_map(|access| run(&machine(&[]), workload, &settings, vec![lost(access)], false).finding);
    let told: Vec<_> = told.map(|finding| (finding.kind, finding.message)).collect();
    assert!(told.iter().all(|(kind, _)| *kind == Kind::HostCrash), "{told:?}");
    let is_said =
        |message: &str| message.contains("fenced off since its link was lost, and nobody does its part");
    assert!(told.iter().any(|(_, message)| is_said(message)), "{told:?}");
}

/// After that a host is gone, whichever host, and whenever: right programs go on without it.
#[test]
fn a_link_that_stays_away_takes_its_host_with_it() {
    for workload in SHARED_WORKLOADS {
        let usual =
            run(&machine(&[]), workload, &Rc::new(Settings::defaults(workload.params)), Vec::new(), false);
        for host in 0..usual.accesses.len() {
            let mut fewer = false;
            for access in (0..usual.accesses[host].all).step_by(7) {
                let ran =
                    ran(workload, Happens { core: host, access, what: What::LinkFails(Dur::ns(60_000)) });
                assert!(ran.finding.is_none(), "{} {host} {access}: {:?}", workload.name, ran.finding);
                fewer |= ran.operations < usual.operations;
            }
            assert!(fewer, "{} {host}", workload.name);
        }
    }
}
