//! The commands as functions, for programs: typed options in, what `--format json` would say out. Nothing is printed;
//! whoever waits may show how far the work is ([`progress_line`]).

use crate::args::{
    Common, CrashArgs, EngineChoice, Format, LitmusArgs, MethodChoice, RegionArgs, ReproduceArgs, Settings,
    SharedArgs, SweepArgs, TrackArgs, TrackMechanism, TrackMode,
};
use crate::bands::Here;
use crate::compare::Compared;
pub use crate::machine_files::Texts;
use crate::machine_files::machine_of;
pub use crate::progress::line as progress_line;
use crate::record_route::Asked;
use crate::recordings::save_image;
use crate::show::Named;
use crate::show_keys;
use crate::spread::Spreads;
use crate::{
    Failure, accounts, bands, compare, compared_machines, crash, curve, diff, explore, holdup, litmus,
    output, record, record_hosts, record_region, reproduce, run, shared_command, show, sweep,
};
use clap::{CommandFactory, ValueEnum};
use machine::{Description, MemoryDescription, WorkloadDescription};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Keys and values, as text.
pub type Pairs = Vec<(String, String)>;

const QUIET: Common = Common { format: Format::Json, quiet: true };

/// A machine that was read and checked, and what the files say that it was read from.
#[derive(Clone, Debug)]
pub struct Machine(Description, Texts);

impl Machine {
    /// The machine called `source`, or of the file there, with keys set, and a list of memories unless it is empty. What `texts`
    /// has of files is not read again.
    ///
    /// # Errors
    /// When it is not known, or does not accept a key or value.
    pub fn new(
        source: &str,
        set: &Pairs,
        memories: &[Pairs],
        label: Option<String>,
        mut texts: Texts,
    ) -> Result<Machine, Failure> {
        let mut machine = machine_of(source, &mut texts)?;
        if !memories.is_empty() {
            let one =
                |keys: &Pairs| MemoryDescription::of(keys.iter().map(|(k, v)| (k.as_str(), v.as_str())));
            machine.memories = memories.iter().map(one).collect::<Result<_, _>>()?;
        }
        machine.set_all(set.iter().map(|(key, value)| (key.as_str(), value.as_str())))?;
        machine.check()?;
        if label.as_ref().is_some_and(|label| label.trim().is_empty()) {
            return Err(Failure::BadInput(
                "label: is empty; give what results are to call the machine".into(),
            ));
        }
        machine.name = label.unwrap_or(machine.name);
        Ok(Machine(machine, texts))
    }

    /// What its files say, by name: with it the machine can be made again without them.
    pub fn texts(&self) -> &Texts {
        &self.1
    }

    /// What reports call it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The parameters that act on it, with values, units, defaults, sources and meanings.
    pub fn parameters(&self) -> Value {
        show::keys_of_machine(&self.0)
    }
}

/// A workload that was read and checked; of recordings one or more, of one program.
#[derive(Clone)]
pub struct Workload {
    name: String,
    set: Pairs,
    /// Before anything is set.
    named: Vec<WorkloadDescription>,
    described: Vec<WorkloadDescription>,
}

impl Workload {
    /// The workload called `name`, with keys under `workload.` set.
    ///
    /// # Errors
    /// When it is not known, cannot be read, or does not accept a key or value.
    pub fn new(name: &str, set: Pairs) -> Result<Workload, Failure> {
        let named = bands::workloads(name)?;
        let mut described = named.clone();
        for workload in &mut described {
            set.iter().try_for_each(|(key, value)| workload.set(key, value))?;
        }
        Ok(Workload { name: name.into(), set, named, described })
    }

    /// What was set, as options have it.
    fn set_as_options(&self) -> Vec<String> {
        self.set.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    /// Its parameters, with values, units, defaults, sources and meanings.
    pub fn parameters(&self) -> Value {
        show::parameter_list(show::workload_rows(&self.described[0]))
    }
}

/// What is told of a time beside its one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bands {
    /// Nothing.
    None,
    /// Of recordings, what is not known of their time.
    Recordings,
    /// What nobody has published: all open parameters are varied, in so many runs at most.
    Open(Option<usize>),
}

