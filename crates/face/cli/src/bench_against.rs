//! Two builds side by side on real programs: run by run in turns, so that what else the host does concerns both.

use crate::Failure;
use crate::args::BenchArgs;
use crate::bench_real::{self, Family, processor_seconds};
use crate::lines::say;
use crate::output::{self, Table};
use crate::progress;
use nix::sys::resource::UsageWho;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often start-up is measured; the least counts.
const STARTS: usize = 5;
/// Where a folder may have the command.
const PLACES: [&str; 4] = ["coreplane", "bin/coreplane", ".venv/bin/coreplane", "target/release/coreplane"];

/// A program on a machine, in both builds.
struct Pair {
    machine: &'static str,
    workload: &'static str,
    /// Of each turn: this build's processor time over the other's.
    ratios: Vec<f64>,
    /// Both gave the same results.
    same: bool,
}

pub(crate) fn bench(args: &BenchArgs, other: &Path) -> Result<(), Failure> {
    let chosen = bench_real::chosen(args.on.as_deref())?;
    let folder = other;
    let other = installed(folder)?;
    let own = Build::new(this_command()?)?;
    let other = Build::new(other).map_err(|e| match e {
        Failure::BadInput(text) => Failure::BadInput(format!("--against {}: {text}", folder.display())),
        other => other,
    })?;
    let all = chosen.iter().flat_map(|family| family.workloads.iter().map(|w| (family.machine, *w)));
    let all: Vec<_> = all.collect();
    let bar = progress::bar(&args.common, all.len(), "bench");
    let mut pairs = Vec::new();
    for (machine, workload) in all {
        pairs.push(pair([&own, &other], machine, workload, args.turns)?);
        bar.step();
    }
    drop(bar);
    if output::is_json(&args.common) {
        output::print_json(
            &json!({"against": other.command, "pairs": pairs.iter().map(Pair::to_json).collect::<Vec<_>>()}),
        );
    } else {
        print(&chosen, &pairs, args.turns);
    }
    Ok(())
}

/// The command that this process was started by: a program, or a script that Python runs.
fn this_command() -> Result<PathBuf, Failure> {
    let named = |path: &PathBuf| path.file_name().is_some_and(|name| name == "coreplane") && path.is_file();
    let words = std::env::args_os().take(2).map(PathBuf::from);
    let found = std::env::current_exe().into_iter().chain(words).find(named);
    found.ok_or_else(|| Failure::BadInput("--against: start it as the command coreplane".to_string()))
}

/// The command of a build that lies in a folder.
fn installed(folder: &Path) -> Result<PathBuf, Failure> {
    let found = PLACES.iter().map(|place| folder.join(place)).find(|path| path.is_file());
    found.ok_or_else(|| {
        let text =
            format!("--against {}: has no coreplane; looked for {}", folder.display(), PLACES.join(", "));
        Failure::BadInput(text)
    })
}

/// A command, and the processor time that it takes to do next to nothing.
struct Build {
    command: PathBuf,
    start_up: f64,
}

impl Build {
    fn new(command: PathBuf) -> Result<Build, Failure> {
        let mut build = Build { command, start_up: 0.0 };
        let times: Result<Vec<f64>, Failure> =
            (0..STARTS).map(|_| Ok(build.take(&["show", "machines", "--format", "json"])?.1)).collect();
        build.start_up = times?.into_iter().fold(f64::MAX, f64::min);
        Ok(build)
    }

    /// What it prints, and the processor time without start-up.
    fn take(&self, args: &[&str]) -> Result<(Vec<u8>, f64), Failure> {
        let before = processor_seconds(UsageWho::RUSAGE_CHILDREN)?;
        let started = Command::new(&self.command).args(args).stdin(Stdio::null()).output();
        let of_this =
            |text: &str| Failure::BadInput(format!("{} {}: {text}", self.command.display(), args.join(" ")));
        let done = started.map_err(|e| of_this(&e.to_string()))?;
        let took = processor_seconds(UsageWho::RUSAGE_CHILDREN)? - before;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let text = if said.trim().is_empty() { done.status.to_string() } else { said.trim().to_string() };
            return Err(of_this(&text));
        }
        if serde_json::from_slice::<Value>(&done.stdout).is_err() {
            return Err(of_this("what it prints is no JSON"));
        }
        Ok((done.stdout, (took - self.start_up).max(1e-6)))
    }

    /// A run's statistics, and what it took.
    fn run(&self, machine: &str, workload: &str) -> Result<(Value, f64), Failure> {
        let (printed, took) = self.take(&["run", machine, workload, "--quiet", "--format", "json"])?;
        let report: Value = serde_json::from_slice(&printed)?;
        Ok((json!([report["time_ns"], report["stats"]]), took))
    }
}

fn pair(
    [own, other]: [&Build; 2],
    machine: &'static str,
    workload: &'static str,
    turns: u16,
) -> Result<Pair, Failure> {
    let mut pair = Pair { machine, workload, ratios: Vec::new(), same: true };
    for _ in 0..turns {
        units::watch::check();
        let (here, own_took) = own.run(machine, workload)?;
        let (there, other_took) = other.run(machine, workload)?;
        pair.same &= here == there;
        pair.ratios.push(own_took / other_took);
    }
    pair.ratios.sort_by(f64::total_cmp);
    Ok(pair)
}

impl Pair {
    fn median(&self) -> f64 {
        self.ratios[self.ratios.len() / 2]
    }

    fn to_json(&self) -> Value {
        json!({
            "machine": self.machine, "workload": self.workload, "processor_time_ratio": self.median(),
            "least": self.ratios[0], "most": self.ratios[self.ratios.len() - 1], "same_results": self.same,
        })
    }
}

fn print(families: &[&Family], pairs: &[Pair], turns: u16) {
    say!(
        "processor time of this build over the other's: the median of {turns} turns, and from the least to the most\n"
    );
    let mut table = Table::new(["machine", "workload", "ratio", "least", "most", "results"]).left(2);
    for pair in pairs {
        let ends = [pair.ratios[0], pair.ratios[pair.ratios.len() - 1]].map(|ratio| format!("{ratio:.2}"));
        let [least, most] = ends;
        let same = if pair.same { "same" } else { "differ" };
        let named = [pair.machine, pair.workload].map(String::from);
        table.row(named.into_iter().chain([format!("{:.2}", pair.median()), least, most, same.into()]));
    }
    table.print();
    println!();
    for family in families {
        let own = || pairs.iter().filter(|pair| pair.machine == family.machine);
        let mean = own().map(|pair| pair.median().ln()).sum::<f64>() / own().count().max(1) as f64;
        say!("{}: {:.3} as a geometric mean over {} programs", family.machine, mean.exp(), own().count());
    }
}
