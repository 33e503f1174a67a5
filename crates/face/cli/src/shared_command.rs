//! `coreplane shared`.

use crate::Failure;
use crate::args::SharedArgs;
use crate::lines::{paragraph, say};
use crate::{output, progress, quantity, results};
use machine::{ConfigError, Description, Fidelity, WorkloadDescription};
use serde_json::{Value, json};
use shared::{Found, Happens, Outcome, Side, Step, What};

/// Runs of a program, unless others are asked for.
pub(crate) const SCHEDULES: u64 = 500;

/// What of a search is told: the machine's and the program's names, what was found, and the host's seconds.
pub(crate) struct Searched {
    machine: String,
    workload: String,
    seed: u64,
    /// Whether it is of a recording, which has no schedules.
    is_recorded: bool,
    /// Cores of each host that run a program.
    cores: usize,
    outcome: Outcome,
    seconds: f64,
}

pub(crate) fn shared(args: &SharedArgs) -> Result<(), Failure> {
    if output::recording(&args.workload).is_some_and(|(kind, _)| kind != "trace") {
        return Err(not_recorded(&args.workload));
    }
    let mut machine = output::machine(&args.machine)?;
    let mut workload = output::workload(&args.workload)?;
    output::apply(&args.settings, &mut machine, &mut workload)?;
    output::make_folder(args.out.as_deref())?;
    let searched = look(args, &machine, &workload)?;
    if let Some(folder) = &args.out {
        let kept = searched.kept(args, &workload)?;
        results::put(folder, |own| own.write_json("shared.json", &kept))?;
    }
    if output::is_json(&args.common) {
        output::print_json(&searched.json());
    } else {
        searched.print();
    }
    match searched.outcome.found.len() {
        0 => Ok(()),
        1 => Err(Failure::DoesNotHold("1 mistake found".into())),
        n => Err(Failure::DoesNotHold(format!("{n} mistakes found"))),
    }
}

/// That what was given does not tell what several hosts did.
pub(crate) fn not_recorded(name: &str) -> Failure {
    let programs: Vec<&str> = workloads::SHARED_WORKLOADS.iter().map(|w| w.name).collect();
    let programs = programs.join(", ");
    Failure::BadInput(format!(
        "{name}: is of one host; give a recording of several (trace:FILE, from coreplane record --host-per-process) or one of {programs}"
    ))
}

/// Runs programs of hosts under schedules, or a recording of them under its own.
fn searched(
    machine: &Description,
    workload: &WorkloadDescription,
    seed: u64,
    schedules: u64,
) -> Result<Outcome, ConfigError> {
    machine.check()?;
    if machine.fidelity() != Fidelity::Hosts {
        return Err(ConfigError(format!(
            "{}: is one host; give a machine of several (machine.fidelity = hosts), such as shared",
            machine.name
        )));
    }
    shared::searched(&machine.task(workload, seed), schedules).map_err(ConfigError)
}

/// Searches, with what is set applied.
pub(crate) fn look(
    args: &SharedArgs,
    machine: &Description,
    workload: &WorkloadDescription,
) -> Result<Searched, Failure> {
    let idle = [("--schedules", args.schedules.is_some()), ("--seed", args.settings.seed != 1)];
    if let Some((option, _)) =
        idle.into_iter().find(|(_, given)| *given).filter(|_| workload.recording().is_some())
    {
        let text =
            format!("{option}: does nothing on a recording, which has the order in which things happened");
        return Err(Failure::BadInput(text));
    }
    let schedules = args.schedules.unwrap_or(SCHEDULES);
    if schedules == 0 {
        return Err(Failure::BadInput("--schedules 0: give at least 1".into()));
    }
    let bar = match workload.recording() {
        Some(_) => progress::busy(&args.common, "accesses"),
        None => progress::parts(&args.common, schedules, "schedules"),
    };
    let seed = args.settings.seed;
    let (outcome, seconds) = output::timed(|| searched(machine, workload, seed, schedules));
    drop(bar);
    let is_recorded = workload.recording().is_some();
    // A workload of one host has no such key, and is refused here.
    let outcome = outcome?;
    let cores = if is_recorded { 1 } else { workload.settings.count("workload.cores") };
    let (machine, workload) = (machine.name.clone(), workload.name.clone());
    Ok(Searched { machine, workload, seed, is_recorded, cores, outcome, seconds })
}

impl Searched {
    pub(crate) fn json(&self) -> Value {
        let o = &self.outcome;
        json!({
            "machine": self.machine,
            "workload": self.workload,
            "seed": self.seed,
            "schedules": o.schedules,
            "references": o.references,
            "time_ns": o.time.as_ns(),
            "flush_ns": o.tally.number("shared.flush_time"),
            "fence_ns": o.tally.number("shared.fence_time"),
            "fetch_ns": o.tally.number("shared.fetch_time"),
            "findings": o.found.iter().map(|found| found_json(found, self.cores)).collect::<Vec<_>>(),
            "remarks": o.remarks,
            "host_seconds": self.seconds,
        })
    }