/// How a workload is run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// Seed of every random stream.
    pub seed: u64,
    /// By the engine that the fast one is checked against.
    pub reference: bool,
    /// What is told beside the one time.
    pub bands: Bands,
    /// Keep a timeline.
    pub timeline: bool,
}

impl How {
    fn settings(&self, set: Vec<String>) -> Settings {
        let engine = if self.reference { EngineChoice::Reference } else { EngineChoice::Fast };
        Settings { set, seed: self.seed, engine }
    }

    fn options(&self) -> machine::RunOptions {
        let timeline_marks = if self.timeline { run::TIMELINE_MARKS } else { 0 };
        machine::RunOptions { timeline_marks, ..output::options(&self.settings(Vec::new())) }
    }
}

type Job = (Description, Vec<WorkloadDescription>);

/// The bands of the machines of `jobs`, where they are wanted.
fn spreads(
    workload: &Workload,
    jobs: &[Job],
    base: Option<usize>,
    how: How,
) -> Result<Option<Spreads>, Failure> {
    let Bands::Open(runs) = how.bands else { return Ok(None) };
    let settings = how.settings(workload.set_as_options());
    Spreads::of(jobs, (&workload.name, &settings, &QUIET), base, runs, None).map(Some)
}

/// A power failure in a run.
#[derive(Clone, Debug)]
pub struct PowerFailure {
    /// When, counted from power-on: a time with its unit.
    pub at: String,
    /// The file that what is left of the persistent memory is written to.
    pub image: Option<PathBuf>,
}

/// Simulates `workload` on `machine`, up to a power failure where there is one; gives the result, and the timeline (of Perfetto) where one
/// was asked for.
///
/// # Errors
/// When the two do not fit together, the run breaks a promise, or the image cannot be written.
pub fn run(
    machine: &Machine,
    workload: &Workload,
    how: How,
    power: Option<&PowerFailure>,
) -> Result<(Value, Option<Vec<u8>>), Failure> {
    let recorded = how.bands == Bands::Recordings;
    let (job, mut options) = ([(machine.0.clone(), workload.described.clone())], how.options());
    if let Some(power) = power {
        run::cut_power(&mut options, &power.at, power.image.is_some())?;
    }
    let (runs, mut json) = run::look(&job, &options, recorded && run::has_ends(&options), &Here, |_| {})?;
    if let Some(all) = spreads(workload, &job, None, how)? {
        json["band"] = all.band(0, None).to_json();
    }
    let (report, host_seconds) = runs.report();
    json["host_seconds"] = host_seconds.into();
    if let Some(image) = power.and_then(|power| power.image.as_ref()) {
        save_image(&report.durable, image)?;
    }
    Ok((json, report.timeline.as_ref().map(|t| t.to_perfetto())))
}

/// The names of machines that are to be compared, as they were asked for: the family's among them where that word was.
///
/// # Errors
/// When a name is empty, or there twice.
pub fn compared(on: &[String]) -> Result<Vec<String>, Failure> {
    compared_machines::asked(on)
}

/// Simulates `workload` on each machine; speedups are against the one at `base`.
///
/// # Errors
/// As [`run`], and when the machines' times cannot be compared.
pub fn compare(machines: &[Machine], workload: &Workload, base: usize, how: How) -> Result<Value, Failure> {
    let names: Vec<String> = machines.iter().map(|m| m.0.name.clone()).collect();
    let baseline = names.get(base).cloned().ok_or(Failure::BadInput("give at least one machine".into()))?;
    let jobs: Vec<Job> = machines.iter().map(|m| (m.0.clone(), workload.described.clone())).collect();
    let recorded = how.bands == Bands::Recordings;
    let Compared { runs, mut rows, remarks } =
        compare::look(&names, jobs.clone(), &how.options(), recorded, base, &Here, |_| {})?;
    let spreads = spreads(workload, &jobs, Some(base), how)?;
    if let Some(all) = &spreads {
        for (n, row) in rows.iter_mut().enumerate() {
            row["band"] = all.band(n, Some(base)).to_json();
        }
    }
    let reports = compare::reports(&names, &runs);
    for (n, said) in
        accounts::explained(&reports, base, &compare::ratio(&runs, spreads.as_ref())).into_iter().enumerate()
    {
        if let Some(said) = said {
            rows[n]["explained"] = said.into();
            rows[n]["reasons"] = accounts::explanation(reports[n].1, reports[base].1);
        }
    }
    Ok(json!({"workload": workload.name, "baseline": baseline, "machines": rows, "remarks": remarks}))
}

