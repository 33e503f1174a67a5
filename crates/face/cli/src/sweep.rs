//! `coreplane sweep`: a campaign of runs, a Parquet file each, on this machine's cores.

use crate::Failure;
use crate::args::SweepArgs;
use crate::interrupt;
use crate::machine_files;
use crate::output::{self, Table};
use crate::progress;
use crate::sweep_folder::{about, done, keep_campaign, may_begin, varied};
use crate::sweep_sources::{Job, Sources, described};
use machine::{Campaign, RunOptions};
use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use units::watch;

/// What became of a job.
enum End {
    /// In so many simulated nanoseconds.
    Done(f64),
    /// It broke a promise.
    Failed(String),
}

pub(crate) fn sweep(args: &SweepArgs) -> Result<(), Failure> {
    if args.on != "local" {
        return Err(Failure::BadInput(format!(
            "--on {}: a Dask scheduler is reached from the Python package's command line; accepted here is local",
            args.on
        )));
    }
    let prepared = Prepared::of(args, None)?;
    if args.plan {
        output::print_json(&prepared.plan(args));
        return Ok(());
    }
    let ends = prepared.run(args)?;
    prepared.print(args, &ends);
    let failed = ends.iter().filter(|end| matches!(end, End::Failed(_))).count();
    match failed {
        0 => Ok(()),
        n => Err(Failure::DoesNotHold(format!(
            "{n} of {} runs broke a promise: see *.failed in {}",
            prepared.jobs.len(),
            prepared.folder.display()
        ))),
    }
}

/// Makes the runs; gives what JSON says of them. Of a campaign whose text is `given` no file is read, and the files that it names are looked
/// for from where we are.
pub(crate) fn look(args: &SweepArgs, given: Option<String>) -> Result<Value, Failure> {
    let prepared = Prepared::of(args, given)?;
    let ends = prepared.run(args)?;
    Ok(prepared.json(&ends))
}

/// A campaign that was read and checked.
struct Prepared {
    campaign: Campaign,
    /// Its file's text.
    text: String,
    sources: Sources,
    jobs: Vec<Job>,
    folder: PathBuf,
    /// What the folder says of it.
    about: Value,
}

impl Prepared {
    fn of(args: &SweepArgs, given: Option<String>) -> Result<Prepared, Failure> {
        let file = args.campaign.display().to_string();
        let base = if given.is_some() { None } else { args.campaign.parent() };
        let text = given.map_or_else(|| machine_files::text_of(&args.campaign), Ok)?;
        let campaign = Campaign::parse(&file, &text)?;
        let sources = Sources::of(&campaign, &args.campaign, base.unwrap_or(Path::new("")))?;
        machine::comparable(sources.machines())
            .map_err(|e| Failure::BadInput(format!("{file}: machines: {e}")))?;
        let jobs = sources.jobs(&campaign, &file)?;
        let folder = folder(args);
        let about = about(&campaign, &args.campaign, (&sources, &jobs), &folder);
        let jobs = chosen(args, jobs)?;
        may_begin(args.resume, &folder, &about)?;
        Ok(Prepared { campaign, text, sources, jobs, folder, about })
    }

    fn run(&self, args: &SweepArgs) -> Result<Vec<End>, Failure> {
        output::make_folder(Some(&self.folder))?;
        keep_campaign(&self.folder, &self.about, &self.text)?;
        run_all(args, &self.folder, &self.sources, &self.jobs)
    }

    /// What would be run, for who spreads the runs over a cluster.
    fn plan(&self, args: &SweepArgs) -> Value {
        let run = |job: &Job| json!({"name": job.name, "run": described(&job.point), "done": done(&self.folder, job).is_some()});
        let runs: Vec<_> = self.jobs.iter().map(run).collect();
        json!({"campaign": args.campaign, "folder": self.folder, "about": self.about, "files": self.sources.files, "runs": runs})
    }

    fn json(&self, ends: &[End]) -> Value {
        let row = |(job, end): (&Job, &End)| {
            let mut row = json!({
                "machine": job.point.machine, "workload": job.point.workload, "seed": job.point.seed,
                "settings": self.sources.settings(&job.point.settings), "name": job.name,
            });
            match end {
                End::Done(time_ns) => row["time_ns"] = (*time_ns).into(),
                End::Failed(text) => row["failed"] = text.clone().into(),
            }
            row
        };
        json!({"folder": self.folder.to_string_lossy(), "runs": self.jobs.iter().zip(ends).map(row).collect::<Vec<_>>()})
    }

