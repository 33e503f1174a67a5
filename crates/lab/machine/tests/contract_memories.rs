//! What every kind of memory keeps to: the same verbs, run on every line of the registry.

use machine::{
    CrashEvery, Description, PRESETS, Report, RunError, RunOptions, STATISTICS, WorkloadDescription,
};
use machine::{can_crash, memory_kinds, params::MACHINE, run, run_with_crashes};
use params::Kind;
use plug::MemoryKind;

/// Every preset that is one memory of a kind and nothing else new, with its kind; each line of the registry has one.
fn machines() -> impl Iterator<Item = (Description, &'static dyn MemoryKind)> {
    let plain = |d: &Description| {
        d.memories.is_empty() && d.is_line() && d.settings.text("ordering.model") == "intel"
    };
    let presets = PRESETS.iter().filter(|p| !p.name.contains('@'));
    presets.map(|p| Description::preset(p.name).unwrap()).filter(plain).map(|machine| {
        let kind = memory_kinds().find(|k| k.name() == machine.settings.text("memory.kind")).unwrap();
        (machine, kind)
    })
}

#[test]
fn every_kind_has_a_machine() {
    for kind in memory_kinds() {
        assert!(machines().any(|(_, k)| k.name() == kind.name()), "{}", kind.name());
    }
}

fn work(name: &str, operations: &str) -> WorkloadDescription {
    let mut work = WorkloadDescription::named(name).unwrap();
    work.set("workload.operations", operations).unwrap();
    work
}

fn ran(machine: &Description, work: &WorkloadDescription, mode: engine::Mode) -> Result<Report, RunError> {
    run(machine, work, &RunOptions { seed: 11, mode, ..RunOptions::default() })
}

#[test]
fn conserves_bytes_and_answers_every_request_once() {
    for mut program in [work("fio", "60"), work("bandwidth", "40")] {
        program.set("workload.threads", "1").unwrap();
        let all: Vec<Report> =
            machines().map(|(m, _)| ran(&m, &program, engine::Mode::Fast).unwrap()).collect();
        for report in &all {
            let same = report.visible == all[0].visible;
            assert!(same, "{} leaves other bytes than {}", report.machine, all[0].machine);
        }
    }
}

#[test]
fn is_deterministic_under_both_engines() {
    for (machine, _) in machines() {
        let program = work("mix", "80");
        let runs = [engine::Mode::Fast, engine::Mode::Fast, engine::Mode::Reference];
        let all = runs.map(|mode| ran(&machine, &program, mode).unwrap().to_json());
        assert_eq!(all[0], all[1], "{}: twice", machine.name);
        assert_eq!(all[0], all[2], "{}: the reference engine", machine.name);
    }
}

#[test]
fn is_idle_when_idle() {
    for (machine, _) in machines() {
        let few = ran(&machine, &work("mix", "1"), engine::Mode::Fast).unwrap();
        let events = |r: &Report| r.events;
        assert!(events(&few) < 4_000, "{}: {} events for next to nothing", machine.name, events(&few));
    }
}

#[test]
fn survives_a_power_failure_at_every_message_or_says_that_it_does_not() {
    for (machine, kind) in machines() {
        assert_eq!(
            can_crash(&machine).is_err(),
            kind.is_volatile(&machine.settings).is_some(),
            "{}",
            machine.name
        );
        if kind.is_volatile(&machine.settings).is_some() {
            continue;
        }
        let program = work("queue", "3");
        let recover = program.recovery(11).unwrap();
        let options = RunOptions { seed: 11, ..RunOptions::default() };
        let mut points = 0;
        run_with_crashes(&machine, &program, &options, CrashEvery::Event, &mut |point| {
            points += 1;
            assert_eq!(recover(&mut point.words(), &point.ended), Ok(()), "{} at {}", machine.name, point.at);
            true
        })
        .unwrap();
        assert!(points > 100, "{}: {points} points", machine.name);
    }
}

#[test]
fn refuses_bad_parameters_with_the_key_and_what_is_accepted() {
    for (mut machine, kind) in machines() {
        let own: Vec<&str> = kind.tables(&machine.settings).into_iter().flatten().map(|p| p.key).collect();
        for param in MACHINE.iter().filter(|p| own.contains(&p.key)) {
            let bad = match param.kind {
                Kind::Text => continue,
                Kind::Flag => "perhaps",
                Kind::Count { .. }
                | Kind::PowerOfTwo { .. }
                | Kind::Multiple { .. }
                | Kind::Thousandths { .. }
                | Kind::Nanoseconds { .. }
                | Kind::Bytes { .. }
                | Kind::Choice(_) => "-1",
            };
            let e = machine.set(param.key, bad).unwrap_err().to_string();
            assert!(e.contains(param.key) && e.contains("give"), "{e}");
        }
    }
}

#[test]
fn reports_what_the_table_of_statistics_declares_and_nothing_else() {
    for (machine, _) in machines() {
        let report = ran(&machine, &work("queue", "20"), engine::Mode::Fast).unwrap();
        let declared = |name: &str| STATISTICS.iter().any(|s| s.name == name);
        let stray: Vec<&str> =
            report.stats.iter().map(|s| s.name.as_str()).filter(|name| !declared(name)).collect();
        assert!(stray.is_empty(), "{}: {stray:?}", machine.name);
        for name in ["memory.reads", "memory.writes"] {
            assert!(report.get(name).is_some(), "{}: no {name}", machine.name);
        }
    }
}
