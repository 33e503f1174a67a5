//! Tables for people, JSON for programs, and where inputs come from.

use crate::Failure;
use crate::args::{Common, EngineChoice, Format, Settings};
use crate::interrupt::Temporary;
pub(crate) use crate::machine_files::machine;
pub(crate) use crate::quantity::plain as number;
pub(crate) use crate::table::Table;
use machine::{Description, RunError, RunOptions, WorkloadDescription};
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use twox_hash::xxhash3_64::{RawHasher, SecretBuffer};
use workloads::{PageStream, Visits};

pub(crate) fn is_json(common: &Common) -> bool {
    common.format == Format::Json
}

/// The command line of this process, as it was given.
static COMMAND: std::sync::OnceLock<String> = std::sync::OnceLock::new();

/// Keeps the command line for who asks where a result is from.
pub(crate) fn given(args: &[String]) {
    let quoted = |arg: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@+%".contains(c);
        let plain = !arg.is_empty() && arg.chars().all(is_plain);
        if plain { arg.clone() } else { format!("'{}'", arg.replace('\'', "'\\''")) }
    };
    let words = std::iter::once("coreplane".to_string()).chain(args.iter().skip(1).map(quoted));
    _ = COMMAND.set(words.collect::<Vec<_>>().join(" "));
}

/// Which version made a result, and with which command.
pub(crate) fn provenance() -> serde_json::Value {
    serde_json::json!({"version": env!("CARGO_PKG_VERSION"), "command": COMMAND.get()})
}

/// The same, and which recordings a workload was replayed from, by content.
pub(crate) fn provenance_of(workload: &str) -> Result<serde_json::Value, Failure> {
    let mut told = provenance();
    if let Some((_, files)) = recording(workload) {
        told["recordings"] = files.split(',').map(content).collect::<Result<Vec<_>, _>>()?.into();
    }
    Ok(told)
}

/// A file's name, size and hash (XXH3, 64 bits).
fn content(file: &str) -> Result<serde_json::Value, Failure> {
    let fail = |e: std::io::Error| Failure::BadInput(format!("{file}: {e}"));
    let mut from = std::fs::File::open(file).map_err(fail)?;
    let (mut hash, mut bytes, mut part) = (RawHasher::new(SecretBuffer::default()), 0, vec![0; 1 << 20]);
    loop {
        let read = from.read(&mut part).map_err(fail)?;
        if read == 0 {
            let hash = format!("{:016x}", hash.finish());
            return Ok(serde_json::json!({"file": file, "bytes": bytes, "xxh3": hash}));
        }
        hash.write(&part[..read]);
        bytes += read;
    }
}

pub(crate) fn print_json(value: &serde_json::Value) {
    println!("{}", serde_json::to_string_pretty(value).unwrap_or_default());
}

