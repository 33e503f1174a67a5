//! `coreplane sweep`: a campaign of runs, a Parquet file each, on this machine's cores.

use crate::Failure;
use crate::args::SweepArgs;
use crate::interrupt;
use crate::output::{self, Table};
use crate::progress;
use machine::{Assignment, Campaign, Description, Point, RunOptions, WorkloadDescription};
use rayon::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use trace::tables::Constant;
use twox_hash::XxHash3_64;
use units::watch;

/// A run that was described and checked, and the name of its files. Its description is made anew when it begins: a campaign
/// may have very many.
struct Job {
    point: Point,
    columns: Vec<(String, Constant)>,
    name: String,
}

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
    let prepared = Prepared::of(args)?;
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

/// Makes the runs; gives what JSON says of them.
pub(crate) fn look(args: &SweepArgs) -> Result<serde_json::Value, Failure> {
    let prepared = Prepared::of(args)?;
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
}

impl Prepared {
    fn of(args: &SweepArgs) -> Result<Prepared, Failure> {
        let file = args.campaign.display().to_string();
        let text =
            std::fs::read_to_string(&args.campaign).map_err(|e| Failure::BadInput(format!("{file}: {e}")))?;
        let campaign = Campaign::parse(&file, &text)?;
        let sources = Sources::of(&campaign, &args.campaign)?;
        let machines = sources.machines.iter().map(|(name, machine)| (name.as_str(), machine));
        machine::comparable(machines).map_err(|e| Failure::BadInput(format!("{file}: machines: {e}")))?;
        let jobs = chosen(args, sources.jobs(&campaign, &file)?)?;
        let folder = folder(args);
        may_begin(args, &folder, &campaign)?;
        Ok(Prepared { campaign, text, sources, jobs, folder })
    }

    fn run(&self, args: &SweepArgs) -> Result<Vec<End>, Failure> {
        output::make_folder(Some(&self.folder))?;
        keep_campaign(&self.folder, &self.campaign, &self.text)?;
        run_all(args, &self.folder, &self.sources, &self.jobs)
    }

    /// What would be run, for who spreads the runs over a cluster.
    fn plan(&self, args: &SweepArgs) -> serde_json::Value {
        let run = |job: &Job| json!({"name": job.name, "run": described(&job.point), "done": done(&self.folder, job).is_some()});
        let runs: Vec<_> = self.jobs.iter().map(run).collect();
        json!({"campaign": args.campaign, "folder": self.folder, "files": self.sources.files, "runs": runs})
    }

