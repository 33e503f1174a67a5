//! `coreplane trace info`: what a trace holds, counted.

use crate::lines::say;
use crate::output::Table;
use crate::quantity::count;
use crate::record_check;
use serde_json::{Map, Value, json};
use trace::space::{MEMORY, is_memory};
use trace::{Counts, Differs, FileCounts, Kind, Recording};

/// Places that are shown of each thing that is not modelled.
const PLACES: usize = 3;

/// What a trace holds, for programs.
pub(crate) fn summary(trace: &Recording) -> Value {
    let (about, counts) = (trace.about(), trace.counts());
    let kinds = counts.kinds().map(|(k, n)| (k.name().to_string(), json!(n)));
    let calls = counts.calls.iter().map(|(c, n)| (c.name().to_string(), json!(n)));
    let differs = about.differs.iter().map(|d| json!({"file": d.file, "offset": d.offset, "bytes": d.bytes}));
    json!({
        "source": about.source,
        "lacks": about.lacks,
        "records": trace.len(),
        "threads": counts.threads,
        "hosts": about.hosts.len(),
        "instructions": counts.instructions,
        "kinds": kinds.collect::<Map<_, _>>(),
        "calls": calls.collect::<Map<_, _>>(),
        "files": files(trace).map(|(n, f)| file_json(trace, n, &f)).collect::<Vec<_>>(),
        "pm_ranges": counts.ranges.iter().map(|(a, n)| json!({"address": a, "bytes": n})).collect::<Vec<_>>(),
        "pm_stores": counts.files.values().map(|f| f.stores).sum::<u64>(),
        "makes_durable": counts.makes_durable(),
        "unseen": counts.unseen.keys().map(|n| unseen_json(trace, *n)).collect::<Vec<_>>(),
        "differs": differs.collect::<Vec<_>>(),
        "notes": about.notes,
        "locations": about.locations.len(),
    })
}

/// Files that are described or met, and what was done to each.
fn files(trace: &Recording) -> impl Iterator<Item = (u32, FileCounts)> {
    let mut all: std::collections::BTreeMap<u32, FileCounts> =
        trace.about().files.keys().map(|n| (*n, FileCounts::default())).collect();
    all.extend(trace.counts().files.iter().map(|(n, f)| (*n, *f)));
    all.into_iter()
}

/// The file's path, or which memory it is.
pub(crate) fn path(trace: &Recording, number: u32) -> String {
    match trace.about().path(number) {
        "" if is_memory(number) => format!("memory {}", number - MEMORY),
        "" => format!("file {number}"),
        path => path.to_string(),
    }
}

/// The file's size at the end; for memory, what was declared.
fn bytes(counts: &Counts, number: u32) -> u64 {
    let reached = || counts.extents.by_file().get(&number).copied().unwrap_or(0);
    if is_memory(number) { reached() } else { counts.sizes.of(number) }
}

fn file_json(trace: &Recording, number: u32, f: &FileCounts) -> Value {
    let first = trace.about().files.get(&number);
    json!({
        "number": number, "path": path(trace, number), "identity": first.map(|f| &f.identity),
        "first_bytes": first.map(|f| f.bytes), "bytes": bytes(trace.counts(), number), "maps": f.maps,
        "loads": f.loads, "stores": f.stores, "flushes": f.flushes, "written_bytes": f.written,
        "syncs": f.syncs, "calls": f.calls, "observed_bytes": f.observed,
    })
}

fn unseen_json(trace: &Recording, number: u64) -> Value {
    let counts = &trace.counts().unseen[&number];
    json!({
        "text": text(trace, number), "times": counts.times, "bytes": counts.bytes,
        "files": counts.files.iter().map(|(n, times)| json!({"file": n, "times": times})).collect::<Vec<_>>(),
        "places": counts.locations.iter().map(|(l, times)| json!({"place": place(trace, *l), "times": times})).collect::<Vec<_>>(),
    })
}

fn text(trace: &Recording, number: u64) -> String {
    trace.about().unseen.get(&number).cloned().unwrap_or_else(|| format!("number {number}, without a text"))
}

fn place(trace: &Recording, location: u32) -> String {
    trace.about().locations.get(&location).cloned().unwrap_or_else(|| format!("code offset {location:#x}"))
}

/// What a trace holds, for people.
pub(crate) fn print(trace: &Recording) {
    let (about, counts) = (trace.about(), trace.counts());
    say!("recorded from: {}", about.source);
    if !about.lacks.is_empty() {
        say!("it lacks: {}", about.lacks);
    }
    let instructions = match counts.instructions {
        0 => "instructions between them not counted".to_string(),
        n => format!("{} instructions", count(n)),
    };
    let (threads, places) = (trace.threads(), about.locations.len());
    say!("{} records, {threads} threads, {places} source places, {instructions}", count(trace.len()));
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

fn print_files(trace: &Recording) {
    let counts = trace.counts();
    let mut table = Table::new(["file", "bytes", "maps", "loads", "stores", "flushes", "written", "syncs"]);
    let mut any = false;
    for (number, f) in files(trace) {
        any = true;
        let numbers = [bytes(counts, number), f.maps, f.loads, f.stores, f.flushes, f.written, f.syncs];
        table.row(std::iter::once(path(trace, number)).chain(numbers.map(count)));
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
fn print_doubts(trace: &Recording) {
    let (about, counts) = (trace.about(), trace.counts());
    let observed = counts.kind(Kind::Observed);
    if observed > 0 {
        let bytes: u64 = counts.files.values().map(|f| f.observed).sum();
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
            .map(|(l, times)| format!("{} ({times})", place(trace, *l)))
            .collect();
        say!("\nnot modelled: {}: {} times, {} bytes", text(trace, *number), count(c.times), count(c.bytes));
        say!("  at {}", places.join(", "));
    }
    for d in about.differs.iter().take(10) {
        let Differs { file, .. } = d;
        say!(
            "\nnot explained: {} of {} differ from what is recorded",
            record_check::range(d),
            path(trace, *file)
        );
    }
    if about.differs.len() > 10 {
        say!("  and {} more ranges", about.differs.len() - 10);
    }
}
