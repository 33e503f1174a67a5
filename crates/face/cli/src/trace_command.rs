//! `coreplane trace`: looks into traces, and converts them.

use crate::Failure;
use crate::args::{Common, TraceArgs, TraceCommand};
use crate::output::{self, Table};
use crate::progress;
use crate::recordings;
use crate::trace_info;
use crate::whole;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufReader, BufWriter, Read};
use std::path::Path;
use trace::export::{self, Written};
use trace::import::Format as Foreign;
use trace::names::own_name;
use trace::space::file_of;
use trace::{Call, Kind, Record, Recording};
use units::watch;

pub(crate) fn trace(args: &TraceArgs) -> Result<(), Failure> {
    let (TraceCommand::Info { common, file, .. }
    | TraceCommand::Head { common, file, .. }
    | TraceCommand::Convert { common, input: file, .. }) = &args.command;
    let shown = progress::busy(common, &format!("reading {}", file.display()));
    match &args.command {
        TraceCommand::Info { file, full, common } => {
            let (trace, was_read) = trace_info::look(file, *full)?;
            drop(shown);
            if was_read && !full && !common.quiet {
                let text = "has no summary: all of it was read; coreplane trace convert writes one";
                crate::lines::remark(&format!("{} {text}", file.display()));
            }
            if output::is_json(common) {
                output::print_json(&trace_info::summary(&trace));
            } else {
                trace_info::print(&trace);
            }
        }
        TraceCommand::Head { file, records, common } => {
            let trace = recordings::open(file)?;
            drop(shown);
            head(&trace, *records, output::is_json(common));
        }
        TraceCommand::Convert { from, input, output: to, salvage, export, common } => {
            let exported =
                export.as_deref().map(|name| named("--to", name, &export::Format::ALL)).transpose()?;
            whole::is_not_the_input(to, input)?;
            let trace = match from {
                Some(name) => import(name, input, to)?,
                None if *salvage => salvaged(input)?,
                None => recordings::open(input)?,
            };
            drop(shown);
            let shown = progress::busy(common, &format!("writing {}", to.display()));
            let written = match exported {
                Some(format) => save_for_others(&trace, format, to)?,
                None => {
                    recordings::save(&trace, to, recordings::format_of(to)?)?;
                    Written { records: trace.len(), lacks: String::new() }
                }
            };
            drop(shown);
            say(common, to, &written, &trace.about().lacks);
        }
    }
    Ok(())
}

/// What was written, for a person or as JSON.
fn say(common: &Common, to: &Path, written: &Written, lacked: &str) {
    let lacks: Vec<&str> = [lacked, &written.lacks].into_iter().filter(|text| !text.is_empty()).collect();
    if output::is_json(common) {
        output::print_json(&json!({
            "trace": to.display().to_string(), "records": written.records, "lacks": lacks.join("; "),
        }));
    } else if !common.quiet {
        let lacks = if lacks.is_empty() { String::new() } else { format!("; it lacks {}", lacks.join("; ")) };
        crate::lines::remark(&format!("{} records in {}{lacks}", written.records, to.display()));
    }
}

/// The whole blocks of a recording. One that has its end is as it was; places have names, which `record` would have given them.
fn salvaged(path: &Path) -> Result<Recording, Failure> {
    let kept = recordings::prefix(path)?;
    let mut about = kept.about().clone();
    if about.locations.is_empty() {
        crate::record_places::name(&mut about, &kept.counts().locations);
    }
    if !kept.is_finished() {
        let left = kept.left_over();
        let end = match kept.damage() {
            Some(damage) => format!("its end ({left} bytes after the last whole block: {damage})"),
            None => format!("its end ({left} bytes after the last whole block)"),
        };
        about.lacks = if about.lacks.is_empty() { end } else { format!("{}; {end}", about.lacks) };
    }
    Ok(kept.with_about(about))
}

fn import(name: &str, path: &Path, to: &Path) -> Result<Recording, Failure> {
    let format = named("--from", name, &Foreign::ALL)?;
    let named = |what: &dyn std::fmt::Display| Failure::BadInput(format!("{}: {what}", path.display()));
    let input = std::fs::File::open(path).map_err(|e| named(&e))?;
    let bytes = input.metadata().map_or(0, |about| about.len());
    let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    // A trace of another tool says how many threads and records it has only at its end: it is made a block file first.
    let blocks = whole::beside(to, "import");
    let folder = blocks.path().parent().map_or(Ok(()), std::fs::create_dir_all);
    let out = folder
        .and_then(|()| std::fs::File::create(blocks.path()))
        .map_err(|e| Failure::BadInput(format!("{}: {e}", blocks.path().display())))?;
    trace::import::import_blocks(
        format,
        &mut BufReader::new(Telling { input, bytes, read: 0 }),
        &file,
        BufWriter::new(out),
    )
    .map_err(|e| named(&e))?;
    // The file goes, what is open of it stays.
    let opened = recordings::open(blocks.path());
    opened.map_err(|f| match f {
        Failure::BadInput(text) => {
            let own = format!("{}: ", blocks.path().display());
            named(&text.strip_prefix(own.as_str()).unwrap_or(&text))
        }
        other => other,
    })
}