/// Which power failures are tried, and how recovery is checked.
#[derive(Clone, Debug, Default)]
pub struct Crash {
    /// At this time alone.
    pub at: Option<String>,
    /// After every so many writes that reach the controllers.
    pub every: Option<u64>,
    /// At every event.
    pub all: bool,
    /// A command that decides, for recordings.
    pub check: Option<String>,
    /// Which file of a recording the check is about.
    pub file: Option<String>,
    /// Only after this mark of a recording.
    pub after: Option<u64>,
    /// Power failures from the start on, also where the program makes the file.
    pub from_start: bool,
    /// A folder of files that the program only read.
    pub beside: Option<PathBuf>,
    /// Go on although a recording does not explain all.
    pub accept_unseen: bool,
    /// The persistency model; the machine's own where none is named.
    pub model: Option<String>,
    /// The most crash points.
    pub points: usize,
    /// The most images at each.
    pub images: usize,
    /// Seconds that a check may take.
    pub time_limit: f64,
    /// Seconds of checks that making failures small may take.
    pub minimise_seconds: f64,
    /// One image again.
    pub replay: Option<String>,
    /// A folder for the result, and for what was found so far.
    pub out: Option<PathBuf>,
    /// Go on where an interrupted search into the same folder stopped.
    pub resume: bool,
}

/// Cuts the power, recovers, checks.
///
/// # Errors
/// When the machine or the workload cannot be cut, or an option is not accepted.
pub fn crash(machine: &Machine, workload: &Workload, seed: u64, c: Crash) -> Result<Value, Failure> {
    let given = [c.at.is_some(), c.every.is_some(), c.all];
    if given.iter().filter(|given| **given).count() > 1 {
        return Err(Failure::BadInput("give one of --at, --every and --all".into()));
    }
    if c.from_start && c.after.is_some() {
        return Err(Failure::BadInput("give one of --after and --from-start".into()));
    }
    let [named] = workload.named.as_slice() else {
        return Err(Failure::BadInput("the power is cut in one recording at a time".into()));
    };
    let how = How { seed, reference: false, bands: Bands::None, timeline: false };
    let args = CrashArgs {
        machine: machine.0.name.clone(),
        workload: workload.name.clone(),
        at: c.at,
        every: c.every,
        all: c.all,
        check: c.check,
        file: c.file,
        after: c.after,
        from_start: c.from_start,
        beside: c.beside,
        accept_unseen: c.accept_unseen,
        model: c.model,
        points: c.points,
        images: c.images,
        time_limit: c.time_limit,
        minimise_seconds: c.minimise_seconds,
        out: c.out,
        resume: c.resume,
        replay: c.replay,
        settings: how.settings(workload.set_as_options()),
        common: QUIET,
    };
    let lab = crash::look_at(&args, machine.0.clone(), named.clone())?;
    crash::keep(&args, &lab)?;
    Ok(lab.json(&args))
}

/// Runs litmus tests: those of files, of a text, or the project's own specifications.
///
/// # Errors
/// When a test cannot be read or a name is not known.
pub fn litmus(
    files: Vec<PathBuf>,
    text: Option<String>,
    model: Option<String>,
    operational: bool,
    failed_rmw_fences: bool,
) -> Result<Value, Failure> {
    let mut texts = if text.is_some() && files.is_empty() { Vec::new() } else { litmus::texts(&files)? };
    let mut files = files;
    if let Some(text) = text {
        files.push("text".into());
        texts.push(("text".into(), text));
    }
    let method = if operational { MethodChoice::Operational } else { MethodChoice::View };
    let args = LitmusArgs { files, model, method, failed_rmw_fences, common: QUIET };
    let tests = litmus::tests(&texts)?;
    Ok(litmus::look(&args, &tests)?.iter().map(litmus::Row::json).collect())
}

