//! `coreplane record`: runs a program that `coreplane cc` made, and finishes its trace.

use crate::Failure;
use crate::args::RecordArgs;
use crate::interrupt;
use crate::output;
use crate::recordings;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use trace::{About, Recording};

pub(crate) fn record(args: &RecordArgs) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("trace.parquet"));
    let format = recordings::format_of(&out)?;
    let raw = out.with_extension("recording");
    let (status, seconds) = output::timed(|| run(&args.command, &raw));
    let result = finish(args, &raw, &status?).and_then(|trace| {
        recordings::save(&trace, &out, format)?;
        Ok(trace)
    });
    if result.is_ok() && raw.exists() {
        std::fs::remove_file(&raw)?;
    }
    let trace = result?;
    if output::is_json(&args.common) {
        let path = out.display().to_string();
        let summary = crate::trace_command::summary(&trace);
        output::print_json(&serde_json::json!({"trace": path, "host_seconds": seconds, "summary": summary}));
    } else if !args.common.quiet {
        eprintln!("coreplane: {} records of {} threads in {}", trace.len(), trace.threads(), out.display());
    }
    Ok(())
}

fn run(command: &[String], raw: &Path) -> Result<ExitStatus, Failure> {
    if raw.exists() {
        std::fs::remove_file(raw)?;
    }
    // An absolute path: the program may change its directory.
    let absolute = std::path::absolute(raw)?;
    let named = |e| Failure::BadInput(format!("{}: {e}", command[0]));
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).env("COREPLANE_TRACE", absolute).stdin(Stdio::inherit());
    let mut child = program.spawn().map_err(named)?;
    let kept = format!(
        "what was recorded until then is in {} (coreplane trace convert --salvage reads it)",
        raw.display()
    );
    interrupt::keeps(raw, kept);
    interrupt::wait(&mut child).map_err(named)
}

/// Checks how the program and its recording ended, and reads the recording.
fn finish(args: &RecordArgs, raw: &Path, status: &ExitStatus) -> Result<Recording, Failure> {
    let program = &args.command[0];
    let refuse = |why: String| Err(Failure::BadInput(format!("{program}: {why}")));
    if !raw.exists() {
        return refuse("recorded nothing: build it with coreplane cc or coreplane c++".into());
    }
    let file = recordings::prefix(raw)?;
    let kept = format!(
        "what it recorded until then is in {} (coreplane trace convert --salvage reads it)",
        raw.display()
    );
    if let Some(signal) = status.signal() {
        return refuse(format!("ended by signal {signal}; {kept}"));
    }
    if !file.is_finished() {
        return refuse(format!(
            "its recording was cut short (no room on the disk, or it replaced itself); {kept}"
        ));
    }
    if file.about().notes.iter().any(|n| n == "forked") {
        std::fs::remove_file(raw)?;
        return refuse("forks; only programs of one process can be recorded".into());
    }
    if !status.success() && !args.allow_failure {
        std::fs::remove_file(raw)?;
        let code = status.code().unwrap_or(-1);
        return refuse(format!("ended with exit code {code} (--allow-failure records it all the same)"));
    }
    let mut about = About { source: args.command.join(" "), ..file.about().clone() };
    if !about.program.path.is_empty() {
        name_places(&mut about, &file.counts().locations);
    }
    Ok(file.with_about(about))
}

/// Asks addr2line for the source places of all code offsets; without it they stay numbers.
fn name_places(about: &mut About, offsets: &[u32]) {
    let (program, bias) = (about.program.path.clone(), about.program.bias);
    for chunk in offsets.chunks(2000) {
        // A return address is after the call: one byte before is in it.
        let addresses = chunk.iter().map(|o| format!("{:x}", (u64::from(*o) + bias).wrapping_sub(1)));
        let mut command = Command::new("addr2line");
        command.args(["-s", "-f", "-e", &program]).args(addresses).stderr(Stdio::null());
        let Ok(done) = command.output() else { return };
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let mut lines = text.lines();
        for offset in chunk {
            let (Some(function), Some(place)) = (lines.next(), lines.next()) else { return };
            let place = place.split(" (discriminator").next().unwrap_or(place);
            if !place.starts_with('?') {
                about.locations.insert(*offset, format!("{place} {function}"));
            }
        }
    }
}
