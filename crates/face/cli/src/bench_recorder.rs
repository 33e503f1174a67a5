//! What recording costs: unmodified SQLite, native and recorded; and how fast its recording is replayed.

use crate::Failure;
use crate::interrupt::Temporary;
use crate::{bench_real, output, recordings};
use machine::{Description, WorkloadDescription};
use nix::sys::resource::{UsageWho, getrusage};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Transactions of a row.
const ROWS: &str = "30000";
const RUNS: usize = 5;

/// Seconds that a job takes.
#[derive(Clone, Copy)]
struct Seconds {
    /// Of the processor, in user mode and in the kernel.
    processor: f64,
    user: f64,
    elapsed: f64,
}

impl Seconds {
    const MOST: Seconds = Seconds { processor: f64::MAX, user: f64::MAX, elapsed: f64::MAX };

    /// Each at its least: others on the host disturbed that least.
    fn least(self, other: Seconds) -> Seconds {
        Seconds {
            processor: self.processor.min(other.processor),
            user: self.user.min(other.user),
            elapsed: self.elapsed.min(other.elapsed),
        }
    }
}

/// Where the recording is replayed.
pub(crate) const REPLAYS_ON: &str = "intel";
/// Million references a processor second of it.
pub(crate) const GOAL_REPLAY: f64 = 10.0;

/// How many times as much SQLite's job takes when it is recorded, and how fast the recording is replayed.
pub(crate) struct Slowdown {
    /// Of the processor's time, in user mode and in the kernel.
    pub(crate) processor: f64,
    /// Of its time in user mode alone.
    pub(crate) user: f64,
    /// Of time on the clock.
    pub(crate) elapsed: f64,
    /// Million references a processor second of a replay.
    pub(crate) replay: f64,
}

/// Measures it, with instructions counted; none outside a checkout.
pub(crate) fn slowdown() -> Result<Option<Slowdown>, Failure> {
    let (manifest, job) = (Path::new("tests/sqlite/Cargo.toml"), Path::new("tests/programs/workload.c"));
    if !manifest.exists() || !job.exists() {
        return Ok(None);
    }
    let Some(source) = sqlite_source(manifest) else { return Ok(None) };
    let folder = std::env::temp_dir().join(format!("coreplane-bench-{}", std::process::id()));
    let folder = Temporary::new(folder);
    std::fs::create_dir_all(folder.path())?;
    measure(folder.path(), &source, job).map(Some)
}

fn sqlite_source(manifest: &Path) -> Option<PathBuf> {
    let mut command = Command::new("cargo");
    command
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .stderr(Stdio::null());
    let metadata: serde_json::Value = serde_json::from_slice(&command.output().ok()?.stdout).ok()?;
    let packages = metadata["packages"].as_array()?;
    let package = packages.iter().find(|p| p["name"] == "libsqlite3-sys")?;
    Some(Path::new(package["manifest_path"].as_str()?).parent()?.join("sqlite3"))
}

fn measure(folder: &Path, source: &Path, job: &Path) -> Result<Slowdown, Failure> {
    let path = |p: PathBuf| p.display().to_string();
    let (native, recorded) = (path(folder.join("native")), path(folder.join("recorded")));
    let args = |output: &str| -> Vec<String> {
        let flags = ["-O1", "-w", "-DSQLITE_OMIT_LOAD_EXTENSION", "-pthread", "-I"].map(String::from);
        let files = [path(source.into()), path(job.into()), path(source.join("sqlite3.c"))];
        let rest = ["-o".to_string(), output.to_string(), "-lm".into()];
        flags.into_iter().chain(files).chain(rest).collect()
    };
    let built = Command::new("cc").args(args(&native)).status()?;
    if !built.success() {
        return Err(Failure::BadInput("cc failed on SQLite".into()));
    }
    crate::cc::cc(&crate::args::CcArgs { args: args(&recorded) }, crate::cc::Language::C)?;
    let (mut plain, mut traced) = (Seconds::MOST, Seconds::MOST);
    // In turns: what else the host does concerns both.
    for _ in 0..RUNS {
        plain = plain.least(run(folder, &native, None)?);
        traced = traced.least(run(folder, &recorded, Some(&folder.join("trace.cpt")))?);
    }
    Ok(Slowdown {
        processor: traced.processor / plain.processor,
        user: traced.user / plain.user,
        elapsed: traced.elapsed / plain.elapsed,
        replay: replay(&folder.join("trace.cpt"))?,
    })
}

/// Million references a processor second of a recording's replay.
fn replay(recording: &Path) -> Result<f64, Failure> {
    let workload = WorkloadDescription::replay("trace:SQLite", recordings::open(recording)?);
    let (report, seconds) = bench_real::timed(&Description::preset(REPLAYS_ON)?, &workload)?;
    Ok(report.references as f64 / seconds / 1e6)
}

/// Processor time of the processes that were waited for, in the kernel too and in user mode alone.
fn used() -> Result<(f64, f64), Failure> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(std::io::Error::from)?;
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    let user = seconds(usage.user_time());
    Ok((user + seconds(usage.system_time()), user))
}

fn run(folder: &Path, program: &str, trace: Option<&Path>) -> Result<Seconds, Failure> {
    for name in ["b.db", "b.db-wal", "b.db-shm", "trace.cpt"] {
        _ = std::fs::remove_file(folder.join(name));
    }
    let mut command = Command::new(program);
    command.arg(folder.join("b.db")).arg(ROWS).stdout(Stdio::null());
    if let Some(trace) = trace {
        command.env("COREPLANE_TRACE", trace);
    }
    let before = used()?;
    let (status, elapsed) = output::timed(|| command.status());
    if !status?.success() {
        return Err(Failure::BadInput(format!("{program} failed")));
    }
    let after = used()?;
    Ok(Seconds { processor: after.0 - before.0, user: after.1 - before.1, elapsed })
}