/// Explores a protocol, to `states` states, or takes the steps of `replay` again.
///
/// # Errors
/// When a name or bound is not known.
pub fn explore(
    protocol: &str,
    bounds: &Pairs,
    mutant: Option<&str>,
    states: usize,
    replay: Option<&[u16]>,
) -> Result<Value, Failure> {
    if states == 0 {
        return Err(Failure::BadInput("--states 0: give at least 1".into()));
    }
    let harness = explore::protocol(protocol)?;
    let given = explore::given(bounds, harness)?;
    if let Some(choices) = replay {
        let replay = harness.replay(&given, mutant, choices).map_err(Failure::BadInput)?;
        return Ok(json!({"trace": replay.trace, "message": replay.message}));
    }
    let (outcome, seconds) = output::timed(|| harness.explore(&given, mutant, states));
    Ok(explore::json(protocol, mutant, &outcome.map_err(Failure::BadInput)?, seconds))
}

/// Looks for what is wrong in a program of several hosts, under so many schedules.
///
/// # Errors
/// When the two do not fit together.
pub fn shared(
    machine: &Machine,
    workload: &Workload,
    seed: u64,
    schedules: Option<u64>,
) -> Result<Value, Failure> {
    let [described] = workload.described.as_slice() else {
        return Err(shared_command::not_recorded(&workload.name));
    };
    let how = How { seed, reference: false, bands: Bands::None, timeline: false };
    let args = SharedArgs {
        machine: machine.0.name.clone(),
        workload: workload.name.clone(),
        schedules,
        out: None,
        settings: how.settings(Vec::new()),
        common: QUIET,
    };
    Ok(shared_command::look(&args, &machine.0, described)?.json())
}

/// Which part of a program is recorded; all of it unless said.
#[derive(Clone, Debug, Default)]
pub struct Part(RegionArgs);

impl Part {
    /// By the names of the options that say it, and their values; those of options without one are empty.
    ///
    /// # Panics
    /// When there is no such option.
    pub fn new(said: &[(String, String)]) -> Part {
        let mut part = RegionArgs::default();
        for (name, value) in said {
            let value = Some(value.clone());
            match name.as_str() {
                "skip" => part.skip = value,
                "count" => part.count = value,
                "warm_up" => part.warm_up = value,
                "every" => part.every = value,
                "window" => part.window = value,
                "region" => part.region = true,
                "region_signal" => part.region_signal = true,
                _ => unreachable!("{name} is no option of a part"),
            }
        }
        Part(part)
    }
}

/// Runs a program and records it.
///
/// # Errors
/// When it cannot be run, or recorded nothing.
pub fn record(
    command: &[String],
    out: &Path,
    route: &str,
    memory: Option<String>,
    host_per_process: bool,
    part: &Part,
) -> Result<Value, Failure> {
    if command.is_empty() {
        return Err(Failure::BadInput("give the program and its arguments".into()));
    }
    let asked = Asked::named(route, memory)?.within(record_region::words(&part.0)?);
    if host_per_process {
        record_hosts::check(&asked)?;
        return record_hosts::record_once(command, out, &QUIET, Stdio::inherit());
    }
    record::record_once(command, out, &asked, &QUIET, Stdio::inherit())
}

/// What a recording holds.
///
/// # Errors
/// When it cannot be read.
pub fn trace_summary(file: &Path) -> Result<Value, Failure> {
    Ok(crate::trace_info::summary(&crate::trace_info::look(file, false)?.0))
}

