//! `coreplane record --host-per-process`: several processes that map one file, each a host, become one trace.

use crate::Failure;
use crate::args::Common;
use crate::interrupt;
use crate::record_folders::Begun;
use crate::record_own::Output;
use crate::record_route::Asked;
use crate::{output, progress, record_places, recordings, trace_info, whole};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use trace::{Described, Object, Recording};

/// How long processes are waited for that go on after the one which was started; and how often they are looked at.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(20));

/// Only hooks can put processes in one order.
pub(crate) fn check(asked: &Asked) -> Result<(), Failure> {
    if !asked.may_be_hooks() {
        let text = "--host-per-process is of programs with hooks: compile them with coreplane cc, and leave out --route valgrind and --memory";
        return Err(Failure::BadInput(text.into()));
    }
    Ok(())
}

/// Runs the command once, and joins what its processes recorded.
pub(crate) fn record_once(
    command: &[String],
    out: &Path,
    common: &Common,
    stdout: Stdio,
) -> Result<Value, Failure> {
    let format = recordings::format_of(out)?;
    let folder = whole::beside(out, "hosts");
    whole::can_be_made(out)?;
    prepare(folder.path())?;
    let begun = Begun::now(command);
    let destination = Output::of(out);
    let (status, seconds) = output::timed(|| run(command, folder.path(), stdout));
    let status = status?;
    let shown = progress::busy(common, "reading the recordings");
    let (parts, mut notes) = parts(folder.path())?;
    let program = &command[0];
    if let Some(signal) = status.signal() {
        return Err(Failure::BadInput(format!("{program}: ended by signal {signal}")));
    }
    if parts.is_empty() {
        let text = "recorded nothing: build what it starts with coreplane cc or coreplane c++";
        return Err(Failure::BadInput(format!("{program}: {text}")));
    }
    let unfit = |e| Failure::BadInput(format!("{program}: {e}"));
    let joint = trace::hosts::join(&parts, &command.join(" "));
    // What is missing may be the reason.
    let lost =
        || notes.iter().filter(|n| n.starts_with("warning: ")).map(|n| format!("; {n}")).collect::<String>();
    let mut joint = joint.map_err(|e| Failure::BadInput(format!("{program}: {e}{}", lost())))?;
    if let Some(code) = status.code().filter(|c| *c != 0) {
        notes.push(format!("the program ended with exit code {code}"));
    }
    joint.about.notes = notes;
    begun.note_folders(&mut joint.about);
    let trace = Recording::of_trace(joint).map_err(unfit)?;
    let place = destination.place(trace.about());
    recordings::save(&trace, &place, format)?;
    drop(shown);
    destination.is(&place)?;
    let remarks = trace.about().notes.clone();
    Ok(
        json!({"trace": out.display().to_string(), "host_seconds": seconds, "exit_code": status.code().unwrap_or(-1),
              "route": "hooks", "summary": trace_info::summary(&Described::of(&trace)), "remarks": remarks}),
    )
}

