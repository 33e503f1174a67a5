//! `coreplane trace`: looks into traces, and converts them.

use crate::Failure;
use crate::args::{TraceArgs, TraceCommand};
use crate::output::{self, Table};
use crate::recordings;
use serde_json::json;
use std::path::Path;
use trace::import::Format as Foreign;
use trace::{About, Kind, Record, Recording};

pub(crate) fn trace(args: &TraceArgs) -> Result<(), Failure> {
    match &args.command {
        TraceCommand::Info { file, common } => {
            let trace = recordings::open(file)?;
            if output::is_json(common) {
                output::print_json(&summary(&trace));
            } else {
                print_info(&trace);
            }
        }
        TraceCommand::Head { file, records, common } => {
            head(&recordings::open(file)?, *records, output::is_json(common))
        }
        TraceCommand::Convert { from, input, output: to, salvage, export, common } => {
            let trace = match from {
                Some(name) => import(name, input)?,
                None if *salvage => salvaged(input)?,
                None => recordings::open(input)?,
            };
            match export.as_deref() {
                Some("ramulator") => save_text(to, &ramulator(&trace))?,
                Some("pmemcheck") => save_text(to, &trace::pmemcheck::write(&trace.to_trace())?)?,
                Some(name) => {
                    let text = format!("--to {name}: is not accepted; give ramulator or pmemcheck");
                    return Err(Failure::BadInput(text));
                }
                None => recordings::save(&trace, to, recordings::format_of(to)?)?,
            }
            if !common.quiet {
                let lacks = if trace.about().lacks.is_empty() {
                    String::new()
                } else {
                    format!("; it lacks {}", trace.about().lacks)
                };
                eprintln!("coreplane: {} records in {}{lacks}", trace.len(), to.display());
            }
        }
    }
    Ok(())
}

fn salvaged(path: &Path) -> Result<Recording, Failure> {
    let kept = recordings::prefix(path)?;
    let lacks = format!("its end ({} bytes after the last whole block)", kept.left_over());
    let about = About { lacks, ..kept.about().clone() };
    Ok(kept.with_about(about))
}

fn import(name: &str, path: &Path) -> Result<Recording, Failure> {
    let format: Option<(&str, Foreign)> = Foreign::ALL.into_iter().find(|(n, _)| *n == name);
    let Some((_, format)) = format else {
        let known = Foreign::ALL.map(|(n, _)| n).join(", ");
        return Err(Failure::BadInput(format!("--from {name}: is not accepted; give one of {known}")));
    };
    let bytes = std::fs::read(path).map_err(|e| Failure::BadInput(format!("{}: {e}", path.display())))?;
    let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    trace::import::import(format, &bytes, &file)
        .and_then(Recording::of_trace)
        .map_err(|e| Failure::BadInput(format!("{}: {e}", path.display())))
}

fn save_text(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    output::write(folder, &file, text.as_bytes())
}

/// What a trace holds, counted.
pub(crate) fn summary(trace: &Recording) -> serde_json::Value {
    let counts = trace.counts();
    let kinds = counts.kinds().map(|(k, n)| (k.name().to_string(), json!(n)));
    json!({
        "source": trace.about().source,
        "lacks": trace.about().lacks,
        "records": trace.len(),
        "threads": counts.threads,
        "kinds": kinds.collect::<serde_json::Map<_, _>>(),
        "pm_ranges": counts.ranges.iter().map(|(a, n)| json!({"address": a, "bytes": n})).collect::<Vec<_>>(),
        "pm_stores": counts.files.values().map(|f| f.stores).sum::<u64>(),
        "locations": trace.about().locations.len(),
    })
}

fn print_info(trace: &Recording) {
    let s = summary(trace);
    println!("recorded from: {}", trace.about().source);
    if !trace.about().lacks.is_empty() {
        println!("it lacks: {}", trace.about().lacks);
    }
    println!("{} records, {} threads, {} source places", s["records"], trace.threads(), s["locations"]);
    for (address, bytes) in &trace.counts().ranges {
        println!("persistent memory: {bytes} bytes at {address:#x}; {} stores to it", s["pm_stores"]);
    }
    println!();
    let mut table = Table::new(["kind", "records"]);
    for (kind, n) in s["kinds"].as_object().into_iter().flatten() {
        table.row([kind.clone(), n.to_string()]);
    }
    table.print();
}

fn head(trace: &Recording, count: usize, json: bool) {
    let rows: Vec<Record> = trace.records().take(count).collect();
    if json {
        let all = rows.iter().map(|r| {
            json!({"thread": r.thread, "kind": r.kind.name(), "size": r.size, "address": r.address,
                   "value": r.value, "stamp": r.stamp, "location": trace.about().locations.get(&r.location)})
        });
        return output::print_json(&all.collect());
    }
    let mut table = Table::new(["kind", "thread", "address", "size", "value", "stamp", "place"]);
    for r in rows {
        let place = trace.about().locations.get(&r.location).cloned().unwrap_or_default();
        table.row([
            r.kind.name().to_string(),
            r.thread.to_string(),
            format!("{:#x}", r.address),
            r.size.to_string(),
            if r.kind.has_value() { format!("{:#x}", r.value) } else { String::new() },
            if r.kind.has_stamp() { r.stamp.to_string() } else { String::new() },
            place,
        ]);
    }
    table.print();
}

/// Loads and stores as Ramulator's load-store trace; values, threads and order between threads are lost.
fn ramulator(trace: &Recording) -> String {
    let word = |k: Kind| match k {
        Kind::Load | Kind::LoadAcquire => Some("LD"),
        Kind::Store | Kind::StoreNonTemporal | Kind::StoreRelease | Kind::Rmw => Some("ST"),
        _ => None,
    };
    trace.records().filter_map(|r| Some(format!("{} {:#x}\n", word(r.kind)?, r.address))).collect()
}
