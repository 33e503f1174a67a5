//! `coreplane crash`.

use crate::Failure;
use crate::args::CrashArgs;
use crate::crash_check::External;
use crate::crash_found::{Found, SO_FAR, keeper, print_failure, resumed};
use crate::output::{self, Table};
use check::crash::{self, Bounds, Candidate, Log, Outcome, Persistency, Replay, Timed, TimedFailure};
use machine::{CrashEvery, Description, WorkloadDescription};
use protocol::PM_BASE;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use units::{Time, parse_dur};
use workloads::Workload;

/// Operations of a workload whose own default is higher; what `--set` says goes before.
const OPERATIONS: u64 = 1000;

/// Different failures that are worth printing.
const FAILURES: usize = 8;

pub(crate) fn crash(args: &CrashArgs) -> Result<(), Failure> {
    let mut machine = output::machine(&args.machine)?;
    let mut workload = output::workload(&args.workload)?;
    shorten(&mut workload);
    output::apply(&args.settings, &mut machine, &mut workload)?;
    machine::can_crash(&machine)?;
    for (name, value) in [("points", args.points), ("images", args.images)] {
        if value == 0 {
            return Err(Failure::BadInput(format!("--{name} 0: give at least 1")));
        }
    }
    let model = model(args.model.as_deref(), &machine)?;
    let lab = match (workload.built_in(), &args.check) {
        (Some(_), Some(_)) => {
            return Err(Failure::BadInput(
                "--check is for recorded programs; workloads bring their own".into(),
            ));
        }
        (Some(built_in), None) => built_in_lab(args, &machine, &workload, built_in, model)?,
        (None, None) => {
            return Err(Failure::BadInput(format!(
                "{}: give --check CMD, which decides by its exit status",
                args.workload
            )));
        }
        (None, Some(command)) => recorded_lab(args, &workload, command, model)?,
    };
    if let Some(folder) = &args.out {
        output::write(folder, "crash.json", format!("{:#}\n", lab.json(args)).as_bytes())?;
        _ = std::fs::remove_file(folder.join(SO_FAR));
    }
    if output::is_json(&args.common) {
        output::print_json(&lab.json(args));
    } else {
        lab.print(args);
    }
    match lab.failures() {
        0 => Ok(()),
        n => Err(Failure::DoesNotHold(format!(
            "{n} of the crash points tried leave what recovery does not cope with"
        ))),
    }
}

/// A crash test repeats recovery thousands of times: fewer operations serve, each has to be durable, and has to write.
fn shorten(workload: &mut WorkloadDescription) {
    if workload.built_in().is_none() {
        return;
    }
    let has = |w: &WorkloadDescription, key: &str| w.params.iter().any(|p| p.key == key);
    if has(workload, "workload.operations") {
        let operations = workload.settings.number("workload.operations").min(OPERATIONS);
        _ = workload.set("workload.operations", &operations.to_string());
        _ = workload.set("workload.durable", "true");
    }
    let smaller = [
        ("workload.rw", "write"),
        ("workload.file_bytes", "65536"),
        ("workload.subscribers", "1000"),
        ("workload.items", "1000"),
    ];
    for (key, value) in smaller {
        if has(workload, key) {
            _ = workload.set(key, value);
        }
    }
}

fn model(name: Option<&str>, machine: &Description) -> Result<Persistency, Failure> {
    if let Some(name) = name {
        return output::named("--model", name, Persistency::ALL);
    }
    Ok(match machine.settings.text("ordering.model") {
        "intel" => Persistency::Px86Line,
        "hops" | "asap" if machine.settings.text("ordering.persistency") == "release" => Persistency::Release,
        "hops" | "asap" => Persistency::Epoch,
        _ => Persistency::Strict,
    })
}

fn every(args: &CrashArgs) -> Result<CrashEvery, Failure> {
    if let Some(text) = &args.at {
        let at = parse_dur(text).map_err(|e| Failure::BadInput(format!("--at: {e}")))?;
        return Ok(CrashEvery::At(Time::ZERO + at));
    }
    match args.every {
        Some(0) => Err(Failure::BadInput("--every 0: give at least 1".into())),
        _ if args.all => Ok(CrashEvery::Event),
        n => Ok(CrashEvery::Persists(n.unwrap_or(100))),
    }
}

