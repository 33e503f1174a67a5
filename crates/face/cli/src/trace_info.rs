//! `coreplane trace info`: what a trace holds, counted.

use crate::Failure;
use crate::lines::say;
use crate::output::Table;
use crate::quantity::count;
use crate::record_check;
use crate::record_gone::{self, GONE};
use crate::recordings;
use serde_json::{Map, Value, json};
use std::path::Path;
use trace::space::{MEMORY, is_memory};
use trace::{About, Described, Differs, FileSummary, Kind};

/// Places that are shown of each thing that is not modelled.
const PLACES: usize = 3;

/// What a trace holds: as its file says, or, where it does not or `full` asks for it, by reading all. Whether all was read.
pub(crate) fn look(file: &Path, full: bool) -> Result<(Described, bool), Failure> {
    let said = recordings::described(file)?;
    if let (Some(said), false) = (&said, full) {
        return Ok((said.clone(), false));
    }
    let read = Described::of(&recordings::open(file)?);
    match said.filter(|said| said.summary != read.summary) {
        Some(_) => {
            let text = "its summary is not of its records: another program changed them; coreplane trace convert writes both anew";
            Err(Failure::BadInput(format!("{}: {text}", file.display())))
        }
        None => Ok((read, true)),
    }
}

/// What a trace holds, for programs.
pub(crate) fn summary(trace: &Described) -> Value {
    let Described { about, summary } = trace;
    let kinds = summary.kinds().map(|(k, n)| (k.name().to_string(), json!(n)));
    let calls = summary.calls.iter().map(|(c, n)| (c.name().to_string(), json!(n)));
    let differs = about.differs.iter().map(|d| json!({"file": d.file, "offset": d.offset, "bytes": d.bytes}));
    json!({
        "source": about.source,
        "lacks": about.lacks,
        "records": summary.records(),
        "threads": summary.threads,
        "hosts": about.hosts.len(),
        "instructions": summary.instructions,
        "kinds": kinds.collect::<Map<_, _>>(),
        "calls": calls.collect::<Map<_, _>>(),
        "files": summary.files.iter().map(|(n, f)| file_json(about, *n, f)).collect::<Vec<_>>(),
        "pm_ranges": summary.ranges.iter().map(|(a, n)| json!({"address": a, "bytes": n})).collect::<Vec<_>>(),
        "pm_stores": summary.files.values().map(|f| f.counts.stores).sum::<u64>(),
        "makes_durable": summary.makes_durable(),
        "unseen": summary.unseen.keys().map(|n| unseen_json(trace, *n)).collect::<Vec<_>>(),
        "differs": differs.collect::<Vec<_>>(),
        "elsewhere": about.files_elsewhere().map(|n| path(about, n)).collect::<Vec<_>>(),
        "notes": about.notes,
        "locations": about.locations.len(),
    })
}

/// The file's path, or which memory it is.
pub(crate) fn path(about: &About, number: u32) -> String {
    match about.path(number) {
        "" if is_memory(number) => format!("memory {}", number - MEMORY),
        "" => format!("file {number}"),
        path => trace::names::shown(path),
    }
}

fn file_json(about: &About, number: u32, file: &FileSummary) -> Value {
    let (first, f) = (about.files.get(&number), file.counts);
    json!({
        "number": number, "path": path(about, number), "identity": first.map(|f| &f.identity),
        "first_bytes": first.map(|f| f.bytes), "bytes": file.bytes, "maps": f.maps,
        "loads": f.loads, "stores": f.stores, "flushes": f.flushes, "written_bytes": f.written,
        "syncs": f.syncs, "calls": f.calls, "observed_bytes": f.observed,
    })
}

fn unseen_json(trace: &Described, number: u64) -> Value {
    let counts = &trace.summary.unseen[&number];
    json!({
        "text": text(&trace.about, number), "times": counts.times, "bytes": counts.bytes,
        "files": counts.files.iter().map(|(n, times)| json!({"file": n, "times": times})).collect::<Vec<_>>(),
        "places": counts.locations.iter().map(|(l, times)| json!({"place": place(&trace.about, *l), "times": times})).collect::<Vec<_>>(),
    })
}

