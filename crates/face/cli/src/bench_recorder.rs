//! What recording costs: unmodified SQLite, native and recorded.

use crate::Failure;
use crate::interrupt::Temporary;
use crate::output;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROWS: &str = "2000";

/// How many times as long SQLite's job takes when it is recorded; none outside a checkout.
pub(crate) fn slowdown() -> Result<Option<f64>, Failure> {
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

fn measure(folder: &Path, source: &Path, job: &Path) -> Result<f64, Failure> {
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
    let plain = best_of_three(folder, &native, None)?;
    let traced = best_of_three(folder, &recorded, Some(&folder.join("trace.cpt")))?;
    Ok(traced / plain)
}

fn best_of_three(folder: &Path, program: &str, trace: Option<&Path>) -> Result<f64, Failure> {
    let mut best = f64::MAX;
    for _ in 0..3 {
        for name in ["b.db", "b.db-wal", "b.db-shm"] {
            _ = std::fs::remove_file(folder.join(name));
        }
        let mut command = Command::new(program);
        command.arg(folder.join("b.db")).arg(ROWS).stdout(Stdio::null());
        if let Some(trace) = trace {
            command.env("COREPLANE_TRACE", trace);
        }
        let (status, seconds) = output::timed(|| command.status());
        if !status?.success() {
            return Err(Failure::BadInput(format!("{program} failed")));
        }
        best = best.min(seconds);
    }
    Ok(best)
}
