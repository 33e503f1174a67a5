//! `coreplane crash`.

use crate::Failure;
use crate::args::CrashArgs;
use crate::crash_asked::ASKED;
use crate::crash_lab::{Lab, of_the_machine};
use crate::crash_options::{INSTANTS, RESULT, bounds, every, folder, replay};
use crate::crash_so_far::{Keeper, SO_FAR};
use crate::{crash_hosts, crash_recorded, interrupt, output, progress, races, results};
use check::crash::{self, Persistency};
use machine::{Description, WorkloadDescription};
use workloads::{Persistent, Workload};

/// Crash points between two that what was found so far is kept at.
const BETWEEN_KEPT: usize = 50;

/// Operations of a workload whose own default is higher; what `--set` says goes before.
const OPERATIONS: u64 = 1000;

pub(crate) fn crash(args: &CrashArgs) -> Result<(), Failure> {
    let lab = look(args)?;
    keep(args, &lab)?;
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

/// Puts the result into the folder that was asked for. What a search found so far goes once one has ended.
pub(crate) fn keep(args: &CrashArgs, lab: &Lab) -> Result<(), Failure> {
    let Some(folder) = folder(args) else { return Ok(()) };
    let mut kept = lab.json(args);
    kept["provenance"] = output::provenance_of(&args.workload)?;
    results::put(folder, |own| own.write_json(RESULT, &kept))?;
    if lab.search.is_some() {
        [SO_FAR, ASKED].into_iter().for_each(|name| _ = std::fs::remove_file(folder.join(name)));
    }
    Ok(())
}

fn look(args: &CrashArgs) -> Result<Lab, Failure> {
    let machine = output::machine_before(&args.machine, &args.workload)?;
    let shown = progress::reading(&args.common, &args.workload);
    let workload = output::workload(&args.workload)?;
    drop(shown);
    look_at(args, machine, workload)
}

/// What is found of a machine and a workload, before what is set of either is applied.
pub(crate) fn look_at(
    args: &CrashArgs,
    mut machine: Description,
    mut workload: WorkloadDescription,
) -> Result<Lab, Failure> {
    let usual = workload.clone();
    shorten(&mut workload);
    output::apply(&args.settings, &mut machine, &mut workload)?;
    if machine.power().is_some() {
        let mut lab = crash_hosts::lab(args, &machine, &workload)?;
        lab.notes.extend(shortened(args, &usual, &workload));
        return Ok(lab);
    }
    machine::can_crash(&machine)?;
    workload.check_on(&machine)?;
    some_points(args)?;
    let model = model(args.model.as_deref(), &machine)?;
    if let Some(folder) = folder(args) {
        let text =
            format!("what was found so far is in {} (--resume goes on)", folder.join(SO_FAR).display());
        interrupt::keeps(&folder.join(SO_FAR), text);
    }
    output::make_folder(folder(args))?;
    match (workload.built_in(), &args.check) {
        (Some(built_in), None) => {
            no_recording(args)?;
            let mut lab = built_in_lab(args, &machine, &workload, built_in, model)?;
            lab.notes.extend(shortened(args, &usual, &workload));
            Ok(lab)
        }
        (Some(_), Some(_)) => {
            Err(Failure::BadInput("--check is for recorded programs; workloads bring their own".into()))
        }
        (None, None) => Err(Failure::BadInput(format!(
            "{}: give --check CMD, which decides by its exit status",
            args.workload
        ))),
        (None, Some(command)) => crash_recorded::lab(args, &machine, &workload, command, model),
    }
}

pub(crate) fn some_points(args: &CrashArgs) -> Result<(), Failure> {
    for (name, value) in [("points", args.points), ("images", args.images)] {
        if value == 0 {
            return Err(Failure::BadInput(format!("--{name} 0: give at least 1")));
        }
    }
    Ok(())
}

/// Options that say something of recordings only, and whether each was given.
pub(crate) fn of_recordings(args: &CrashArgs) -> [(&'static str, bool); 5] {
    [
        ("--file", args.file.is_some()),
        ("--after", args.after.is_some()),
        ("--from-start", args.from_start),
        ("--beside", args.beside.is_some()),
        ("--accept-unseen", args.accept_unseen),
    ]
}

/// Refuses them.
fn no_recording(args: &CrashArgs) -> Result<(), Failure> {
    match of_recordings(args).iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            Err(Failure::BadInput(format!("{option} is for recorded programs (trace:FILE)")))
        }
    }
}

