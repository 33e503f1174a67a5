//! What of a recorded program's time is not known, as a band: instructions a cycle, and which of its runs it was.

use crate::Failure;
use crate::args::{Common, Settings};
use crate::output;
use crate::same_program;
use machine::params::IPC_INTERVAL;
use machine::{Description, Fidelity, Report, RunError, RunOptions, WorkloadDescription};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use units::watch;

/// A run of a machine: with which recording, and at which end of the interval of `cpu.ipc`, if at one.
pub(crate) type Variant = (usize, Option<usize>);

/// A machine's runs.
pub(crate) struct Runs {
    /// Of the first recording; its time and statistics are the means over all recordings.
    report: Report,
    /// The host's seconds for one recording, in the mean.
    host: f64,
    /// What is told of each run.
    told: Vec<(Variant, Told)>,
}

/// What of a run is needed beside others: its time, that of its work (which speedups are of), and what its cores spent time on
/// by statistic, in nanoseconds.
struct Told {
    time: f64,
    work: f64,
    causes: Vec<(String, f64)>,
}

/// The recordings of a workload's name, in their order; one description of anything else.
pub(crate) fn workloads(name: &str) -> Result<Vec<WorkloadDescription>, Failure> {
    match name.strip_prefix("trace:") {
        // A file may have a comma in its name.
        Some(file) if std::path::Path::new(file).exists() => Ok(vec![output::workload(name)?]),
        Some(files) => {
            let files: Vec<&str> = files.split(',').collect();
            if files.len() > 1 && files.contains(&"") {
                let text = format!("{name}: a name of its list is empty; give trace:FILE,FILE,...");
                return Err(Failure::BadInput(text));
            }
            refuse_twice(&files)?;
            let all = files.iter().map(|file| output::workload(&format!("trace:{file}")));
            let all = all.collect::<Result<Vec<_>, Failure>>()?;
            same_program::check(name, &all)?;
            Ok(all)
        }
        None => Ok(vec![output::workload(name)?]),
    }
}

/// The same, of which something has to count.
pub(crate) fn counted(name: &str) -> Result<Vec<WorkloadDescription>, Failure> {
    let all = workloads(name)?;
    all.iter().try_for_each(WorkloadDescription::check_region)?;
    Ok(all)
}

/// A recording counts once: two equal ones would make a band of nothing.
fn refuse_twice(files: &[&str]) -> Result<(), Failure> {
    machine::twice(files).map_or(Ok(()), |file| {
        let text = format!("trace:{}: {file} is given twice; give each recording once", files.join(","));
        Err(Failure::BadInput(text))
    })
}

/// Whether the recordings leave the instructions a cycle open, and nobody has set them.
fn is_open(machine: &Description, workload: &WorkloadDescription) -> bool {
    workload.counts_instructions() && machine.set_by_user().all(|key| key != "cpu.ipc")
}

/// Every run that a machine takes.
fn variants(machine: &Description, workloads: &[WorkloadDescription], ends: bool) -> Vec<Variant> {
    let mut all: Vec<Variant> = (0..workloads.len()).map(|n| (n, None)).collect();
    if ends && is_open(machine, &workloads[0]) {
        all.extend((0..workloads.len()).flat_map(|n| [(n, Some(0)), (n, Some(1))]));
    }
    all
}

/// How many runs there are to make.
pub(crate) fn count(jobs: &[(Description, Vec<WorkloadDescription>)], ends: bool) -> usize {
    jobs.iter().map(|(machine, workloads)| variants(machine, workloads, ends).len()).sum()
}

/// A run that has ended: its machine's number, what it came to, and the host's seconds for it.
pub(crate) struct Ended<'a> {
    pub(crate) machine: usize,
    pub(crate) variant: Variant,
    pub(crate) report: &'a Report,
    pub(crate) host: f64,
    /// Whether it was known, and not made.
    pub(crate) was_known: bool,
}

/// A run that is to be made.
pub(crate) struct Wanted<'a> {
    pub(crate) machine: usize,
    pub(crate) variant: Variant,
    pub(crate) description: &'a Description,
    pub(crate) workload: &'a WorkloadDescription,
}

/// How runs are made: here, unless something is kept of them.
pub(crate) trait Make: Sync {
    /// What is known of a run without making it, and the host's seconds that it took.
    fn known(&self, _: &Wanted<'_>) -> Option<(Report, f64)> {
        None
    }

    /// Makes a run, and gives the host's seconds that it took.
    fn make(&self, wanted: &Wanted<'_>, options: &RunOptions) -> Result<(Report, f64), RunError> {
        make_here(wanted, options)
    }
}

/// Nothing is kept.
pub(crate) struct Here;

impl Make for Here {}

/// Makes a run on this thread.
pub(crate) fn make_here(wanted: &Wanted<'_>, options: &RunOptions) -> Result<(Report, f64), RunError> {
    let (report, host) = output::timed(|| machine::run(wanted.description, wanted.workload, options));
    Ok((report?, host))
}