/// What an option's value names in a list, or which names are accepted.
pub(crate) fn named<T: Copy>(
    option: &str,
    name: &str,
    all: impl IntoIterator<Item = (&'static str, T)> + Clone,
) -> Result<T, Failure> {
    let names = || all.clone().into_iter().map(|(n, _)| n).collect::<Vec<_>>().join(", ");
    let unknown = || Failure::BadInput(format!("{option}: `{name}` is not known; accepted: {}", names()));
    all.clone().into_iter().find(|(n, _)| *n == name).map(|(_, value)| value).ok_or_else(unknown)
}

/// What a run ended with: bad input, or a promise that was broken.
pub(crate) fn failed(error: RunError) -> Failure {
    match error {
        RunError::Config(e) => Failure::BadInput(e.to_string()),
        RunError::Violation(text) => Failure::DoesNotHold(text),
    }
}

/// A machine whose workload is named after it: where the two were exchanged, that is said.
pub(crate) fn machine_before(name: &str, workload: &str) -> Result<Description, Failure> {
    machine(name).map_err(|e| {
        let is_file = name.ends_with(".toml") || Path::new(name).exists();
        let what = if recording(name).is_some() || WorkloadDescription::named(name).is_ok() {
            format!("{name} is a workload")
        } else if !is_file && Description::preset(workload).is_ok() {
            format!("{workload} is a machine")
        } else {
            return e.into();
        };
        Failure::BadInput(format!("{what}; the machine comes first: {workload} {name}"))
    })
}

/// Kinds of recorded workloads (`trace:FILE`).
const RECORDINGS: [&str; 3] = ["trace", "tpch", "visits"];

/// The kind of a recorded workload and its file.
pub(crate) fn recording(name: &str) -> Option<(&str, &str)> {
    name.split_once(':').filter(|(kind, _)| RECORDINGS.contains(kind))
}

/// What `name` could be meant for, where it is no workload: a file, or a recording of a kind that is written otherwise.
fn meant(name: &str) -> Option<String> {
    if Path::new(name).is_file() {
        return Some(format!("; a recording is given as trace:{name}"));
    }
    let (kind, file) = name.split_once(':')?;
    let near = protocol::params::nearest(kind, RECORDINGS);
    Some(format!("; did you mean {}:{file}?", near.first()?))
}

/// A workload by name, or a recorded one.
pub(crate) fn workload(name: &str) -> Result<WorkloadDescription, Failure> {
    let Some((kind, file)) = recording(name) else {
        let wrong = |e| Failure::BadInput(format!("{e}{}", meant(name).unwrap_or_default()));
        return WorkloadDescription::named(name).map_err(wrong);
    };
    if file.is_empty() {
        return Err(Failure::BadInput(format!("{name} names no file; give {kind}:FILE")));
    }
    if Path::new(file).is_dir() {
        return Err(Failure::BadInput(format!("{name}: is a folder; give {kind}:FILE")));
    }
    if kind == "trace" && !Path::new(file).exists() && file.contains(',') {
        let (first, _) = file.split_once(',').unwrap_or((file, ""));
        let text =
            format!("{name}: several recordings are for run and compare; give one, such as {kind}:{first}");
        return Err(Failure::BadInput(text));
    }
    if kind == "trace" {
        return Ok(WorkloadDescription::replay(name, crate::recordings::open(Path::new(file))?));
    }
    let named = |e: String| Failure::BadInput(format!("{file}: {e}"));
    let bytes = std::fs::read(file).map_err(|e| named(e.to_string()))?;
    Ok(match kind {
        "tpch" => WorkloadDescription::page_stream(name, PageStream::parse(&bytes).map_err(named)?)?,
        _ => WorkloadDescription::visits(name, Visits::parse(&bytes).map_err(named)?)?,
    })
}

/// Applies `--set` to the machine and to the workload.
pub(crate) fn apply(
    settings: &Settings,
    machine: &mut Description,
    workload: &mut WorkloadDescription,
) -> Result<(), Failure> {
    set_all(&assignments(settings)?, machine, std::slice::from_mut(workload))?;
    machine.check()?;
    Ok(())
}

/// Applies `--set` to several machines, each with its workloads. A machine's key is set where it acts, which has to be
/// somewhere.
pub(crate) fn apply_all(
    settings: &Settings,
    jobs: &mut [(Description, Vec<WorkloadDescription>)],
) -> Result<(), Failure> {
    let given = assignments(settings)?;
    let mut acted = vec![false; given.len()];
    for (machine, workloads) in jobs.iter_mut() {
        let mut all = machine.clone();
        set_all(&given, &mut all, workloads)?;
        let acts = |key: &str| !is_of_workload(key) && all.acts(key);
        machine.set_all(given.iter().copied().filter(|(key, _)| acts(key)))?;
        given.iter().zip(&mut acted).for_each(|((key, _), acted)| *acted |= is_of_workload(key) || acts(key));
        machine.check()?;
    }
    let Some(index) = acted.iter().position(|acted| !acted).filter(|_| !jobs.is_empty()) else {
        return Ok(());
    };
    let machines = jobs.iter().map(|(machine, _)| machine);
    Err(Failure::BadInput(format!("--set {}", machine::does_nothing(given[index].0, machines))))
}

/// The keys and values of `--set`.
fn assignments(settings: &Settings) -> Result<Vec<(&str, &str)>, Failure> {
    let wrong = |given: &str| Failure::BadInput(format!("--set {given}: give KEY=VALUE"));
    settings.set.iter().map(|given| given.split_once('=').ok_or_else(|| wrong(given))).collect()
}

/// Sets what `--set` says of workloads and of the machine.
fn set_all(
    given: &[(&str, &str)],
    machine: &mut Description,
    workloads: &mut [WorkloadDescription],
) -> Result<(), Failure> {
    let (of_workload, of_machine): (Vec<_>, Vec<_>) = given.iter().partition(|(key, _)| is_of_workload(key));
    let set = |w: &mut WorkloadDescription| of_workload.iter().try_for_each(|(key, value)| w.set(key, value));
    let set = machine.set_all(of_machine).and_then(|()| workloads.iter_mut().try_for_each(set));
    set.map_err(|e| Failure::BadInput(format!("--set {e}")))
}

/// Whether a key is the workload's, and not the machine's.
pub(crate) fn is_of_workload(key: &str) -> bool {
    key.starts_with("workload.")
}

/// Stretches of each core's time that a report draws at most.
pub(crate) const OPENING: usize = 120;

pub(crate) fn options(settings: &Settings) -> RunOptions {
    let mode = match settings.engine {
        EngineChoice::Fast => engine::Mode::Fast,
        EngineChoice::Reference => engine::Mode::Reference,
    };
    RunOptions { seed: settings.seed, mode, without_images: true, ..RunOptions::default() }
}

/// Writes a file into a folder.
pub(crate) fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    crate::whole::put_bytes(&folder.join(name), bytes)
}

/// Makes the folder that was asked for, before work begins whose results could not be kept.
pub(crate) fn make_folder(out: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = out else { return Ok(()) };
    let wrong = |why: String| Failure::BadInput(format!("--out {}: {why}", folder.display()));
    if let Some(file) = folder.ancestors().find(|path| path.exists()).filter(|path| !path.is_dir()) {
        let which = if file == folder { String::new() } else { format!("{} ", file.display()) };
        return Err(wrong(format!("{which}is a file; give a folder")));
    }
    let probe = Temporary::new(folder.join(format!(".{}.probe", std::process::id())));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(probe.path(), []));
    written.map_err(|e| wrong(format!("results cannot be written there: {e}")))
}

/// The project's folder in the user's cache, or among temporary files.
pub(crate) fn cache() -> PathBuf {
    own_cache().unwrap_or_else(|| std::env::temp_dir().join("coreplane"))
}

/// The project's folder in the user's cache, into which nobody else writes; none where the user has no such place.
pub(crate) fn own_cache() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|text| !text.is_empty()).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("coreplane"))
}

/// Host seconds that `work` takes. The one place where the host's clock is read.
#[expect(
    clippy::disallowed_methods,
    reason = "the face reports how long the host took; no result depends on it"
)]
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Works `times` times: the last result, and the seconds of the fastest, which others on the host disturbed least.
pub(crate) fn fastest<T, E>(times: usize, mut work: impl FnMut() -> Result<T, E>) -> Result<(T, f64), E> {
    let (first, mut best) = timed(&mut work);
    let mut result = first?;
    for _ in 1..times {
        let (next, seconds) = timed(&mut work);
        (result, best) = (next?, best.min(seconds));
    }
    Ok((result, best))
}
