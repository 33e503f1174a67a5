//! `coreplane record --trace-per-process`: the program and all that it starts, a recording of each process.

use crate::Failure;
use crate::args::Common;
use crate::record_check::{self, Check};
use crate::record_folders::Begun;
use crate::record_hosts::{ended, inherit};
use crate::record_route::Asked;
use crate::{output, progress, record_places, record_run, recordings, trace_info, whole};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::SystemTime;
use trace::{About, Call, Described, Recording};

/// A process's recording.
struct Part {
    /// What the program is called.
    name: String,
    /// When it began, and when it was recorded last.
    ran: Option<(SystemTime, SystemTime)>,
    recording: Recording,
}

impl Part {
    /// Whether both ran at the same time, as far as is known.
    fn ran_with(&self, other: &Part) -> bool {
        self.ran.zip(other.ran).is_none_or(|(own, other)| own.0 < other.1 && other.0 < own.1)
    }
}

/// Runs the command once; gives what JSON says of it, with what it says of each process.
pub(crate) fn record_once(
    command: &[String],
    out: &Path,
    asked: &Asked,
    common: &Common,
    stdout: Stdio,
) -> Result<Value, Failure> {
    recordings::format_of(out)?;
    whole::can_be_made(out)?;
    let folder = whole::beside(out, "processes");
    let named = |e: std::io::Error| Failure::BadInput(format!("--out: {}: {e}", folder.path().display()));
    std::fs::create_dir_all(folder.path()).map_err(named)?;
    let route = asked.told(command, common)?;
    let begun = Begun::now(command);
    let (done, seconds) = output::timed(|| {
        let mut program = route.command_of_each(command, &std::path::absolute(folder.path())?);
        record_run::run(command, &mut program, &route, stdout)
    });
    let (status, first) = done?;
    let shown = progress::busy(common, "reading the recordings");
    let parts = parts(folder.path(), first)?;
    if parts.is_empty() {
        let text = "recorded nothing: build what it starts with coreplane cc or coreplane c++, or record it as it is with --route valgrind";
        return Err(Failure::BadInput(format!("{}: {text}", command[0])));
    }
    let (shared, elsewhere) = (shared_files(&parts), elsewhere(&parts));
    let mut all = Vec::new();
    for (number, (part, elsewhere)) in parts.into_iter().zip(elsewhere).enumerate() {
        let path = path_of(out, number + 1, &part.name);
        all.push(save(part, (command, &begun), &shared, elsewhere, &path)?);
    }
    drop(shown);
    let code = status.code().unwrap_or(-1);
    Ok(
        json!({"processes": all, "host_seconds": seconds, "exit_code": code, "route": route.name(), "remarks": remarks(&status)}),
    )
}

fn remarks(status: &ExitStatus) -> Vec<String> {
    status.signal().map(|signal| format!("the program ended by signal {signal}")).into_iter().collect()
}

/// The recordings of a folder, that of process `first` before all others, these by the kernel's numbers.
fn parts(folder: &Path, first: u32) -> Result<Vec<Part>, Failure> {
    let names = std::fs::read_dir(folder)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut processes: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    processes.sort_by_key(|process| (*process != first, *process));
    let mut abouts: BTreeMap<u32, About> = BTreeMap::new();
    let mut all = Vec::new();
    for process in processes {
        let recording = ended(&folder.join(process.to_string()))?;
        let mut about = recording.about().clone();
        let parent = about.process.filter(|(own, from, _)| own != from).map(|(_, from, _)| from);
        if let Some(parent) = parent.and_then(|parent| abouts.get(&parent)) {
            inherit(&mut about, parent);
            inherit_texts(&mut about, parent);
        }
        abouts.insert(process, about.clone());
        if !recording.is_finished() {
            let text = "it ended, or became a program that is not recorded, before it could end its recording: what it did last is not in it";
            about.notes.push(text.into());
        }
        // The name is written at the beginning, the recording until the end.
        let (path, named) = (folder.join(process.to_string()), folder.join(format!("{process}.name")));
        let changed = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
        let ran = changed(&named).zip(changed(&path));
        let name = std::fs::read_to_string(&named).unwrap_or_default();
        all.push(Part { name, ran, recording: recording.with_about(about) });
    }
    Ok(all)
}

/// What a forked process tells by numbers that the one it comes from gave.
fn inherit_texts(about: &mut About, parent: &About) {
    for (number, text) in &parent.unseen {
        about.unseen.entry(*number).or_insert_with(|| text.clone());
    }
    let own: Vec<u32> = about.code.values().flat_map(|places| places.keys().copied()).collect();
    for (path, places) in &parent.code {
        let others = places.iter().filter(|(location, _)| own.binary_search(location).is_err());
        about.code.entry(path.clone()).or_default().extend(others.map(|(l, a)| (*l, *a)));
    }
}