/// What the lab found.
struct Lab {
    model: Persistency,
    timed: Option<Timed>,
    search: Option<Found>,
    hygiene: Vec<crash::Finding>,
    seconds: f64,
    events: usize,
}

fn bounds(args: &CrashArgs, skip: usize) -> Bounds {
    Bounds { points: args.points, images: args.images, failures: FAILURES, skip }
}

fn built_in_lab(
    args: &CrashArgs,
    machine: &Description,
    workload: &WorkloadDescription,
    built_in: &'static Workload,
    model: Persistency,
) -> Result<Lab, Failure> {
    let seed = args.settings.seed;
    let mut check = workload.recovery(seed).ok_or_else(|| {
        let able = workloads::WORKLOADS.iter().filter(|w| w.recover.is_some()).map(|w| w.name);
        let able = able.collect::<Vec<_>>().join(", ");
        Failure::BadInput(format!(
            "workload {} keeps nothing that could be recovered; those that do: {able}",
            built_in.name
        ))
    })?;
    let every = every(args)?;
    let log = machine::within_arenas(workload, || crash::of_program(workload, seed))?
        .ok_or_else(|| Failure::BadInput("the program cannot be run without a machine".into()))?;
    if let Some(text) = &args.replay {
        let message = replay(text)?.run(&log, &mut check).err();
        return replayed(model, message);
    }
    let options = output::options(&args.settings);
    let before = resumed(args, model)?;
    let ((timed, search), seconds) = output::timed(|| {
        let timed = crash::timed(machine, workload, &options, every, args.points, &mut check);
        // One instant was asked for, not the model.
        let search = args.at.is_none().then(|| {
            let mut keep = keeper(args, model, &before, 50);
            before.with(&crash::search(&log, model, bounds(args, before.points), &mut check, &mut keep))
        });
        (timed, search)
    });
    let by_flush = model.needs_flushes();
    let hygiene = if by_flush { crash::hygiene(&log) } else { Vec::new() };
    Ok(Lab {
        model,
        timed: Some(timed.map_err(output::failed)?),
        search,
        hygiene,
        seconds,
        events: log.events.len(),
    })
}

fn replay(text: &str) -> Result<Replay, Failure> {
    let wrong = || {
        Failure::BadInput(format!("--replay {text}: not what a finding prints (MODEL@POINT:UNIT=KEPT,...)"))
    };
    Replay::read(text).ok_or_else(wrong)
}

/// Pages that a dump did not save.
fn print_lost(pages: &[u64]) {
    const SHOWN: usize = 8;
    if pages.is_empty() {
        return;
    }
    let shown: Vec<String> = pages.iter().take(SHOWN).map(|p| format!("{:#x}", p - PM_BASE)).collect();
    let more = if pages.len() > SHOWN { ", ..." } else { "" };
    println!("    not saved, the battery being empty: {} pages, at {}{more}", pages.len(), shown.join(", "));
}

/// One image, tried again.
fn replayed(model: Persistency, message: Option<String>) -> Result<Lab, Failure> {
    let failures = message.into_iter().map(|message| TimedFailure {
        at: Time::ZERO,
        ended: vec![],
        message,
        lost: vec![],
    });
    let timed = Timed { points: 1, failures: failures.collect(), bounded: false };
    Ok(Lab { model, timed: Some(timed), search: None, hygiene: Vec::new(), seconds: 0.0, events: 0 })
}