    fn json(&self, ends: &[End]) -> serde_json::Value {
        let row = |(job, end): (&Job, &End)| {
            let mut row = json!({
                "machine": job.point.machine, "workload": job.point.workload, "seed": job.point.seed,
                "settings": settings(&job.point), "name": job.name,
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

/// Machines and workloads as the campaign names them, each read once; files are found from the campaign's folder.
struct Sources {
    machines: BTreeMap<String, Description>,
    workloads: BTreeMap<String, (WorkloadDescription, u64)>,
    /// Files among them, as the campaign names them.
    files: Vec<String>,
}

impl Sources {
    fn of(campaign: &Campaign, file: &Path) -> Result<Sources, Failure> {
        let base = file.parent().unwrap_or(Path::new(""));
        let mut sources =
            Sources { machines: BTreeMap::new(), workloads: BTreeMap::new(), files: Vec::new() };
        let named = |name: &String, failure| match failure {
            Failure::BadInput(text) => {
                let line = campaign.lines.get(name).copied().unwrap_or(1);
                Failure::BadInput(format!("{}:{line}: {text}", file.display()))
            }
            other => other,
        };
        for name in &campaign.machines {
            sources.add_machine(name, base).map_err(|e| named(name, e))?;
        }
        for name in &campaign.workloads {
            sources.add_workload(name, base).map_err(|e| named(name, e))?;
        }
        Ok(sources)
    }

    fn add_machine(&mut self, name: &str, base: &Path) -> Result<(), Failure> {
        let is_file = name.ends_with(".toml");
        self.files.extend(is_file.then(|| name.into()));
        let machine = output::machine(&if is_file { below(base, name) } else { name.into() })?;
        self.machines.insert(name.into(), machine);
        Ok(())
    }

    fn add_workload(&mut self, name: &str, base: &Path) -> Result<(), Failure> {
        let mut contents = 0;
        let mut workload = match output::recording(name) {
            None => output::workload(name)?,
            Some((kind, path)) => {
                self.files.push(path.into());
                let path = below(base, path);
                let bytes = std::fs::read(&path).map_err(|e| Failure::BadInput(format!("{path}: {e}")))?;
                contents = XxHash3_64::oneshot(&bytes);
                output::workload(&format!("{kind}:{path}"))?
            }
        };
        workload.name = name.into();
        self.workloads.insert(name.into(), (workload, contents));
        Ok(())
    }

    /// Values that vary are different ones, however they are written.
    fn check_variations(&self, campaign: &Campaign, file: &str) -> Result<(), Failure> {
        for (key, line, values) in &campaign.vary {
            let mut before: BTreeMap<String, &String> = BTreeMap::new();
            for value in values {
                let Some(meaning) = self.meaning(key, value) else { continue };
                if let Some(same) = before.insert(meaning, value) {
                    let text = format!("{file}:{line}: {key}: {same} and {value} are the same value");
                    return Err(Failure::BadInput(text));
                }
            }
        }
        Ok(())
    }

    /// What a value is taken for where its key is known; none where it is not, or where the value is not accepted.
    fn meaning(&self, key: &str, value: &str) -> Option<String> {
        if output::is_of_workload(key) {
            return self.workloads.values().find_map(|(workload, _)| {
                let mut workload = workload.clone();
                workload.set(key, value).ok()?;
                Some(format!("{:?}", workload.settings.get(key)))
            });
        }
        self.machines.values().find_map(|machine| {
            let mut machine = machine.clone();
            machine.set(key, value).ok()?;
            machine.rows().find(|(param, ..)| param.key == key).map(|(_, value, _)| value)
        })
    }

    /// Every run, described and checked before the first begins.
    fn jobs(&self, campaign: &Campaign, file: &str) -> Result<Vec<Job>, Failure> {
        self.check_variations(campaign, file)?;
        // A key has to act somewhere: by line and key.
        let mut acted = BTreeMap::new();
        let jobs: Result<Vec<Job>, Failure> =
            campaign.points().map(|point| self.job(campaign, file, point, &mut acted)).collect();
        let jobs = jobs?;
        if let Some(((line, key), _)) = acted.iter().find(|(_, acts)| !**acts) {
            let machines = campaign.machines.iter().filter_map(|name| self.machines.get(name));
            return Err(Failure::BadInput(format!(
                "{file}:{line}: {}",
                machine::does_nothing(key, machines)
            )));
        }
        Ok(jobs)
    }

    fn job(
        &self,
        campaign: &Campaign,
        file: &str,
        point: Point,
        acted: &mut BTreeMap<(usize, String), bool>,
    ) -> Result<Job, Failure> {
        let (machine, workload) = self.describe(&point, file, acted)?;
        let wrong = |e| Failure::BadInput(format!("{file}: {}: {e}", described(&point)));
        machine.check().and_then(|()| workload.check_on(&machine)).map_err(wrong)?;
        let varied = &point.settings[campaign.set.len()..];
        let column = |(a, (key, _, values)): (&Assignment, &(String, usize, Vec<String>))| {
            (key.clone(), Constant::of(&a.value, values))
        };
        let columns: Vec<_> = varied.iter().zip(&campaign.vary).map(column).collect();
        let contents = self.workloads[&point.workload].1;
        let name = name(&point, &machine, &workload, contents, &columns);
        Ok(Job { point, columns, name })
    }

    /// A key is set where it acts.
    fn describe(
        &self,
        point: &Point,
        file: &str,
        acted: &mut BTreeMap<(usize, String), bool>,
    ) -> Result<(Description, WorkloadDescription), Failure> {
        let mut all = self.machines[&point.machine].clone();
        let mut machine = all.clone();
        let mut workload = self.workloads[&point.workload].0.clone();
        let (of_workload, of_machine): (Vec<_>, Vec<_>) =
            point.settings.iter().partition(|a| output::is_of_workload(&a.key));
        let wrong = |e, a: &Assignment| Failure::BadInput(format!("{file}:{}: {e}", a.line));
        for a in of_workload {
            workload.set(&a.key, &a.value).map_err(|e| wrong(e, a))?;
        }
        // By themselves first, for the line of what is wrong.
        for a in &of_machine {
            machine.clone().set(&a.key, &a.value).map_err(|e| wrong(e, a))?;
        }
        all.set_all(of_machine.iter().map(|a| (a.key.as_str(), a.value.as_str())))?;
        let acting: Vec<_> = of_machine.iter().filter(|a| all.acts(&a.key)).collect();
        for a in &of_machine {
            *acted.entry((a.line, a.key.clone())).or_default() |= all.acts(&a.key);
        }
        machine.set_all(acting.iter().map(|a| (a.key.as_str(), a.value.as_str())))?;
        Ok((machine, workload))
    }
}

/// A file that is named from a folder.
fn below(base: &Path, name: &str) -> String {
    base.join(name).to_string_lossy().into_owned()
}

/// A run in words.
fn described(point: &Point) -> String {
    let set = point.settings.iter().map(|a| format!(" {}={}", a.key, a.value)).collect::<String>();
    format!("{} on {}{set}, seed {}", point.workload, point.machine, point.seed)
}

/// What is set, as JSON: numbers as such, and everything else as text.
fn settings(point: &Point) -> serde_json::Value {
    let value = |text: &str| {
        let parsed = serde_json::from_str::<serde_json::Value>(text).ok();
        parsed.filter(|v| v.is_number() || v.is_boolean()).unwrap_or_else(|| text.into())
    };
    point.settings.iter().map(|a| (a.key.clone(), value(&a.value))).collect()
}

/// Machine, workload, and a hash of everything that the result depends on.
fn name(
    point: &Point,
    machine: &Description,
    workload: &WorkloadDescription,
    contents: u64,
    columns: &[(String, Constant)],
) -> String {
    let mut all = format!("{} {} {contents} {columns:?}\n", env!("CARGO_PKG_VERSION"), described(point));
    for (param, value, _) in machine.rows() {
        all += &format!("{} = {value}\n", param.key);
    }
    for (param, value) in workload.acting() {
        all += &format!("{} = {:?}\n", param.key, Some(value));
    }
    let plain = |text: &str| -> String {
        let last = text.rsplit(['/', ':']).next().unwrap_or(text);
        let keep = |c: char| if c.is_ascii_alphanumeric() || "-_@.".contains(c) { c } else { '_' };
        last.chars().take(40).map(keep).collect()
    };
    format!(
        "{}.{}.{:016x}",
        plain(&point.machine),
        plain(&point.workload),
        XxHash3_64::oneshot(all.as_bytes())
    )
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

/// Whether the folder holds nothing yet, or may go on.
fn may_begin(args: &SweepArgs, folder: &Path, campaign: &Campaign) -> Result<(), Failure> {
    let Ok(there) = std::fs::read_to_string(folder.join("campaign.json")) else { return Ok(()) };
    let at = folder.display();
    if !args.resume {
        return Err(Failure::BadInput(format!(
            "{at}: holds the results of a campaign; give --resume to go on with it, or another --out"
        )));
    }
    let before: serde_json::Value = serde_json::from_str(&there).unwrap_or_default();
    if before["vary"] == json!(varied(campaign)) {
        return Ok(());
    }
    Err(Failure::BadInput(format!(
        "{at}: holds the results of a campaign that varies {}, not {}; give another --out",
        before["vary"],
        json!(varied(campaign))
    )))
}

fn varied(campaign: &Campaign) -> Vec<&str> {
    campaign.vary.iter().map(|(key, ..)| key.as_str()).collect()
}

fn keep_campaign(folder: &Path, campaign: &Campaign, text: &str) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let about = json!({"vary": varied(campaign), "runs": campaign.len(), "version": version});
    output::write(folder, "campaign.toml", text.as_bytes())?;
    output::write(folder, "campaign.json", format!("{about:#}\n").as_bytes())
}

/// The simulated nanoseconds of a run whose results are whole.
fn done(folder: &Path, job: &Job) -> Option<f64> {
    let file = |extension: &str| folder.join(format!("{}.{extension}", job.name));
    if !file("parquet").exists() {
        return None;
    }
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(file("json")).ok()?).ok()?;
    report["time_ns"].as_f64()
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
    json["settings"] = settings(&job.point);
    output::write(folder, &format!("{}.json", job.name), format!("{json:#}\n").as_bytes())?;
    let table = trace::tables::statistics(&crate::compare::rows(&report), &job.columns)?;
    output::write(folder, &format!("{}.parquet", job.name), &table)?;
    _ = std::fs::remove_file(failed);
    Ok(End::Done(report.time.as_ns()))
}