/// Makes the folder of the recordings, with the counters that the processes share.
fn prepare(folder: &Path) -> Result<(), Failure> {
    let named = |e: std::io::Error| Failure::BadInput(format!("--out: {}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(named)?;
    std::fs::write(folder.join("order"), [0; 4096]).map_err(named)
}

fn run(command: &[String], folder: &Path, stdout: Stdio) -> Result<ExitStatus, Failure> {
    let named = |e| Failure::BadInput(format!("{}: {e}", command[0]));
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).env_remove("COREPLANE_TRACE");
    program.env("COREPLANE_HOSTS", std::path::absolute(folder)?);
    let mut child = program.stdin(Stdio::inherit()).stdout(stdout).spawn().map_err(named)?;
    interrupt::wait(&mut child).map_err(named)
}

/// How many processes were given a number: the second counter that they share.
fn numbered(folder: &Path) -> Result<u32, Failure> {
    let counters = std::fs::read(folder.join("order"))?;
    let second = counters.as_chunks::<4>().0.get(1).copied();
    Ok(second.map_or(0, u32::from_ne_bytes))
}

/// What each process recorded, in the order in which they were started, and what is to be said of them.
fn parts(folder: &Path) -> Result<(Vec<Recording>, Vec<String>), Failure> {
    let mut all: BTreeMap<u32, Recording> = BTreeMap::new();
    let mut notes = Vec::new();
    for number in 0..numbered(folder)? {
        let path = folder.join(format!("{number}"));
        if !path.exists() {
            notes.push("warning: a fork failed, or its process left no recording".to_string());
            continue;
        }
        let part = ended(&path)?;
        let mut about = part.about().clone();
        notes.append(&mut about.notes);
        if let Some(parent) = about.process.filter(|(own, from, _)| own != from).and_then(|p| all.get(&p.1)) {
            inherit(&mut about, parent.about());
        }
        record_places::name_with_callers(&mut about, &part.counts().locations);
        if !part.is_finished() {
            let process = about.process.map_or(0, |(_, _, kernel)| kernel);
            notes.push(format!("warning: process {process} was ended before it could end its recording: what it did after its last fence may not be in it"));
        }
        all.insert(number, part.with_about(about));
    }
    notes.sort();
    notes.dedup();
    Ok((all.into_values().collect(), notes))
}

/// A forked process has the program of the one that it comes from, and what that one had loaded.
pub(crate) fn inherit(about: &mut trace::About, parent: &trace::About) {
    about.program = parent.program.clone();
    let known = |o: &Object| parent.objects.contains(o);
    about.objects.retain(|o| !known(o));
    about.objects.extend(parent.objects.iter().cloned());
}

/// A process's recording, when it has ended.
pub(crate) fn ended(path: &Path) -> Result<Recording, Failure> {
    let mut waited = Duration::ZERO;
    loop {
        let part = recordings::prefix(path)?;
        let process = part.about().process.map(|(_, _, kernel)| kernel);
        let runs = process.is_some_and(is_running);
        if part.is_finished() || !runs {
            return Ok(part);
        }
        if waited >= PATIENCE.0 {
            let process = process.unwrap_or_default();
            let text =
                format!("process {process} still runs: a program that starts others has to wait for them");
            return Err(Failure::BadInput(text));
        }
        std::thread::sleep(PATIENCE.1);
        waited += PATIENCE.1;
    }
}

/// Whether a process is there and has not ended; one that nobody has waited for has a state, Z.
fn is_running(process: u32) -> bool {
    let state = std::fs::read_to_string(PathBuf::from(format!("/proc/{process}/stat")));
    state.is_ok_and(|text| !text.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{About, Trace, write_block_file};

    #[test]
    fn a_process_that_left_nothing_hides_none_that_came_later() {
        let folder = whole::beside(&std::env::temp_dir().join("gap"), "hosts");
        let at = folder.path();
        prepare(at).unwrap();
        let counters: Vec<u8> = [9u32, 3].into_iter().flat_map(u32::to_ne_bytes).collect();
        std::fs::write(at.join("order"), counters).unwrap();
        for (number, path) in [(0, "./p"), (2, "")] {
            let program = Object { path: path.into(), ..Object::default() };
            let about = About { process: Some((number, 0, u32::MAX)), program, ..About::default() };
            let whole = write_block_file(&Trace { about, ..Trace::default() }).unwrap();
            std::fs::write(at.join(number.to_string()), whole).unwrap();
        }
        let (all, notes) = parts(at).unwrap();
        let told: Vec<_> =
            all.iter().map(|r| (r.about().process.unwrap().0, &*r.about().program.path)).collect();
        assert_eq!(told, [(0, "./p"), (2, "./p")]);
        assert_eq!(notes, ["warning: a fork failed, or its process left no recording"]);
    }
}