    fn print(&self, args: &SweepArgs, ends: &[End]) {
        if output::is_json(&args.common) {
            return output::print_json(&self.json(ends));
        }
        let varied = varied(&self.campaign);
        let mut table =
            Table::new(["machine", "workload"].into_iter().chain(varied).chain(["seed", "time"])).left(2);
        for (job, end) in self.jobs.iter().zip(ends) {
            let names = [job.point.machine.clone(), job.point.workload.clone()];
            let varied = job.point.settings[self.campaign.set.len()..].iter().map(|a| a.value.clone());
            let time = match end {
                End::Done(time_ns) => crate::quantity::time(*time_ns),
                End::Failed(_) => "failed".into(),
            };
            table.row(names.into_iter().chain(varied).chain([job.point.seed.to_string(), time]));
        }
        table.print();
        if !args.common.quiet {
            let folder = self.folder.display();
            crate::lines::say!("\none table: SELECT * FROM '{folder}/*.parquet'");
        }
    }
}

fn folder(args: &SweepArgs) -> PathBuf {
    let stem = || args.campaign.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.sweep", stem())))
}

/// The runs that this call is to make.
fn chosen(args: &SweepArgs, jobs: Vec<Job>) -> Result<Vec<Job>, Failure> {
    if args.jobs == Some(0) {
        return Err(Failure::BadInput("--jobs 0: give at least 1".into()));
    }
    if let Some(name) = args.only.iter().find(|name| jobs.iter().all(|job| job.name != **name)) {
        return Err(Failure::BadInput(format!(
            "--only {name}: the campaign has no such run (--plan lists them)"
        )));
    }
    let Some(text) = &args.share else {
        let wanted = |job: &Job| args.only.is_empty() || args.only.contains(&job.name);
        return Ok(jobs.into_iter().filter(wanted).collect());
    };
    let numbers =
        text.split_once('/').and_then(|(i, n)| Some((i.parse::<usize>().ok()?, n.parse::<usize>().ok()?)));
    let Some((number, of)) = numbers.filter(|(i, n)| i < n) else {
        return Err(Failure::BadInput(format!("--share {text}: give I/N, I from 0 to N-1 (0/16 to 15/16)")));
    };
    Ok(jobs.into_iter().enumerate().filter(|(index, _)| index % of == number).map(|(_, job)| job).collect())
}

fn run_all(args: &SweepArgs, folder: &Path, sources: &Sources, jobs: &[Job]) -> Result<Vec<End>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.jobs.unwrap_or(0)).build()?;
    let bar = progress::bar(&args.common, jobs.len(), "sweep");
    let own = watch::entered();
    interrupt::keeps(folder, format!("runs that are done are in {} (--resume goes on)", folder.display()));
    let all = || {
        let make = |job: &Job| watch::one_of(own.as_ref(), || one(folder, sources, job));
        let each = jobs.par_iter().map(|job| {
            let end = done(folder, job).map_or_else(|| make(job), |time_ns| Ok(End::Done(time_ns)));
            bar.step();
            end
        });
        each.collect()
    };
    pool.install(all)
}

/// Makes one run. The Parquet file comes last: where it is, the rest is.
fn one(folder: &Path, sources: &Sources, job: &Job) -> Result<End, Failure> {
    let (machine, workload) = sources.describe(&job.point, "", &mut BTreeMap::new())?;
    let options = RunOptions { seed: job.point.seed, without_images: true, ..RunOptions::default() };
    let failed = folder.join(format!("{}.failed", job.name));
    let report = match machine::run(&machine, &workload, &options).map_err(output::failed) {
        Ok(report) => report,
        Err(Failure::BadInput(text)) => {
            return Err(Failure::BadInput(format!("{}: {text}", described(&job.point))));
        }
        Err(Failure::DoesNotHold(text)) => {
            output::write(
                folder,
                &format!("{}.failed", job.name),
                format!("{}: {text}\n", described(&job.point)).as_bytes(),
            )?;
            return Ok(End::Failed(text));
        }
    };
    let mut json = report.to_json();
    json["settings"] = sources.settings(&job.point.settings);
    output::write(folder, &format!("{}.json", job.name), format!("{json:#}\n").as_bytes())?;
    let table = trace::tables::statistics(&crate::compare::rows(&report), &job.columns)?;
    output::write(folder, &format!("{}.parquet", job.name), &table)?;
    _ = std::fs::remove_file(failed);
    Ok(End::Done(report.time.as_ns()))
}
