//! What holds of hosts, of programs for them, and of the search.

use crate::explore::SharedSpace;
use crate::mutant::Mutant;
use crate::params::SharedParameters;
use crate::run::Running;
use crate::schedule::{Happens, What, drawn};
use crate::shadow::{Shadow, Word};
use crate::state::Keep;
use crate::world::World;
use crate::{Kind, Outcome, Search, run};
use explore::Held;
use params::{Parameters, Setting, Settings};
use protocol::{FlushKind, Op, OpKind, Order, PM_BASE};
use std::rc::Rc;
use units::Dur;
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
    let mut more = [1, 60, 500].into_iter().map(|schedules| searched(workload, bug, seed, schedules));
    more.find(|outcome| !outcome.found.is_empty())
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

/// A machine that is large enough for a mistake to show.
fn seeded(mutant: Mutant) -> SharedSpace {
    use Mutant::*;
    let one = SharedSpace { lines: 1, operations: 3, mutant: Some(mutant), ..SMALL };
    match mutant {
        SnoopLeavesCopies => SharedSpace { coherent: true, ..one },
        LinkForgets => SharedSpace { links: 1, ..one },
        SnoopSkipsLostLinks => SharedSpace { coherent: true, links: 1, ..one },
        DrainForgets | CountStays => SharedSpace { buffer: 1, ..one },
        CachesForgotten => SharedSpace { global_flush: true, ..one },
        FenceForgets | FlushForgets | InvalidateKeepsCopy | EvictionForgets | CrashWritesBack => one,
    }
}

const SMALL: SharedSpace = SharedSpace {
    hosts: 2,
    lines: 2,
    operations: 2,
    stays: false,
    coherent: false,
    links: 0,
    buffer: 0,
    global_flush: false,
    mutant: None,
};

#[test]
fn hosts_see_what_was_flushed_and_fenced_and_every_mutant_is_caught() {
    Held {
        clean: vec![
            (SMALL, 31_266),
            (SharedSpace { coherent: true, ..SMALL }, 9_766),
            (SharedSpace { lines: 1, operations: 3, ..SMALL }, 56_713),
            (SharedSpace { lines: 1, links: 2, ..SMALL }, 20_060),
            (SharedSpace { lines: 1, links: 2, coherent: true, ..SMALL }, 4_478),
            (SharedSpace { buffer: 1, ..SMALL }, 81_194),
            (SharedSpace { global_flush: true, buffer: 2, lines: 1, links: 1, ..SMALL }, 28_164),
        ],
        seeded,
        wrong: &["host 0 ", "host 1 loads", "the power fails, line 0 is left with "],
    }
    .holds();
}

/// What a seeded bug of a program is called.
#[test]
fn findings_are_named_after_what_lacks() {
    let named = [
        ("shared-log", "record-not-flushed", Kind::StaleRead, "never flushed the line"),
        ("shared-log", "reader-keeps-record", Kind::StaleRead, "never invalidated its copy"),
        ("shared-log", "record-not-fenced", Kind::PublicationBeforeData, "no fence waited"),
        ("shared-log", "tail-first", Kind::PublicationBeforeData, "told of them at"),
        ("shared-log", "acks-share-line", Kind::WriteConflict, "destroys the other's bytes"),
        ("shared-lock", "release-not-flushed", Kind::LockRelease, "cannot go on at"),
        ("shared-pages", "no-takeover", Kind::HostCrash, "host 0 stopped at"),
        ("shared-superblock", "in-place", Kind::HostCrash, "stopped at shared/superblock.rs"),
    ];
    for (name, bug, kind, words) in named {
        let outcome = found(find_shared(name).unwrap(), bug, 1);
        let told: Vec<_> = outcome.found.iter().map(|f| (f.finding.kind, &f.finding.message)).collect();
        assert!(told.iter().any(|(k, text)| *k == kind && text.contains(words)), "{name} {bug}: {told:#?}");
    }
}

#[test]
fn a_smallest_schedule_leads_to_what_it_was_made_from() {
    let workload = find_shared("shared-log").unwrap();
    let outcome = found(workload, "record-not-fenced", 1);
    let small = &outcome.found[0];
    assert_eq!((small.operations, small.schedule.len()), (1, 1), "{small:#?}");
    let (writer, reader) = (small.finding.there.unwrap().host, small.finding.here.host);
    assert!(small.steps.iter().any(|s| s.host == writer && s.what == "stores"), "{small:#?}");
    assert!(small.steps.iter().any(|s| s.host == reader && s.what == "loads"), "{small:#?}");
}