/// What is tracked, and how.
#[derive(Clone, Debug)]
pub struct Track {
    /// Running processes, by number or name.
    pub processes: Vec<String>,
    /// Whether the children are tracked too.
    pub children: bool,
    /// A cgroup whose processes are tracked.
    pub cgroup: Option<PathBuf>,
    /// Whether pages are counted that were accessed.
    pub accessed: bool,
    /// A program and its arguments.
    pub command: Vec<String>,
    /// Seconds of a window.
    pub interval: f64,
    /// The most windows.
    pub windows: Option<u64>,
    /// `lines`, `write-protect` or `nothing`.
    pub mode: String,
    /// `scan` or `read`.
    pub mechanism: Option<String>,
}

/// Tracks a program's dirty data, window by window.
///
/// # Errors
/// When it cannot be tracked.
pub fn track(t: Track) -> Result<Value, Failure> {
    if t.windows == Some(0) {
        return Err(Failure::BadInput("--windows 0: give at least 1".into()));
    }
    let args = TrackArgs {
        processes: t.processes,
        children: t.children,
        cgroup: t.cgroup,
        accessed: t.accessed,
        interval: t.interval,
        windows: t.windows,
        mode: choice::<TrackMode>("mode", &t.mode)?,
        mechanism: t.mechanism.map(|name| choice::<TrackMechanism>("mechanism", &name)).transpose()?,
        out: None,
        common: QUIET,
        command: t.command,
    };
    let options = crate::track_command::options(&args)?;
    let report = track::track(&options, &mut |_| ())?;
    Ok(report.windows.iter().map(|w| crate::track_command::to_json(w, &report)).collect())
}

fn choice<T: ValueEnum>(option: &str, name: &str) -> Result<T, Failure> {
    T::from_str(name, false).map_err(|_| {
        let values = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = values.map(|v| v.get_name().to_string()).collect();
        Failure::BadInput(format!("--{option}: `{name}` is not known; accepted: {}", names.join(", ")))
    })
}

/// Makes a paper's evaluation, or all: claims and figures; with `bands` all open parameters are varied, in `runs` runs at
/// most, which `out` keeps.
///
/// # Errors
/// When there is no such paper, or its claims cannot be read.
pub fn reproduce(
    paper: &str,
    claims: Option<PathBuf>,
    seed: u64,
    bands: bool,
    runs: Option<usize>,
    out: Option<PathBuf>,
) -> Result<Value, Failure> {
    let args =
        ReproduceArgs { paper: paper.into(), live: false, claims, out, seed, bands, runs, common: QUIET };
    Ok(reproduce::look(&args)?.iter().map(evaluate::Evaluation::to_json).collect())
}

/// Bandwidth-latency curves of a machine's memory, one for each share of reads; `set` are keys of their workload.
///
/// # Errors
/// When a share or a key is not accepted, or the machine has no such curves.
pub fn curve(machine: &Machine, reads: &[u64], set: &Pairs, seed: u64) -> Result<Value, Failure> {
    let mut workload = evaluate::curve::workload()?;
    set.iter().try_for_each(|(key, value)| workload.set(key, value))?;
    let points = evaluate::curve::curves(&machine.0, &workload, reads, seed, None, || {});
    points.map(|found| curve::to_json(&found)).map_err(output::failed)
}

/// Lines that a power failure loses on a machine, by the energy that is stored for it.
///
/// # Errors
/// When nothing is left of the machine's memory anyhow, or the run breaks a promise.
pub fn holdup(machine: &Machine, workload: Option<&Workload>, seed: u64) -> Result<Value, Failure> {
    let usual = WorkloadDescription::named(evaluate::holdup::workload(&machine.0))?;
    let [workload] = workload.map_or(std::slice::from_ref(&usual), |w| w.described.as_slice()) else {
        return Err(Failure::BadInput("the power is cut in one recording at a time".into()));
    };
    let steps = evaluate::holdup::holdup(&machine.0, workload, seed);
    steps.map(|found| holdup::to_json(&found)).map_err(output::failed)
}

/// What differs between two results: folders or files, or the JSON of one that is kept in none with what it is called.
///
/// # Errors
/// When one is no result of `run` or `compare`, or they have no machine in common.
pub fn diff(before: (&Path, Option<&str>), after: (&Path, Option<&str>)) -> Result<Value, Failure> {
    diff::between(before, after).map(|found| found.to_json())
}

