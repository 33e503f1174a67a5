//! `coreplane record`: runs a program, and finishes its trace.

use crate::Failure;
use crate::args::{Common, RecordArgs};
use crate::interrupt;
use crate::lines::remark;
use crate::output;
use crate::progress;
use crate::record_check::{self, Check};
use crate::record_folders::Begun;
use crate::record_hosts;
use crate::record_own::Output;
use crate::record_places;
use crate::record_processes;
use crate::record_region;
use crate::record_route::Asked;
use crate::record_run;
use crate::record_title::Title;
use crate::recordings;
use machine::NEVER_BEGAN;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use trace::{About, Described, Recording};

/// The most recordings of one program.
const MOST_TIMES: u32 = 1000;

pub(crate) fn record(args: &RecordArgs) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("trace.parquet"));
    let asked = Asked::new(args.route, args.memory.clone())?.within(record_region::words(&args.region)?);
    if args.host_per_process {
        record_hosts::check(&asked)?;
    }
    if args.host_per_process && args.trace_per_process {
        let text =
            "--trace-per-process: with --host-per-process all processes are in one trace; give one of them";
        return Err(Failure::BadInput(text.into()));
    }
    let once = |out: &Path| {
        let stdout = stdout(&args.common)?;
        let done = if args.host_per_process {
            record_hosts::record_once(&args.command, out, &args.common, stdout)?
        } else if args.trace_per_process {
            record_processes::record_once(&args.command, out, &asked, &args.common, stdout)?
        } else {
            record_once(&args.command, out, &asked, &args.common, stdout)?
        };
        Ok::<Value, Failure>(say(args, done))
    };
    let Some(times) = args.times else {
        let done = once(&out)?;
        if output::is_json(&args.common) {
            output::print_json(&done);
        }
        return Ok(());
    };
    if !(1..=MOST_TIMES).contains(&times) {
        return Err(Failure::BadInput(format!("--times {times}: give 1 to {MOST_TIMES}")));
    }
    let all = (1..=times)
        .map(|n| once(&recordings::numbered(&out, &n.to_string())))
        .collect::<Result<Vec<_>, Failure>>()?;
    if output::is_json(&args.common) {
        output::print_json(&Value::Array(all));
    }
    Ok(())
}

/// Where the program's standard output goes: where JSON is printed, it is all that is, and the program's lines go where
/// messages go.
fn stdout(common: &Common) -> Result<Stdio, Failure> {
    if output::is_json(common) {
        return Ok(std::io::stderr().as_fd().try_clone_to_owned()?.into());
    }
    Ok(Stdio::inherit())
}

/// Runs the program once. Gives what JSON says of it; under `remarks`, what a person should know before using it.
pub(crate) fn record_once(
    command: &[String],
    out: &Path,
    asked: &Asked,
    common: &Common,
    stdout: Stdio,
) -> Result<Value, Failure> {
    let format = recordings::format_of(out)?;
    crate::whole::can_be_made(out)?;
    let raw = out.with_extension("recording");
    let route = asked.told(command, common)?;
    let _alone = record_run::alone(&raw)?;
    let title = Title::of(common, &raw);
    record_run::may_be_written(&raw)?;
    // An absolute path: the program may change its directory.
    let absolute = std::path::absolute(&raw)?;
    let kept = format!(
        "what was recorded until then is in {} (coreplane trace convert --salvage reads it)",
        raw.display()
    );
    interrupt::keeps(&raw, kept);
    let mut program = route.command(command, &absolute);
    let begun = Begun::now(command);
    let destination = Output::of(out);
    let (status, seconds) = output::timed(|| record_run::run(command, &mut program, &route, stdout));
    drop(title);
    let (status, _) = status?;
    let shown = progress::busy(common, "reading the recording");
    let (trace, checks) = finish(command, &raw, &status, &begun)?;
    drop(shown);
    let place = destination.place(trace.about());
    let shown = progress::busy(common, &format!("writing {}", place.display()));
    recordings::save(&trace, &place, format)?;
    std::fs::remove_file(&raw)?;
    drop(shown);
    destination.is(&place)?;
    let code = status.code().unwrap_or(-1);
    let path = out.display().to_string();
    let (summary, remarks) =
        (crate::trace_info::summary(&Described::of(&trace)), record_check::warnings(&trace, &checks));
    Ok(
        json!({"trace": path, "host_seconds": seconds, "exit_code": code, "route": route.name(), "summary": summary, "remarks": remarks}),
    )
}