/// Files, by device and inode, that several of the recordings tell of.
fn shared_files(parts: &[Part]) -> Vec<String> {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for part in parts {
        let own: BTreeSet<&String> = part.recording.about().files.values().map(|f| &f.identity).collect();
        own.into_iter().for_each(|identity| *met.entry(identity.clone()).or_default() += 1);
    }
    met.into_iter().filter(|(_, times)| *times > 1).map(|(identity, _)| identity).collect()
}

/// Files of a recording, by device and inode, that a process which ran at the same time changes or makes durable, for each of the
/// recordings.
fn elsewhere(parts: &[Part]) -> Vec<BTreeSet<String>> {
    let changed: Vec<BTreeSet<String>> = parts.iter().map(|part| changed(&part.recording)).collect();
    let syncs_all = |part: &Part| part.recording.counts().calls.contains_key(&Call::Sync);
    let others = |own: usize, identity: &String| {
        let ran = |other: usize| other != own && parts[other].ran_with(&parts[own]);
        (0..parts.len())
            .any(|other| ran(other) && (syncs_all(&parts[other]) || changed[other].contains(identity)))
    };
    let of_one = |own: usize| {
        let files = parts[own].recording.about().files.values().map(|file| &file.identity);
        files.filter(|identity| others(own, identity)).cloned().collect()
    };
    (0..parts.len()).map(of_one).collect()
}

/// Files, by device and inode, that a process changes or makes durable: any that it knows, where what it did last is not recorded.
fn changed(recording: &Recording) -> BTreeSet<String> {
    let counts = &recording.counts().files;
    let done = |number: &u32| {
        let done = counts.get(number).map_or(0, |f| f.stores + f.written + f.flushes + f.syncs + f.calls);
        done > 0 || !recording.is_finished()
    };
    let files = recording.about().files.iter().filter(|(number, _)| done(number));
    files.map(|(_, file)| file.identity.clone()).collect()
}

/// `t.cpt` becomes `t.2-name.cpt`.
fn path_of(out: &Path, number: usize, name: &str) -> PathBuf {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    let name: String = name.trim().chars().take(40).map(plain).collect();
    let name = if name.is_empty() { "process".into() } else { name };
    recordings::numbered(out, &format!("{number}-{name}"))
}

/// Names places, compares files, and writes a recording. Gives what JSON says of it.
fn save(
    part: Part,
    (command, begun): (&[String], &Begun),
    shared: &[String],
    elsewhere: BTreeSet<String>,
    path: &Path,
) -> Result<Value, Failure> {
    let Part { name, recording, .. } = part;
    let (process, mut about) = (recording.about().process, recording.about().clone());
    about.process = None;
    about.source = command.join(" ");
    record_places::name(&mut about, &recording.counts().locations);
    begun.note_folders(&mut about);
    let kernel = process.map_or(0, |(_, _, kernel)| kernel);
    about.notes.push(format!("one of several processes: {name}"));
    about.notes.extend(record_check::made_folders(&about));
    let checks = record_check::against_files(&recording)?;
    let is_shared = |file: &str| {
        let identity = recording.about().files.values().find(|f| f.path == file).map(|f| &f.identity);
        identity.is_some_and(|identity| shared.contains(identity))
    };
    let (of_all, own): (Vec<_>, Vec<_>) = checks.into_iter().partition(|check| is_shared(&check.path));
    let of_all: Vec<Check> =
        of_all.into_iter().map(|check| check.not_compared("other recorded processes use it too")).collect();
    about.notes.extend(record_check::not_compared(&of_all));
    about.notes.extend(record_check::not_compared(&own));
    about.elsewhere.extend(elsewhere);
    about.differs.extend(own.iter().flat_map(|c| c.differs.iter().copied()));
    let recording = recording.with_about(about);
    recordings::save(&recording, path, recordings::format_of(path)?)?;
    let remarks = record_check::warnings(&recording, &own);
    let summary = trace_info::summary(&Described::of(&recording));
    Ok(
        json!({"trace": path.display().to_string(), "process": kernel, "program": name, "summary": summary, "remarks": remarks}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_its_number_and_name_in_its_files() {
        let path = |name| path_of(Path::new("a/t.cpt"), 2, name).display().to_string();
        assert_eq!(path("redis-server"), "a/t.2-redis-server.cpt");
        assert_eq!(path("a b/c\n"), "a/t.2-a_b_c.cpt");
        assert_eq!(path(""), "a/t.2-process.cpt");
    }
}