fn recorded_lab(
    args: &CrashArgs,
    workload: &WorkloadDescription,
    command: &str,
    model: Persistency,
) -> Result<Lab, Failure> {
    let recording = workload.recording().ok_or_else(|| Failure::BadInput("no trace".into()))?;
    let trace = &recording.to_trace();
    if !trace.about.lacks.is_empty() && trace.about.lacks.contains("value") {
        let text = format!(
            "{}: its stores have no values (it lacks {}); it serves for timing only",
            args.workload, trace.about.lacks
        );
        return Err(Failure::BadInput(text));
    }
    let ranges: Vec<(u64, u64)> =
        trace.pm_ranges().iter().map(|(from, bytes)| (*from, from + bytes)).collect();
    let Some((from, to)) = ranges.first().copied() else {
        return Err(Failure::BadInput(format!(
            "{}: the trace has no persistent range, so there is no image",
            args.workload
        )));
    };
    let log: Log = crash::of_trace(trace, &ranges);
    let external = External::new(command, args.time_limit, from, to)?;
    if let Some(text) = &args.replay {
        let r = replay(text)?;
        let mut tracker = crash::Tracker::new(&log, r.model);
        while tracker.at() < r.point && tracker.step() {}
        return replayed(model, external.run(&tracker.candidate(&r.choice)).err());
    }
    let before = resumed(args, model)?;
    let (search, seconds) = output::timed(|| {
        let mut keep = keeper(args, model, &before, 1);
        let bounds = bounds(args, before.points);
        let check = |image: &Candidate<'_>| Outcome::of(external.run(image));
        before.with(&crash::search_whole(&log, model, bounds, &check, &|| true, &mut keep))
    });
    let hygiene = crash::hygiene(&log);
    Ok(Lab { model, timed: None, search: Some(search), hygiene, seconds, events: log.events.len() })
}

impl Lab {
    fn failures(&self) -> usize {
        self.timed.as_ref().map_or(0, |t| t.failures.len())
            + self.search.as_ref().map_or(0, |s| s.failing_points)
    }

    fn json(&self, args: &CrashArgs) -> Value {
        let timed = self.timed.as_ref().map(|t| {
            let failures = t.failures.iter().map(
                |f| json!({"at_ns": f.at.since(Time::ZERO).as_ns(), "ended": f.ended, "message": f.message, "lost_pages": f.lost}),
            );
            json!({"points": t.points, "bounded": t.bounded, "failures": failures.collect::<Vec<_>>()})
        });
        let search = self.search.as_ref().map(Found::json);
        let hygiene = self.hygiene.iter().map(|f| json!({"kind": f.kind, "site": f.site, "times": f.times}));
        json!({
            "machine": args.machine,
            "workload": args.workload,
            "seed": args.settings.seed,
            "model": self.model.name(),
            "clean": self.failures() == 0,
            "timed": timed,
            "model_images": search,
            "hygiene": hygiene.collect::<Vec<_>>(),
            "host_seconds": self.seconds,
        })
    }

    fn print(&self, args: &CrashArgs) {
        println!(
            "{} on {}, seed {}, model {}",
            args.workload,
            args.machine,
            args.settings.seed,
            self.model.name()
        );
        if let Some(t) = &self.timed {
            let bound = if t.bounded { " (the bound; --points raises it)" } else { "" };
            println!("\npower failures in the run   {}{bound}", t.points);
            println!("recovery fails              {}", t.failures.len());
            for f in &t.failures {
                println!("  at {:.1} ns: {}", f.at.since(Time::ZERO).as_ns(), f.message);
                print_lost(&f.lost);
            }
        }
        if let Some(s) = &self.search {
            println!(
                "\ncrash points of the model   {} of {} in {} events",
                s.points, s.points_in_log, self.events
            );
            println!("images                      {}", s.images);
            if s.bounded_points > 0 {
                println!("points with images left out {} (--images raises the bound)", s.bounded_points);
            }
            println!("recovery fails              {} points", s.failing_points);
            for f in &s.failures {
                print_failure(f);
            }
        }
        self.print_hygiene();
    }

    fn print_hygiene(&self) {
        if self.hygiene.is_empty() {
            return;
        }
        println!("\nwithout any crash:");
        let mut table = Table::new(["finding", "place", "times"]).left(2);
        let meaning: BTreeMap<&str, &str> = BTreeMap::from([
            ("never-flushed", "stored, and not flushed up to the end"),
            ("flushed-twice", "flushed without a store since the last flush"),
            ("idle-fence", "a fence with nothing to wait for"),
        ]);
        for f in &self.hygiene {
            let text = meaning.get(f.kind).copied().unwrap_or(f.kind);
            table.row([text.to_string(), f.site.clone(), f.times.to_string()]);
        }
        table.print();
    }
}