/// Says what was recorded, unless nothing is to be said; that nothing of it counts is said always.
fn say(args: &RecordArgs, done: Value) -> Value {
    if args.common.quiet {
        never_began(&done).iter().for_each(|text| remark(&format!("warning: {text}")));
    }
    if let (Some(processes), false) = (done["processes"].as_array(), args.common.quiet) {
        let texts = done["remarks"].as_array().into_iter().flatten().filter_map(Value::as_str);
        texts.for_each(remark);
        processes.iter().for_each(say_recorded);
    } else if !args.common.quiet {
        say_recorded(&done);
    }
    done
}

/// That the region never began, in none of the processes that were recorded.
fn never_began(done: &Value) -> Option<String> {
    let of = |done: &Value| {
        let mut texts = done["remarks"].as_array()?.iter().filter_map(Value::as_str);
        texts.find(|text| text.starts_with(NEVER_BEGAN)).map(str::to_string)
    };
    let Some(processes) = done["processes"].as_array() else { return of(done) };
    let all = processes.iter().map(of).collect::<Option<Vec<String>>>()?;
    all.into_iter().next()
}

fn say_recorded(done: &Value) {
    let records = done["summary"]["records"].as_u64().unwrap_or(0);
    let threads = done["summary"]["threads"].as_array().map_or(0, Vec::len);
    let hosts = done["summary"]["hosts"].as_u64().unwrap_or(0);
    let (who, whose) = match hosts {
        0 => (format!("{threads} threads"), "the threads'"),
        n => (format!("{n} hosts"), "the hosts'"),
    };
    let one = match threads {
        0 | 1 => String::new(),
        _ => format!("; of {whose} many schedules it is one (--times N records more)"),
    };
    let path = done["trace"].as_str().unwrap_or_default();
    remark(&format!("{records} records of {who} in {path}{one}"));
    let remarks = done["remarks"].as_array().into_iter().flatten().filter_map(Value::as_str);
    remarks.for_each(remark);
}

/// Checks how the program and its recording ended, reads the recording, and compares it with the files that are left.
fn finish(
    command: &[String],
    raw: &Path,
    status: &ExitStatus,
    begun: &Begun,
) -> Result<(Recording, Vec<Check>), Failure> {
    let program = &command[0];
    let refuse = |why: String| Err(Failure::BadInput(format!("{program}: {why}")));
    if !raw.exists() {
        return refuse("recorded nothing: build it with coreplane cc or coreplane c++, or record it as it is with --route valgrind".into());
    }
    if raw.metadata()?.len() == 0 {
        std::fs::remove_file(raw)?;
        return refuse(format!("there was no room for its recording, {}", raw.display()));
    }
    let file = recordings::prefix(raw)?;
    let kept = format!(
        "what it recorded until then is in {} (coreplane trace convert --salvage reads it)",
        raw.display()
    );
    if let Some(signal) = status.signal() {
        let said: String = file.about().notes.iter().map(|note| format!(" ({note})")).collect();
        let limit = " (a limit on the size of its files, RLIMIT_FSIZE, which holds for its recording too)";
        let killed = " (which lets nothing be written: what its recorder's buffers held is lost)";
        let limit = match signal {
            s if s == Signal::SIGXFSZ as i32 => limit,
            s if s == Signal::SIGKILL as i32 => killed,
            _ => "",
        };
        return refuse(format!("ended by signal {signal}{limit}{said}; {kept}"));
    }
    if !file.is_finished() {
        let why = if file.about().becomes {
            "it became another program (exec), of which nothing is recorded; --trace-per-process records that too, where it was built with hooks"
        } else {
            "why it stopped is said above, if the recorder could: no room on the disk, a limit on the size of its files, a program that it became and could not record, \
             an end that is not the C library's"
        };
        return refuse(format!("its recording was cut short: {why}; {kept}"));
    }
    if file.about().notes.iter().any(|n| n == "forked") {
        std::fs::remove_file(raw)?;
        return refuse("forks; a recording is of one process (--host-per-process makes each a host that shares memory with the others, --trace-per-process records each)".into());
    }
    let mut about = About { source: command.join(" "), ..file.about().clone() };
    record_places::name(&mut about, &file.counts().locations);
    begun.note_folders(&mut about);
    if let Some(code) = status.code().filter(|c| *c != 0) {
        about.notes.push(format!("the program ended with exit code {code}"));
    }
    about.notes.extend(record_check::odd_names(&about));
    about.notes.extend(record_check::made_folders(&about));
    let checks = record_check::against_files(&file)?;
    about.differs.extend(checks.iter().flat_map(|c| c.differs.iter().copied()));
    about.notes.extend(record_check::not_compared(&checks));
    Ok((file.with_about(about), checks))
}
