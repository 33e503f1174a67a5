//! What is fuzzed: readers of files that others made, and what is done with what they read. Each target takes bytes and may
//! refuse them; it may not panic, hang, or take memory without bound. `crates/lab/check/tests/checks/fuzz_targets.rs` runs the same
//! functions on the seeds and on damaged copies of them.

use check::crash::{self, Persistency, Recorded, Tracker};
use check::litmus;
use machine::{Campaign, Description, RunOptions, WorkloadDescription};
use std::collections::BTreeMap;
use trace::space::Layout;
use trace::{FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};

/// What is done with bytes.
pub(crate) type Target = fn(&[u8]);

/// Name and function.
pub(crate) const TARGETS: [(&str, Target); 6] = [
    ("recording", recording),
    ("foreign", foreign),
    ("litmus", litmus_tests),
    ("description", description),
    ("replay", replay),
    ("crash", crash_log),
];

/// Records of a recording that is run: one that is larger shows nothing more.
const RECORDS: u64 = 4000;

/// Power is cut before this many events of a log.
const EVENTS: usize = 2000;

/// Machines on which recordings are run.
const MACHINES: [&str; 4] = ["intel", "asap-rp", "pberry", "amf"];

/// Block files and Parquet, read whole and for what they say of themselves.
fn recording(bytes: &[u8]) {
    _ = trace::read(bytes.to_vec());
    _ = Recording::described(Box::new(bytes.to_vec()));
    if let Ok(whole) = Recording::prefix(Box::new(bytes.to_vec())) {
        _ = whole.to_trace();
    }
}

/// Traces of other tools.
fn foreign(bytes: &[u8]) {
    for (_, format) in trace::import::Format::ALL {
        _ = trace::import::import(format, bytes, "x");
    }
}

/// Litmus tests, and the images of small ones.
fn litmus_tests(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for block in litmus::blocks(text) {
        let Ok(test) = litmus::parse(&block.text) else { continue };
        let small = test.threads.len() <= 2 && test.threads.iter().all(|t| t.len() <= 4);
        let options = litmus::Options { method: litmus::Method::View, failed_rmw_fences: false };
        for (_, model) in litmus::MODELS.iter().filter(|_| small) {
            _ = litmus::images(&test, *model, options);
        }
    }
}

/// Machines, campaigns, page streams, visits.
fn description(bytes: &[u8]) {
    _ = workloads::PageStream::parse(bytes);
    _ = workloads::Visits::parse(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(machine) = Description::parse("mine", "mine.toml", text) {
        _ = machine.check();
    }
    if let Ok(campaign) = Campaign::parse("mine.toml", text) {
        _ = campaign.points().take(100).count();
    }
}

/// A small recording: the bytes as a file, or as records of their own coding, since what is packed and summed up in a file cannot
/// be changed here and there.
fn small(bytes: &[u8]) -> Option<Recording> {
    let opened = Recording::open(Box::new(bytes.to_vec())).ok();
    let recording = opened.or_else(|| Recording::of_trace(coded(bytes)).ok())?;
    (recording.len() <= RECORDS && recording.threads() <= 8).then_some(recording)
}

/// Records of twelve bytes: kind, thread and size, where, which call, offset, value.
fn coded(bytes: &[u8]) -> Trace {
    let mut trace = Trace::default();
    for (number, chunk) in bytes.as_chunks::<12>().0.iter().take(RECORDS as usize).enumerate() {
        let [kind, form, place, call, rest @ ..] = *chunk;
        let Some(kind) = Kind::from_number(kind % 32) else { continue };
        let word = u64::from_le_bytes(rest);
        let (offset, number_of) = (word & 0xFFFF_FFFF, word >> 32);
        let in_file = FILE_SPACE | u64::from(place & 3) << FILE_SHIFT | offset;
        let address = match (kind, place >> 6) {
            (Kind::Call | Kind::Written | Kind::Contents, 0..3) | (_, 3) => in_file,
            (_, 2) => u64::MAX - offset,
            _ => 0x1000_0000 + offset,
        };
        let value = if kind == Kind::Call {
            number_of << 8 | u64::from(call % 16)
        } else if kind == Kind::Operand && call & 1 == 0 {
            FILE_SPACE | u64::from(place & 3) << FILE_SHIFT | number_of
        } else {
            number_of
        };
        let size = if form & 0x80 == 0 { 1 << (form >> 4 & 3) } else { form >> 3 & 15 };
        trace.push(Record {
            address,
            value: if kind.has_value() { value } else { 0 },
            stamp: if kind.has_stamp() { number as u32 + 1 } else { 0 },
            location: 0,
            instructions: u32::from(call),
            thread: u16::from(form & 3),
            kind,
            size,
        });
    }
    trace
}

/// A recording, run.
fn replay(bytes: &[u8]) {
    for name in MACHINES {
        let Some(recording) = small(bytes) else { return };
        let Ok(machine) = Description::preset(name) else { return };
        let workload = WorkloadDescription::replay("trace:x", recording);
        _ = machine::run(&machine, &workload, &RunOptions { seed: 1, ..RunOptions::default() });
    }
}

/// What a power failure could leave of a recording.
fn crash_log(bytes: &[u8]) {
    let Some(recording) = small(bytes) else { return };
    let layout = Layout::new(recording.about(), &recording.counts().extents, 1 << 40);
    let named = &crash::Facts::of(&recording).named;
    let log = crash::of_trace(&recording, &Recorded { layout: &layout, named, begins: &[] });
    _ = crash::persistence_lint(&log);
    for model in [Persistency::Px86, Persistency::Epoch] {
        let mut tracker = Tracker::new(&log, model);
        while tracker.at() < EVENTS && tracker.step() {
            if tracker.at().is_multiple_of(64) {
                look(&tracker);
            }
        }
        look(&tracker);
    }
}

/// The image in which nothing pending is kept.
fn look(tracker: &Tracker<'_>) {
    let candidate = tracker.candidate(&BTreeMap::new());
    _ = candidate.pages().count();
    _ = candidate.files().len();
}