/// Makes the runs of a campaign on this machine's cores; says where they are. Where `text` is given, it is that of the campaign, which
/// is in no file: `campaign` is what it is called.
///
/// # Errors
/// When the campaign is not accepted.
pub fn sweep(
    campaign: PathBuf,
    text: Option<String>,
    out: Option<PathBuf>,
    resume: bool,
    jobs: Option<usize>,
) -> Result<Value, Failure> {
    let args = SweepArgs {
        campaign,
        on: "local".into(),
        resume,
        out,
        jobs,
        share: None,
        only: Vec::new(),
        plan: false,
        common: QUIET,
    };
    sweep::look(&args, text)
}

/// What there is of a kind: what `coreplane show` has a word for, an `overview` of what can be shown and the `workload
/// schema`.
///
/// # Errors
/// When there is nothing of that name.
pub fn list(what: &str) -> Result<Value, Failure> {
    Ok(match what {
        "overview" => {
            let rows = show::overview_rows()?;
            rows.iter().map(|[show, what]| json!({"show": show, "what": what})).collect()
        }
        "workload schema" => machine::schema::workloads(),
        _ => match show::Topic::called(what) {
            Some(topic) => topic.json()?,
            None => return Err(Failure::BadInput(format!("there is no list of {what}"))),
        },
    })
}

/// What a name means, as rows, and what they are: `statistics`, `parameters` by themselves, or the `settings` of a
/// machine or workload.
///
/// # Errors
/// When nothing is called so.
pub fn named(name: &str) -> Result<(&'static str, Value), Failure> {
    Ok(match show::find_named(name)? {
        Named::Statistic(info) => ("statistics", json!([show::statistic(info)])),
        Named::Keys(found) => ("parameters", show_keys::list(&found)),
        Named::Workload(workload, _) => ("settings", show::parameter_list(show::workload_rows(&workload))),
        Named::Machine(machine) => ("settings", show::keys_of_machine(&machine)),
    })
}

/// What is said of commands, and of the functions that do the same in Python.
const LISTS: [(&str, &str); 4] = [
    ("--set ", ""),
    ("coreplane show machines", "coreplane.machines()"),
    ("coreplane show workloads", "coreplane.workloads()"),
    ("coreplane show stats", "coreplane.statistics()"),
];

/// A message of the command line as a program reads it: options are arguments of functions there.
pub fn without_options(text: &str) -> String {
    let text = LISTS.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to));
    let command = crate::args::Cli::command();
    let options = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let mut names: Vec<&str> = options.filter_map(clap::Arg::get_long).collect();
    // The longest first: one may begin as another does.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.iter().fold(text, |text, name| text.replace(&format!("--{name}"), &name.replace('-', "_")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_for_programs_name_arguments_and_functions() {
        let said =
            without_options("--accept-unseen: no (coreplane show stats lists them), --set a.b: --points 0");
        assert_eq!(said, "accept_unseen: no (coreplane.statistics() lists them), a.b: points 0");
    }

    #[test]
    fn a_machine_with_a_list_of_memories_is_checked_when_it_is_made() {
        let pairs = |keys: &[(&str, &str)]| {
            keys.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect::<Pairs>()
        };
        let two = [pairs(&[("kind", "pm"), ("share", "3")]), pairs(&[("kind", "pm"), ("pm.read_ns", "60")])];
        let made = Machine::new("bbb", &Pairs::new(), &two, Some("two".into()), Texts::new()).unwrap();
        assert_eq!(made.name(), "two");
        assert!(
            made.parameters()
                .as_array()
                .unwrap()
                .iter()
                .any(|row| row["key"].as_str().unwrap().starts_with("memory.1"))
        );
        for wrong in [&[("share", "3")][..], &[("kind", "tape")], &[("kind", "pm"), ("pm.nope", "1")]] {
            assert!(
                Machine::new("bbb", &Pairs::new(), &[pairs(wrong)], None, Texts::new()).is_err(),
                "{wrong:?}"
            );
        }
    }
}