/// The format of that name.
fn named<F: Copy>(option: &str, name: &str, all: &[(&str, F)]) -> Result<F, Failure> {
    all.iter().find(|(n, _)| *n == name).map(|(_, format)| *format).ok_or_else(|| {
        let known = all.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ");
        Failure::BadInput(format!("{option} {name}: is not accepted; give one of {known}"))
    })
}

/// Writes another tool's format, packed where the file's name says so.
fn save_for_others(trace: &Recording, format: export::Format, to: &Path) -> Result<Written, Failure> {
    if to.extension().is_some_and(|e| e == "gz") {
        return recordings::save_text(to, |out| export::write_packed(format, trace, out));
    }
    recordings::save_text(to, |out| export::write(format, trace, out))
}

/// A file that says how far it has been read.
struct Telling {
    input: std::fs::File,
    bytes: u64,
    read: u64,
}

impl Read for Telling {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.input.read(into)?;
        self.read += read as u64;
        watch::pass(self.read, self.bytes);
        Ok(read)
    }
}

fn head(trace: &Recording, count: usize, json: bool) {
    let rows: Vec<Record> = trace.records().take(count).collect();
    if json {
        let all = rows.iter().map(|r| {
            let file = file_of(r.address).map(|(file, offset)| json!({"number": file, "offset": offset}));
            json!({"thread": r.thread, "kind": r.kind.name(), "size": r.size, "address": r.address, "file": file,
                   "value": r.value, "stamp": r.stamp, "instructions": r.instructions,
                   "location": trace.about().locations.get(&r.location)})
        });
        return output::print_json(&all.collect());
    }
    let mut table = Table::new(["kind", "thread", "address", "size", "value", "stamp", "place"]);
    for r in rows {
        let place = trace.about().locations.get(&r.location).cloned().unwrap_or_default();
        table.row([
            r.kind.name().to_string(),
            r.thread.to_string(),
            address(trace, r.address),
            r.size.to_string(),
            value(trace, &r),
            if r.kind.has_stamp() { r.stamp.to_string() } else { String::new() },
            place,
        ]);
    }
    table.print();
}

/// An address of the program, or of a file: its name and the offset.
fn address(trace: &Recording, address: u64) -> String {
    let Some((number, offset)) = file_of(address) else { return format!("{address:#x}") };
    let path = trace_info::path(trace.about(), number);
    format!("{}+{offset:#x}", own_name(&path))
}

fn value(trace: &Recording, r: &Record) -> String {
    let text =
        |texts: &BTreeMap<u64, String>, n: u64| texts.get(&n).cloned().unwrap_or_else(|| n.to_string());
    match r.kind {
        Kind::Call => {
            let (call, bytes) = (Call::from_number(r.value as u8), r.value >> 8);
            let name = call.map_or("?", Call::name);
            if matches!(
                call,
                Some(Call::Link | Call::Unlink | Call::Rename | Call::MakeFolder | Call::RemoveFolder)
            ) {
                format!("{name} {}", text(&trace.about().names, bytes))
            } else if bytes == u64::MAX >> 8 {
                // As many bytes as there are.
                name.to_string()
            } else {
                format!("{name} {bytes} bytes")
            }
        }
        Kind::Unseen => text(&trace.about().unseen, r.value),
        Kind::Operand => address(trace, r.value),
        Kind::Map | Kind::Unmap => format!("{} bytes", r.value),
        Kind::Store
        | Kind::StoreNonTemporal
        | Kind::StoreRelease
        | Kind::Rmw
        | Kind::Create
        | Kind::Join
        | Kind::Mark
        | Kind::Written
        | Kind::Observed
        | Kind::Contents
        | Kind::Turn
        | Kind::Region => format!("{:#x}", r.value),
        Kind::Load
        | Kind::LoadAcquire
        | Kind::Clwb
        | Kind::Clflushopt
        | Kind::Clflush
        | Kind::Sfence
        | Kind::Mfence
        | Kind::Order
        | Kind::Lock
        | Kind::Unlock
        | Kind::Start
        | Kind::End => String::new(),
    }
}
