//! Traces for other tools.

use crate::error::TraceError;
use crate::import::{gem5, pmemcheck, ramulator};
use crate::record::{Call, Kind};
use crate::recording::Recording;
use crate::scan::Counts;
use std::collections::BTreeMap;
use std::io::Write;

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Ramulator: `LD|ST ADDRESS`.
    Ramulator,
    /// Ramulator 2.1 with sizes and what is stored.
    RamulatorData,
    /// pmemcheck's store log.
    Pmemcheck,
    /// gem5's packet trace.
    Gem5,
}

impl Format {
    /// The formats by name.
    pub const ALL: [(&'static str, Format); 4] = [
        ("ramulator", Format::Ramulator),
        ("ramulator-data", Format::RamulatorData),
        ("pmemcheck", Format::Pmemcheck),
        ("gem5", Format::Gem5),
    ];

    /// Whether it says what is stored.
    fn has_values(self) -> bool {
        match self {
            Format::RamulatorData | Format::Pmemcheck => true,
            Format::Ramulator | Format::Gem5 => false,
        }
    }

    /// Whether it says which memory is persistent.
    fn has_ranges(self) -> bool {
        match self {
            Format::Pmemcheck => true,
            Format::Ramulator | Format::RamulatorData | Format::Gem5 => false,
        }
    }
}

/// What was written, and what was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Accesses, flushes and fences.
    pub records: u64,
    /// What of the recording the format does not have, in words; empty where nothing is lost.
    pub lacks: String,
}

/// Writes a recording in another tool's format.
///
/// # Errors
/// When it has nothing that the format can say, or nothing can be written.
pub fn write(format: Format, recording: &Recording, out: &mut dyn Write) -> Result<Written, TraceError> {
    let of_accesses = |records| (records, no_accesses(recording.counts()));
    let (records, left) = match format {
        Format::Ramulator => of_accesses(ramulator::write(recording, out)?),
        Format::RamulatorData => of_accesses(ramulator::write_data(recording, out)?),
        Format::Pmemcheck => pmemcheck::write(recording, out)?,
        Format::Gem5 => of_accesses(gem5::write(recording, out)?),
    };
    Ok(Written { records, lacks: lacks(format, recording, &left) })
}

/// How many records of each kind do not go out.
pub(crate) type Left = BTreeMap<Kind, u64>;

/// What does not go out where accesses alone do.
fn no_accesses(counts: &Counts) -> Left {
    counts.kinds().filter(|(kind, _)| !kind.is_load() && !kind.changes_memory()).collect()
}

/// The same, packed with gzip.
///
/// # Errors
/// As [`write`].
pub fn write_packed(
    format: Format,
    recording: &Recording,
    out: &mut dyn Write,
) -> Result<Written, TraceError> {
    let mut packer = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    let written = write(format, recording, &mut packer)?;
    packer.finish()?;
    Ok(written)
}

/// What the recording has and its file in another format has not. What it lacks itself is said of it already.
fn lacks(format: Format, recording: &Recording, left: &Left) -> String {
    let all = [told(format, recording), records(left, recording.counts()), calls(recording.counts())];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What is said beside the records or with them.
fn told(format: Format, recording: &Recording) -> Option<String> {
    let counts = recording.counts();
    let stores = counts.kinds().any(|(kind, _)| kind.changes_memory());
    let threads = counts.threads.iter().filter(|records| **records > 0).count();
    let flushes = counts.kinds().any(|(kind, _)| kind.is_flush());
    let all = [
        ("store values", stores && !format.has_values()),
        ("threads", threads > 1),
        ("instructions", counts.instructions > 0),
        ("source places", !counts.locations.is_empty()),
        // Others leave flushes out, which are then counted among the records.
        ("kinds of flushes", flushes && format == Format::Pmemcheck),
        ("persistent ranges", !counts.ranges.is_empty() && !format.has_ranges()),
    ];
    let lost = |(what, is_lost): &(&str, bool)| *is_lost && !recording.about().lacks.contains(*what);
    let names: Vec<&str> = all.iter().filter(|one| lost(one)).map(|(what, _)| *what).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Records that do not go out, by kind.
fn records(left: &Left, counts: &Counts) -> Option<String> {
    let all: u64 = counts.kinds().map(|(_, n)| n).sum();
    let sum: u64 = left.values().sum();
    let names: Vec<String> = left.iter().map(|(kind, n)| format!("{n} {}", kind.name())).collect();
    (sum > 0).then(|| format!("{sum} of {all} records ({})", names.join(", ")))
}

/// Calls of the kernel, which no other tool's format has.
fn calls(counts: &Counts) -> Option<String> {
    let told = |which: &[Call], what: &str| {
        let n: u64 = which.iter().filter_map(|call| counts.calls.get(call)).sum();
        (n > 0).then(|| format!("{n} of {what}"))
    };
    let all = [
        told(&[Call::Write], "write and its like"),
        told(&[Call::Resize, Call::Allocate], "ftruncate, fallocate and O_TRUNC"),
        told(&[Call::Msync, Call::Fdatasync, Call::Fsync, Call::Sync], "msync, fsync and their like"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("calls of the kernel among them: {}", all.join(", ")))
}