/// Of few schedules none may meet the moment after a write that nobody waited for; each access of the first run is tried.
#[test]
fn what_a_power_failure_at_any_access_shows_is_found_with_few_schedules() {
    for name in ["shared-log", "shared-allocator", "shared-pages", "shared-superblock"] {
        for seed in 1..20 {
            let outcome = searched(find_shared(name).unwrap(), "relies-on-persistent-flush", seed, 2);
            let found = outcome.found.first().unwrap_or_else(|| panic!("{name} {seed}"));
            // What a host that stops had on its way is lost as well.
            let kinds = [Kind::PowerFailure, Kind::HostCrash];
            assert!(kinds.contains(&found.finding.kind), "{name} {seed}: {found:#?}");
            assert!(!found.schedule.is_empty() && !found.steps.is_empty(), "{name} {seed}: {found:#?}");
        }
    }
}

#[test]
fn a_slow_link_makes_nobody_wait_for_ever() {
    let mut machine = Settings::defaults(SharedParameters::TABLE);
    machine.set("shared.link_ns", Setting::Number(200_000_000));
    for workload in SHARED_WORKLOADS {
        let settings = Settings::defaults(workload.params);
        let outcome =
            Search { machine: &machine, workload, settings: &settings, seed: 3, schedules: 20 }.run();
        assert!(outcome.found.is_empty(), "{}: {:#?}", workload.name, outcome.found);
    }
}

#[test]
fn who_waits_for_a_link_that_is_given_up_late_does_not_wait_for_ever() {
    let mut machine = Settings::defaults(SharedParameters::TABLE);
    machine.set("shared.link_timeout_ns", Setting::Number(5_000_000_000));
    for workload in SHARED_WORKLOADS {
        let settings = Settings::defaults(workload.params);
        let outcome =
            Search { machine: &machine, workload, settings: &settings, seed: 1, schedules: 100 }.run();
        assert!(outcome.found.is_empty(), "{}: {:#?}", workload.name, outcome.found);
    }
}

/// The owner of a page must find it free, in whatever step readers pin it.
#[test]
fn readers_of_pages_do_not_starve_their_owner() {
    let workload = find_shared("shared-pages").unwrap();
    let mut machine = Settings::defaults(SharedParameters::TABLE);
    let ns = |ns: u64| Setting::Number(ns * 1000);
    machine.set("shared.flush_ns", ns(200));
    machine.set("shared.link_ns", ns(1));
    machine.set("shared.line_ns", ns(50));
    machine.set("shared.cache_lines", Setting::Number(4));
    let mut settings = Settings::defaults(workload.params);
    settings.set("workload.hosts", Setting::Number(2));
    settings.set("workload.cores", Setting::Number(4));
    settings.set("workload.operations", Setting::Number(2));
    for coherent in ["none", "0-3"] {
        machine.set("shared.coherent_ranges", Setting::Text(coherent.into()));
        let ran = run(&machine, workload, &settings.clone().into(), Vec::new(), false);
        assert!(ran.finding.is_none() && ran.operations == 16, "{coherent}: {:#?}", ran.finding);
    }
}

/// Where hardware keeps the lines coherent, a missing flush or invalidation does no harm.
#[test]
fn coherent_lines_forgive_what_incoherent_ones_do_not() {
    let workload = find_shared("shared-log").unwrap();
    let mut machine = Settings::defaults(SharedParameters::TABLE);
    machine.set("shared.coherent_ranges", Setting::Text("0-63".into()));
    for bug in ["reader-keeps-record", "reader-keeps-tail", "acks-share-line", "tail-not-flushed"] {
        let mut settings = Settings::defaults(workload.params);
        settings.set("workload.bug", Setting::Text(bug.into()));
        let ran = run(&machine, workload, &settings.into(), Vec::new(), false);
        assert!(ran.finding.is_none(), "{bug}: {:?}", ran.finding);
    }
}

/// What is found where each host runs a program on each of two cores.
fn on_two_cores(workload: &SharedWorkload, bug: &str, schedules: u64) -> Outcome {
    let machine = Settings::defaults(SharedParameters::TABLE);
    let mut settings = Settings::defaults(workload.params);
    settings.set("workload.bug", Setting::Text(bug.into()));
    settings.set("workload.hosts", Setting::Number(2));
    settings.set("workload.cores", Setting::Number(2));
    Search { machine: &machine, workload, settings: &settings, seed: 1, schedules }.run()
}

fn on_cores() -> impl Iterator<Item = &'static SharedWorkload> {
    SHARED_WORKLOADS.iter().filter(|w| w.most_programs() >= 4)
}

#[test]
fn nothing_is_found_in_programs_on_two_cores_of_each_host() {
    for workload in on_cores() {
        let outcome = on_two_cores(workload, "none", 300);
        assert!(outcome.found.is_empty(), "{}: {:#?}", workload.name, outcome.found);
    }
}