/// What a workload does otherwise than without `crash`.
fn shortened(args: &CrashArgs, usual: &WorkloadDescription, now: &WorkloadDescription) -> Option<String> {
    let set = |key: &str| args.settings.set.iter().any(|s| s.split('=').next() == Some(key));
    let shown = |w: &WorkloadDescription, p: &protocol::Param| w.settings.get(p.key).map(|v| p.kind.show(v));
    let changed = now.acting().map(|(p, _)| p).filter(|p| !set(p.key) && shown(usual, p) != shown(now, p));
    let all: Vec<String> =
        changed.map(|p| format!("{}={}", p.key, shown(now, p).unwrap_or_default())).collect();
    (!all.is_empty())
        .then(|| format!("made shorter for many recoveries (--set overrides): {}", all.join(", ")))
}

/// A crash test repeats recovery thousands of times: fewer operations serve, each has to be durable, and has to write.
fn shorten(workload: &mut WorkloadDescription) {
    if workload.built_in().is_none() {
        return;
    }
    let has = |w: &WorkloadDescription, key: &str| w.params.iter().any(|p| p.key == key);
    if has(workload, "workload.operations") {
        let operations = workload.settings.number("workload.operations").min(OPERATIONS);
        _ = workload.presume("workload.operations", &operations.to_string());
        _ = workload.presume("workload.durable", "true");
    }
    let smaller = [
        ("workload.rw", "write"),
        ("workload.file_bytes", "65536"),
        ("workload.subscribers", "1000"),
        ("workload.items", "1000"),
    ];
    for (key, value) in smaller {
        if has(workload, key) {
            _ = workload.presume(key, value);
        }
    }
}

fn model(name: Option<&str>, machine: &Description) -> Result<Persistency, Failure> {
    if let Some(name) = name {
        return output::named("--model", name, Persistency::ALL);
    }
    Ok(machine.persistency())
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
    let asked = every(args)?;
    let shown = progress::simulation(&args.common, 1, "what the program does");
    let log = machine::within_arenas(workload, || crash::of_program(workload, seed))?
        .ok_or_else(|| Failure::BadInput("the program cannot be run without a machine".into()))?;
    drop(shown);
    if let Some(text) = &args.replay {
        let (replay, tracker) = replay(text, &log)?;
        let message = replay.run(&tracker, &mut check).err();
        return Ok(Lab::replayed(model, message));
    }
    let options = output::options(&args.settings);
    let mut keeper = Keeper::new(args, machine, workload, model)?;
    let (found, seconds) = output::timed(|| {
        let most = args.points.min(INSTANTS);
        let every = asked.map_or_else(|| crash::by_writes(machine, workload, &options, most), Ok)?;
        let bar = progress::bar(&args.common, args.points, "power failures");
        let mut told = |memory: &mut dyn Persistent, ended: &[u64]| {
            bar.step();
            check(memory, ended)
        };
        let before = keeper.on_the_machine();
        let mut keep = |so_far: &crash::SoFar| {
            if so_far.found.points.is_multiple_of(BETWEEN_KEPT) {
                keeper.instants(so_far);
            }
        };
        let (cuts, resumed) = ((every, args.points), crash::Resumed { before, keep: &mut keep });
        let timed = crash::timed_on(machine, workload, &options, cuts, &mut told, resumed);
        drop(bar);
        // What the machine refuses is said before the search, which takes longer.
        let timed = timed?;
        // One instant was asked for, not the model.
        let search = args.at.is_none().then(|| {
            let bar = progress::bar(&args.common, args.points, "crash points");
            let mut step = |found: &crash::Search| {
                bar.length(found.points_in_log.min(args.points) as u64);
                bar.step();
                if found.points.is_multiple_of(BETWEEN_KEPT) {
                    keeper.images(found);
                }
            };
            let bounds = bounds(args, keeper.before.points);
            keeper.before.with(&crash::search(&log, model, bounds, &mut check, &mut step))
        });
        Ok((timed, search))
    });
    let (timed, search) = found.map_err(output::failed)?;
    let by_flush = model.needs_flushes();
    let persistence_lint = if by_flush { crash::persistence_lint(&log) } else { Vec::new() };
    let mut lab = Lab {
        timed: Some(timed),
        search,
        persistence_lint,
        seconds,
        events: log.len(),
        cut: log.cut,
        ..Lab::of(model)
    };
    lab.notes.extend(races::of_log(model, &log));
    lab.notes.extend(of_the_machine(machine, lab.timed.as_ref(), None)?);
    if log.cut {
        lab.notes.push(format!(
            "the model's images are of the program's first {} events only: no log is longer; make the program shorter",
            log.len()
        ));
    }
    Ok(lab)
}