fn text(about: &About, number: u64) -> String {
    about.unseen.get(&number).cloned().unwrap_or_else(|| format!("number {number}, without a text"))
}

fn place(about: &About, location: u32) -> String {
    about.locations.get(&location).cloned().unwrap_or_else(|| format!("code offset {location:#x}"))
}

/// What a trace holds, for people.
pub(crate) fn print(trace: &Described) {
    let Described { about, summary: counts } = trace;
    say!("recorded from: {}", about.source);
    if !about.lacks.is_empty() {
        say!("it lacks: {}", about.lacks);
    }
    let instructions = match counts.instructions {
        0 => "instructions between them not counted".to_string(),
        n => format!("{} instructions", count(n)),
    };
    let (threads, places) = (counts.threads.len(), about.locations.len());
    say!("{} records, {threads} threads, {places} source places, {instructions}", count(counts.records()));
    if !about.hosts.is_empty() {
        say!("{} hosts, a process each, in the order of their accesses", about.hosts.len());
    } else if threads > 1 {
        say!("of the threads' many schedules it is one");
    }
    about.notes.iter().for_each(|note| say!("{note}"));
    print_files(trace);
    print_doubts(trace);
    println!();
    let mut table = Table::new(["kind", "records"]);
    counts.kinds().for_each(|(kind, n)| table.row([kind.name().to_string(), count(n)]));
    table.print();
    if !counts.calls.is_empty() {
        println!();
        let mut table = Table::new(["call", "times"]);
        counts.calls.iter().for_each(|(call, n)| table.row([call.name().to_string(), count(*n)]));
        table.print();
    }
}

fn print_files(trace: &Described) {
    let Described { about, summary: counts } = trace;
    let mut table = Table::new(["file", "bytes", "maps", "loads", "stores", "flushes", "written", "syncs"]);
    let mut any = false;
    for (number, FileSummary { counts: f, bytes }) in &counts.files {
        any = true;
        let numbers = [*bytes, f.maps, f.loads, f.stores, f.flushes, f.written, f.syncs];
        table.row(std::iter::once(path(about, *number)).chain(numbers.map(count)));
    }
    println!();
    if !any {
        say!("no file was mapped for writing or written, and no memory declared persistent");
        return;
    }
    table.print();
    if !counts.makes_durable() {
        say!("without one flush, fence or sync: nothing says that any of it is durable");
    }
}

/// What is not modelled, was found only afterwards, or is not explained.
fn print_doubts(trace: &Described) {
    let Described { about, summary: counts } = trace;
    let observed = counts.kind(Kind::Observed);
    if observed > 0 {
        let bytes: u64 = counts.files.values().map(|f| f.counts.observed).sum();
        say!(
            "\ncode without hooks changed {} bytes of files, found at flushes, syncs and the end",
            count(bytes)
        );
    }
    for (number, c) in &counts.unseen {
        let places: Vec<String> = c
            .locations
            .iter()
            .take(PLACES)
            .map(|(l, times)| format!("{} ({times})", place(about, *l)))
            .collect();
        say!("\nnot modelled: {}: {} times, {} bytes", text(about, *number), count(c.times), count(c.bytes));
        say!("  at {}", places.join(", "));
    }
    for number in about.files_elsewhere() {
        say!("\nnot explained: {} is changed or made durable by other processes, too", path(about, number));
    }
    for d in about.differs.iter().take(10) {
        let Differs { file, .. } = d;
        if record_gone::is_whole(d) {
            say!("\nnot explained: {}: {GONE}", path(about, *file));
            continue;
        }
        say!(
            "\nnot explained: {} of {} differ from what is recorded",
            record_check::range(d),
            path(about, *file)
        );
    }
    if about.differs.len() > 10 {
        say!("  and {} more ranges", about.differs.len() - 10);
    }
}