/// Cores of one host see what is in its caches, before it is on the device and where another core has sent it there.
#[test]
fn what_cores_of_a_host_see_of_each_other_survives_a_stop_and_a_power_failure_at_each_access() {
    let mut machine = Settings::defaults(SharedParameters::TABLE);
    machine.set("shared.coherent_ranges", Setting::Text("0-63".into()));
    let runs = |name: &str, cores: u64, operations: u64, happens: &dyn Fn(u64) -> Vec<Happens>| {
        let workload = find_shared(name).unwrap();
        let mut settings = Settings::defaults(workload.params);
        settings.set("workload.hosts", Setting::Number(2));
        settings.set("workload.cores", Setting::Number(cores));
        settings.set("workload.operations", Setting::Number(operations));
        let settings = settings.into();
        for access in 0..250 {
            let ran = run(&machine, workload, &settings, happens(access), false);
            assert!(ran.finding.is_none(), "{name} {access}: {:#?}", ran.finding);
        }
    };
    let pause = Happens { core: 1, access: 1, what: What::Pause(Dur::ns(8190)) };
    for core in 0..4 {
        let stops = |access| vec![Happens { core, access, what: What::Crash }];
        let fails = |access| vec![pause, Happens { core, access, what: What::PowerFails(None) }];
        runs("shared-log", 3, 9, &stops);
        runs("shared-allocator", 4, 1, &fails);
    }
}

#[test]
fn a_core_waits_for_a_line_that_its_neighbour_sent_before_it_flushed_it_too() {
    let spec = SharedParameters::from_settings(&Settings::defaults(SharedParameters::TABLE));
    let mut world = World::new(spec, (1, 3), 2, Vec::new());
    let clwb = OpKind::Flush(FlushKind::Clwb);
    let site = std::panic::Location::caller().into();
    for line in 0..2 {
        world.state.store(0, line, 0, Word { value: 1, version: 0 });
    }
    // The second core sends both lines; the first one then flushes one of them, which is clean by now.
    for (core, line) in [(1, 0), (1, 1), (0, 0)] {
        let op = Op { kind: clwb, address: PM_BASE + line * 64, size: 8, order: Order::Plain, value: 0 };
        world.flush(core, &op, FlushKind::Clwb, site);
    }
    let [first, second, third] = [0, 1, 2].map(|core| world.acknowledged(core));
    assert!(first.is_some() && first < second && third.is_none(), "{first:?} {second:?} {third:?}");
}

#[test]
fn cores_of_one_host_are_coherent_and_those_of_two_are_not() {
    let log = find_shared("shared-log").unwrap();
    let one = Settings::defaults(SharedParameters::TABLE);
    let mut settings = Settings::defaults(log.params);
    settings.set("workload.bug", Setting::Text("reader-keeps-record".into()));
    for (hosts, cores) in [(2, 2), (2, 4)] {
        settings.set("workload.hosts", Setting::Number(hosts));
        settings.set("workload.cores", Setting::Number(cores));
        let outcome =
            Search { machine: &one, workload: log, settings: &settings, seed: 1, schedules: 60 }.run();
        assert!(!outcome.found.is_empty());
        // The writer and its neighbours are on host 0: what it stores they see.
        for found in &outcome.found {
            assert_eq!((found.finding.here.host, found.finding.there.unwrap().host), (1, 0), "{found:#?}");
        }
    }
}

#[test]
fn mistakes_are_found_on_two_cores_of_each_host() {
    for workload in on_cores() {
        for bug in bugs(workload).filter(|bug| bug.ends_with("-not-flushed") || bug.ends_with("-not-fenced"))
        {
            let mut more = [60, 500].into_iter().map(|schedules| on_two_cores(workload, bug, schedules));
            assert!(more.any(|outcome| !outcome.found.is_empty()), "{} {bug}", workload.name);
        }
    }
}

#[test]
fn a_core_waits_for_what_it_sent_and_not_for_what_its_neighbour_sent() {
    let spec = SharedParameters::from_settings(&Settings::defaults(SharedParameters::TABLE));
    let mut world = World::new(spec, (1, 2), 1, Vec::new());
    world.state.store(0, 0, 0, Word { value: 1, version: 0 });
    let clwb = OpKind::Flush(FlushKind::Clwb);
    let op = Op { kind: clwb, address: PM_BASE, size: 8, order: Order::Plain, value: 0 };
    world.flush(1, &op, FlushKind::Clwb, std::panic::Location::caller().into());
    assert_eq!((world.acknowledged(0).is_some(), world.acknowledged(1).is_some()), (false, true));
}