    /// The same, with what a page needs to tell it and who wants to see it again.
    fn kept(&self, args: &SharedArgs, workload: &WorkloadDescription) -> Result<Value, Failure> {
        let mut kept = self.json();
        for name in ["flushes", "fences", "fetches"] {
            kept[name] = (self.outcome.tally.number(&format!("shared.{name}")) as u64).into();
        }
        let about = workload.recording().map(trace::Recording::about);
        kept["is_recorded"] = self.is_recorded.into();
        kept["hosts"] =
            about.map_or_else(|| workload.settings.count("workload.hosts"), |a| a.hosts.len()).into();
        kept["sources"] = json!(about.map(|about| &about.sources));
        kept["provenance"] = output::provenance_of(&args.workload)?;
        Ok(kept)
    }

    fn print(&self) {
        let o = &self.outcome;
        for (n, found) in o.found.iter().enumerate() {
            print_found(n + 1, found, self.is_recorded, self.cores);
        }
        let price = |name: &str| quantity::time(o.tally.number(name));
        let (second, when) = if self.is_recorded {
            (format!("accesses   {}", o.references), "as recorded")
        } else {
            (format!("schedules  {} ({} accesses)", o.schedules, o.references), "where nothing happens")
        };
        say!(
            "findings   {}\n{second}\ntime       {} {when}; over all hosts {} in flushes, {} in fences, {} in fetches",
            o.found.len(),
            quantity::time(o.time.as_ns()),
            price("shared.flush_time"),
            price("shared.fence_time"),
            price("shared.fetch_time"),
        );
        o.remarks.iter().for_each(|remark| paragraph(&format!("remark: {remark}")));
    }
}

fn print_found(number: usize, found: &Found, is_recorded: bool, cores: usize) {
    let f = &found.finding;
    say!("{number}. {}\n   {}", f.kind.name(), f.message);
    if is_recorded {
        say!(
            "   seen {}; smallest schedule: {} steps of the recording, in its order, with offsets in the file:",
            times(found.runs),
            found.operations
        );
    } else {
        let what = match found.schedule.as_slice() {
            [] => "nothing happens besides".to_string(),
            all => all.iter().map(|h| happens(h, cores)).collect::<Vec<_>>().join("; "),
        };
        say!("   smallest schedule: workload.operations={}, {what}", found.operations);
    }
    found.steps.iter().for_each(|s| say!("   {}", step(s)));
    say!("");
}

fn times(n: u64) -> String {
    if n == 1 { "once".into() } else { format!("{n} times") }
}

/// A host, and which of its cores where several take part.
fn core_name(core: usize, cores: usize) -> String {
    let host = core / cores;
    if cores == 1 { format!("{host}") } else { format!("{host} (core {})", core % cores) }
}

fn happens(h: &Happens, cores: usize) -> String {
    let Happens { core, access, what } = h;
    let host = core_name(*core, cores);
    match what {
        What::Pause(time) => {
            format!("host {host} stands still for {} before access {access}", quantity::time(time.as_ns()))
        }
        What::Evict(_) => format!("a line leaves the caches of host {host} before its access {access}"),
        What::Linger(time) => {
            format!(
                "what host {host} writes next after access {access} takes {} more",
                quantity::time(time.as_ns())
            )
        }
        What::Crash => format!("host {host} stops before its access {access}"),
        What::LinkFails(time) => {
            let time = quantity::time(time.as_ns());
            format!("the link of host {host} is lost for {time} before its access {access}")
        }
        What::PowerFails(lines) => {
            let energy = lines.map(|n| format!(", with energy for {n} lines")).unwrap_or_default();
            format!("the power fails before access {access} of host {host}{energy}")
        }
    }
}

fn step(s: &Step) -> String {
    let address = s.address.map(|a| format!(" {a:#x}")).unwrap_or_default();
    let value = s.value.map(|v| format!(" = {v:#x}")).unwrap_or_default();
    let (time, place) = (quantity::time(s.time.as_ns()), s.site);
    format!("{time:>10}  host {} {}{address}{value}  {place}", s.host, s.what)
}

fn side_json(side: &Side) -> Value {
    let caller = side.site.caller().map(|(file, line)| format!("{file}:{line}"));
    json!({"host": side.host, "file": side.site.file(), "line": side.site.line(), "called_at": caller, "time_ns": side.time.as_ns()})
}

fn found_json(found: &Found, cores: usize) -> Value {
    let f = &found.finding;
    let step = |s: &Step| {
        json!({"time_ns": s.time.as_ns(), "host": s.host, "what": s.what, "address": s.address, "value": s.value,
               "file": s.site.file(), "line": s.site.line()})
    };
    json!({
        "kind": f.kind.name(),
        "message": f.message,
        "address": f.address,
        "here": side_json(&f.here),
        "there": f.there.as_ref().map(side_json),
        "apart_ns": f.apart().map(units::Dur::as_ns),
        "runs": found.runs,
        "operations": found.operations,
        "schedule": found.schedule.iter().map(|h| happens(h, cores)).collect::<Vec<_>>(),
        "steps": found.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