/// Runs all variants of all machines but those that are known; `done` is called after each that did not fail.
pub(crate) fn run(
    jobs: &[(Description, Vec<WorkloadDescription>)],
    options: &RunOptions,
    ends: bool,
    how: &dyn Make,
    done: impl Fn(Ended<'_>) + Sync,
) -> Result<Vec<Runs>, RunError> {
    let all: Vec<(usize, Variant)> = jobs
        .iter()
        .enumerate()
        .flat_map(|(job, (machine, workloads))| {
            variants(machine, workloads, ends).into_iter().map(move |variant| (job, variant))
        })
        .collect();
    let own = watch::entered();
    let (ended, count) = (AtomicU64::new(0), all.len() as u64);
    watch::parts_of(own.as_ref(), 0, count);
    let reports: Result<Vec<_>, RunError> = all
        .par_iter()
        .map(|(job, variant)| {
            let (machine, workloads) = &jobs[*job];
            let mut machine = machine.clone();
            if let Some(end) = variant.1 {
                machine.set("cpu.ipc", IPC_INTERVAL[end])?;
            }
            let workload = &workloads[variant.0];
            let wanted = Wanted { machine: *job, variant: *variant, description: &machine, workload };
            let known = how.known(&wanted);
            let was_known = known.is_some();
            let (report, host) = match known {
                Some(known) => known,
                None => watch::one_of(own.as_ref(), || how.make(&wanted, options))?,
            };
            done(Ended { machine: *job, variant: *variant, report: &report, host, was_known });
            watch::parts_of(own.as_ref(), ended.fetch_add(1, Relaxed) + 1, count);
            Ok((*job, (*variant, report, host)))
        })
        .collect();
    let mut runs: Vec<Vec<(Variant, Report, f64)>> = jobs.iter().map(|_| Vec::new()).collect();
    for (job, report) in reports? {
        runs[job].push(report);
    }
    Ok(runs.into_iter().filter_map(Runs::of).collect())
}

impl Runs {
    /// Of a machine's runs; none where it had none.
    fn of(all: Vec<(Variant, Report, f64)>) -> Option<Runs> {
        let told = all.iter().map(|(variant, report, _)| (*variant, Told::of(report))).collect();
        let mut counting = all.into_iter().filter(|((_, end), ..)| end.is_none());
        let (_, mut report, first) = counting.next()?;
        let (others, hosts): (Vec<Report>, Vec<f64>) = counting.map(|(_, other, host)| (other, host)).unzip();
        report.average(&others);
        let host = mean(&[vec![first], hosts].concat());
        Some(Runs { report, host, told })
    }

    /// What counts, and the host's seconds for it: of several recordings the mean.
    pub(crate) fn report(&self) -> (&Report, f64) {
        (&self.report, self.host)
    }

    /// The time in nanoseconds: the mean over the recordings.
    pub(crate) fn time(&self) -> f64 {
        mean(&self.times(|end| end.is_none()))
    }

    fn times(&self, which: impl Fn(Option<usize>) -> bool) -> Vec<f64> {
        self.told.iter().filter(|((_, end), _)| which(*end)).map(|(_, told)| told.time).collect()
    }

    /// How much faster than `base` these are: the means over the recordings. None where one of them took no time.
    pub(crate) fn speedup(&self, base: &Runs) -> Option<f64> {
        let mean_of = |runs: &Runs| {
            let counting = runs.told.iter().filter(|((_, end), _)| end.is_none());
            mean(&counting.map(|(_, told)| told.work).collect::<Vec<_>>())
        };
        ratio(mean_of(base), mean_of(self))
    }

    /// How much faster than `base` each run is.
    fn speedups(&self, base: &Runs) -> Vec<f64> {
        let pairs = self.told.iter().zip(&base.told);
        pairs.filter(|(a, b)| a.0 == b.0).filter_map(|(a, b)| ratio(b.1.work, a.1.work)).collect()
    }

    /// The least and the greatest speedup of all runs, where there is more than one.
    pub(crate) fn speedup_band(&self, base: &Runs) -> Option<(f64, f64)> {
        let all = self.speedups(base);
        (self.told.len() > 1 && !all.is_empty()).then(|| extremes(&all))
    }

    /// The least and the greatest time, where there is more than one run.
    pub(crate) fn time_band(&self) -> Option<(f64, f64)> {
        (self.told.len() > 1).then(|| extremes(&self.times(|_| true)))
    }

    /// What differs between these runs.
    pub(crate) fn varied(&self) -> String {
        let [low, high] = IPC_INTERVAL;
        let recordings = self.times(|end| end.is_none()).len();
        let ends = (recordings < self.told.len()).then(|| format!("cpu.ipc from {low} to {high}"));
        let several = (recordings > 1).then(|| format!("{recordings} recordings"));
        ends.into_iter().chain(several).collect::<Vec<_>>().join(" and ")
    }

    /// What the cores spent time on, by statistic: a number a recording.
    fn causes(&self) -> Value {
        let recordings = || self.told.iter().filter(|((_, end), _)| end.is_none());
        let mut all = json!({});
        for (name, _) in recordings().flat_map(|(_, told)| &told.causes).filter(|(_, ns)| *ns > 0.0) {
            let of = |told: &Told| told.causes.iter().find(|(n, _)| n == name).map_or(0.0, |(_, ns)| *ns);
            all[name] = recordings().map(|(_, told)| of(told)).collect();
        }
        all
    }

    /// For JSON; nothing where there is one run.
    pub(crate) fn to_json(&self, base: Option<&Runs>) -> Option<Value> {
        let (low, high) = self.time_band()?;
        let mut band = json!({"time_ns": [low, high]});
        let ends = [0, 1].map(|end| self.times(|at| at == Some(end)));
        if !ends[0].is_empty() {
            band["cpu.ipc"] = json!({"values": IPC_INTERVAL.map(|v| v.parse::<f64>().unwrap_or(0.0)), "time_ns": ends.map(|times| mean(&times))});
        }
        let recordings = self.times(|end| end.is_none());
        if recordings.len() > 1 {
            band["recordings"] =
                json!({"mean_ns": mean(&recordings), "time_ns": recordings, "causes": self.causes()});
        }
        if let Some((low, high)) = base.and_then(|base| self.speedup_band(base)) {
            band["speedup"] = json!([low, high]);
        }
        Some(band)
    }
}

impl Told {
    fn of(report: &Report) -> Told {
        let causes = report.stats.iter().filter(|s| s.name.starts_with("time."));
        let (time, work) = (report.time.as_ns(), report.time_of_work());
        Told { time, work, causes: causes.map(|s| (s.name.clone(), s.value)).collect() }
    }
}

/// How many times one time is another; none where either is nothing.
pub(crate) fn ratio(one: f64, other: f64) -> Option<f64> {
    (one > 0.0 && other > 0.0).then(|| one / other)
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

fn extremes(numbers: &[f64]) -> (f64, f64) {
    numbers.iter().fold((f64::INFINITY, 0.0), |(low, high), n| (n.min(low), n.max(high)))
}

/// What has to be said of machines' files, and of a recording.
pub(crate) fn remarks<'a>(
    machines: impl IntoIterator<Item = &'a Description>,
    workloads: &[WorkloadDescription],
) -> Vec<String> {
    let machines: Vec<&Description> = machines.into_iter().collect();
    let mut remarks: Vec<String> = machines.iter().flat_map(|machine| machine.says_in_vain()).collect();
    let Some(threads) = workloads[0].recorded_threads() else { return remarks };
    remarks.extend(placed_apart(&machines, &workloads[0]));
    remarks.extend(same_program::asked_otherwise(workloads));
    let has_pages = machines.iter().any(|machine| machine.fidelity() == Fidelity::Page);
    if has_pages && workloads.iter().any(WorkloadDescription::tells_of_lines) {
        remarks.push(
            "caches of cores are not modelled at page fidelity: each line of each visit of a page is an access of memory, where a processor's caches answer most".into(),
        );
    }
    if threads > 1 && workloads.len() == 1 {
        remarks.push(format!(
            "one schedule of {threads} threads was recorded; another run of the program has another one (several recordings give a band: trace:A,B,...)"
        ));
    }
    if !workloads.iter().all(WorkloadDescription::counts_instructions) {
        remarks.push(
            "computation is not recorded: every reference is charged cpu.instructions_per_reference instructions".into(),
        );
    }
    remarks
}

/// Where a recorded program lies, if that is not the same on all machines: what differs between their times is that too.
fn placed_apart(machines: &[&Description], workload: &WorkloadDescription) -> Option<String> {
    if workload.is_given("workload.pm") {
        return None;
    }
    let forgets = |machine: &&&Description| machine::forgets_all(machine).is_ok_and(|why| why.is_some());
    let lines = machines.iter().filter(|machine| machine.is_line());
    let (forget, keep): (Vec<_>, Vec<_>) = lines.partition(forgets);
    let names = |of: &[&&Description]| of.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", ");
    (!forget.is_empty() && !keep.is_empty()).then(|| {
        format!(
            "all of the program is in the memory of {}, which keeps nothing when the power fails; in that of {} its mapped files and named ranges alone, and the rest in DRAM beside it (--set workload.pm=all: all of it in both)",
            names(&forget),
            names(&keep)
        )
    })
}

/// Says remarks on standard error, unless nothing is wanted there.
pub(crate) fn say(common: &Common, remarks: &[String]) {
    if !common.quiet && !output::is_json(common) {
        remarks.iter().for_each(|remark| crate::lines::remark(remark));
    }
}

/// `--set` applied to a machine and to all recordings of a workload.
pub(crate) fn apply(
    settings: &Settings,
    machine: &mut Description,
    workloads: &mut [WorkloadDescription],
) -> Result<(), Failure> {
    workloads.iter_mut().try_for_each(|workload| output::apply(settings, machine, workload))
}