/// A run of a program with a mistake, told in all that can be told of it.
fn told_of(workload: &SharedWorkload, settings: &Rc<Settings>, seed: u64, alter: fn(&mut World)) -> String {
    let machine = Settings::defaults(SharedParameters::TABLE);
    let usual = run(&machine, workload, settings, Vec::new(), false);
    let schedule = drawn(1, seed, &usual.accesses, Dur::ns(50_000));
    let mut running = Running::new(&machine, workload, settings, schedule);
    running.world.borrow_mut().keeps_steps = true;
    alter(&mut running.world.borrow_mut());
    while let Some(id) = running.next() {
        if !running.act(id) {
            break;
        }
    }
    format!("{:?}", running.end(workload, settings))
}

#[test]
fn a_run_that_forgets_old_stores_and_lets_programs_go_ahead_finds_the_same() {
    let slow = |world: &mut World| (world.shadow.most, world.runs_ahead) = (usize::MAX, false);
    let forgetful = |world: &mut World| (world.shadow.most, world.runs_ahead) = (16, true);
    for workload in SHARED_WORKLOADS {
        for bug in bugs(workload).chain(["none"]) {
            let mut settings = Settings::defaults(workload.params);
            settings.set("workload.bug", Setting::Text(bug.into()));
            settings.set("workload.operations", Setting::Number(30));
            let settings = settings.into();
            for seed in 0..8 {
                let told = told_of(workload, &settings, seed, slow);
                assert_eq!(
                    told,
                    told_of(workload, &settings, seed, forgetful),
                    "{} {bug} {seed}",
                    workload.name
                );
            }
        }
    }
}

#[test]
fn a_store_under_newer_ones_is_remembered_as_long_as_somebody_has_older_bytes() {
    let at = (std::panic::Location::caller().into(), units::Time::ZERO);
    let mut shadow = Shadow::new((2, 1), 1);
    let (data, flag) = ((0, 0), (0, 1));
    let missed = shadow.store(0, data, false, at);
    let told = shadow.store(0, flag, true, at);
    shadow.acquire(1, told);
    (0..9).for_each(|_| _ = shadow.store(0, flag, false, at));
    let newest = shadow.store(0, data, false, at);
    let mut held = [[newest; 8]];
    for (still_there, kept) in [(0, Some(missed)), (newest, None)] {
        held[0][0] = still_there;
        let mut shadow = shadow.clone();
        let numbers = shadow.forget(&held, &[]);
        let number = kept.map(|version| numbers[version as usize]);
        assert_eq!(shadow.stale(1, data, 0), number);
        assert_eq!(number.is_some(), numbers[told as usize] > 0, "what told of it is remembered with it");
        assert!(numbers.iter().filter(|number| **number > 0).count() < 5);
    }
}

#[test]
fn what_is_remembered_of_stores_does_not_grow_with_a_run() {
    for workload in SHARED_WORKLOADS {
        let mut settings = Settings::defaults(workload.params);
        settings.set("workload.operations", Setting::Number(4000));
        let settings = settings.into();
        let machine = Settings::defaults(SharedParameters::TABLE);
        let mut running = Running::new(&machine, workload, &settings, Vec::new());
        let least = running.world.borrow().shadow.most;
        while let Some(id) = running.next() {
            assert!(running.act(id), "{}", workload.name);
        }
        assert_eq!(running.world.borrow().shadow.most, least, "{}", workload.name);
        assert!(!running.world.borrow().shadow.is_full(), "{}", workload.name);
    }
}

#[test]
fn what_was_dropped_from_a_hosts_caches_takes_no_room_there() {
    let mut settings = Settings::defaults(SharedParameters::TABLE);
    settings.set("shared.cache_lines", Setting::Number(4));
    let mut world = World::new(SharedParameters::from_settings(&settings), (1, 1), 8, Vec::new());
    let fetch = |world: &mut World, line: usize| {
        world.fetch(0, line);
        world.state.load(0, line, 0);
    };
    let copies = |world: &World| world.state.cached(0).collect::<Vec<usize>>();
    (0..4).for_each(|line| fetch(&mut world, line));
    // One line that is looked at again and again pushes none out, and is the last to have come.
    for _ in 0..9 {
        world.state.flush(0, 1, Keep::Nothing);
        fetch(&mut world, 1);
    }
    assert_eq!(copies(&world), [0, 1, 2, 3]);
    // The room of one that is gone is taken before another has to go.
    world.state.flush(0, 3, Keep::Nothing);
    fetch(&mut world, 4);
    assert_eq!(copies(&world), [0, 1, 2, 4]);
    // The first that came goes first.
    (5..7).for_each(|line| fetch(&mut world, line));
    assert_eq!(copies(&world), [1, 4, 5, 6]);
}
