//! What every kind of memory keeps to, alone and beside every other kind: the same verbs, run on every line of the registry.

use crate::kit::{Machine, bad_value, machines, pairs, singles, work};
use engine::Mode;
use machine::{
    CrashEvery, CrashPoint, RunOptions, can_crash, memory_kinds, params::MACHINE, run_with_crashes,
    takes_what_was_durable,
};
use protocol::{Block, Image, LINE_BYTES, Line, PAGE_BYTES, PM_BASE};
use std::collections::BTreeMap;

#[test]
fn every_kind_has_a_machine() {
    for kind in memory_kinds() {
        assert!(singles().any(|m| m.kinds[0].name() == kind.name()), "{}", kind.name());
    }
}

#[test]
fn every_kind_stands_beside_every_other_or_says_why_not() {
    let (mut beside, mut refused) = (0, 0);
    for pair in pairs() {
        match pair {
            Ok(machine) => {
                machine.description.address_map().unwrap();
                beside += 1;
            }
            Err(why) => {
                assert!(why.contains("memory ") && why.contains(": "), "{why}");
                refused += 1;
            }
        }
    }
    assert!(beside > refused, "{beside} pairs, {refused} refused");
}

#[test]
fn conserves_bytes_and_answers_every_request_once() {
    for mut program in [work("fio", "60"), work("bandwidth", "40")] {
        program.set("workload.threads", "1").unwrap();
        let mut first: Option<(String, BTreeMap<u64, Vec<Block>>)> = None;
        for machine in machines() {
            let report = machine.ran(&program, Mode::Fast).unwrap();
            let seen = pages(&report.visible);
            let (name, bytes) = first.get_or_insert_with(|| (report.machine.clone(), seen.clone()));
            assert!(seen == *bytes, "{} leaves other bytes than {name}", report.machine);
        }
    }
}

/// The pages in which something was left, each with its number.
fn pages(image: &Image) -> BTreeMap<u64, Vec<Block>> {
    let page = |address: u64| {
        let first = address / LINE_BYTES;
        let lines = (first..first + PAGE_BYTES / LINE_BYTES).map(|line| image.read(Line(line))).collect();
        ((address - image.base()) / PAGE_BYTES, lines)
    };
    let written = |(_, lines): &(u64, Vec<Block>)| lines.iter().flatten().any(|byte| *byte != 0);
    image.pages().map(page).filter(written).collect()
}

#[test]
fn is_deterministic_under_both_engines() {
    for machine in machines() {
        for program in [work("mix", "80"), work("fio", "30")] {
            let runs = [Mode::Fast, Mode::Fast, Mode::Reference];
            let all = runs.map(|mode| machine.ran(&program, mode).unwrap().to_json());
            assert_eq!(all[0], all[1], "{}: twice", machine.name());
            assert_eq!(all[0], all[2], "{}: the reference engine", machine.name());
        }
    }
}

#[test]
fn is_idle_when_idle() {
    for machine in machines() {
        let events = machine.ran(&work("mix", "1"), Mode::Fast).unwrap().events;
        assert!(events < 4_000, "{}: {events} events for next to nothing", machine.name());
    }
}

/// Cuts the power, and looks at what that leaves.
fn cut(machine: &Machine, every: CrashEvery, look: &mut dyn FnMut(&CrashPoint, Result<(), String>)) -> u64 {
    let program = work("queue", "3");
    let recover = program.recovery(11).unwrap();
    let options = RunOptions { seed: 11, ..RunOptions::default() };
    let mut points = 0;
    run_with_crashes(&machine.description, &program, &options, every, &mut |point| {
        points += 1;
        look(&point, recover(&mut point.words(), &point.ended));
        true
    })
    .unwrap();
    points
}

#[test]
fn survives_a_power_failure_at_every_message_or_says_that_it_does_not() {
    for machine in machines() {
        let told = takes_what_was_durable(&machine.description).unwrap();
        let volatile = machine.are(|kind, settings| kind.is_volatile(settings).is_some());
        let forgets = machine.are(|kind, settings| kind.forgets(settings).is_some());
        assert_eq!(
            told.len(),
            volatile.iter().zip(&forgets).filter(|(a, b)| **a || **b).count(),
            "{}: each that takes something says so",
            machine.name()
        );
        assert_eq!(
            can_crash(&machine.description).is_err(),
            volatile.iter().all(|is| *is),
            "{}",
            machine.name()
        );
        if !told.is_empty() {
            continue;
        }
        let every = if machine.kinds.len() == 1 { CrashEvery::Event } else { CrashEvery::Events(7) };
        let points = cut(&machine, every, &mut |point, answer| {
            assert_eq!(answer, Ok(()), "{} at {}", machine.name(), point.at);
        });
        assert!(points > 20, "{}: {points} points", machine.name());
    }
}

#[test]
fn what_a_power_failure_empties_holds_nothing_when_a_run_has_ended() {
    let (mut emptied_alone, mut emptied_beside) = (0, 0);
    for machine in machines() {
        let emptied = machine.are(|kind, settings| kind.is_emptied(settings));
        if !emptied.contains(&true) {
            continue;
        }
        if emptied.iter().all(|is| *is) {
            let report = machine.ran(&work("queue", "20"), Mode::Fast).unwrap();
            assert!(pages(&report.durable).is_empty(), "{}", machine.name());
            assert!(!pages(&report.visible).is_empty(), "{}", machine.name());
            emptied_alone += 1;
            continue;
        }
        let map = machine.description.address_map().unwrap();
        let is_emptied = |page: u64| emptied[map.memory_of(PM_BASE + page * PAGE_BYTES)];
        let report = machine.ran(&work("fio", "60"), Mode::Fast).unwrap();
        let [durable, visible] = [&report.durable, &report.visible].map(pages);
        for page in visible.keys().filter(|page| is_emptied(**page)) {
            assert!(!durable.contains_key(page), "{}: page {page} is in memory that forgets", machine.name());
            emptied_beside += 1;
        }
    }
    assert!(emptied_alone > 0 && emptied_beside > 0, "{emptied_alone} machines, {emptied_beside} pages");
}

#[test]
fn refuses_bad_parameters_with_the_key_and_what_is_accepted() {
    for mut machine in machines() {
        for (index, kind) in machine.kinds.clone().into_iter().enumerate() {
            let own: Vec<&str> =
                kind.tables(&machine.settings(index)).into_iter().flatten().map(|p| p.key).collect();
            for param in MACHINE.iter().filter(|p| own.contains(&p.key)) {
                let Some(bad) = bad_value(param) else { continue };
                let e = machine.description.set(param.key, bad).unwrap_err().to_string();
                assert!(e.contains(param.key) && e.contains("give"), "{e}");
                if machine.description.memories.is_empty() {
                    continue;
                }
                let short = param.key.strip_prefix("memory.").unwrap_or(param.key);
                let of_one = format!("memory.{index}.{short}");
                let e = machine.description.set(&of_one, bad).unwrap_err().to_string();
                assert!(e.contains(short) && e.contains("give"), "{e}");
            }
        }
    }
}
