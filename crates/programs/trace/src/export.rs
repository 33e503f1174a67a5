//! Traces for other tools.

use crate::error::TraceError;
use crate::import::{gem5, pmemcheck, ramulator};
use crate::record::Call;
use crate::recording::Recording;
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
}

/// What was written, and what was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Accesses, flushes and fences.
    pub records: u64,
    /// What of the recording no such format has, in words; empty where nothing is lost but what its format never has.
    pub lacks: String,
}

/// Writes a recording in another tool's format.
///
/// # Errors
/// When it has nothing that the format can say, or nothing can be written.
pub fn write(format: Format, recording: &Recording, out: &mut dyn Write) -> Result<Written, TraceError> {
    let records = match format {
        Format::Ramulator => ramulator::write(recording, out),
        Format::RamulatorData => ramulator::write_data(recording, out),
        Format::Pmemcheck => pmemcheck::write(recording, out),
        Format::Gem5 => gem5::write(recording, out),
    }?;
    Ok(Written { records, lacks: lacks(recording) })
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

/// Calls of the kernel are in no other tool's format.
fn lacks(recording: &Recording) -> String {
    let calls = &recording.counts().calls;
    let told = |which: &[Call], what: &str| {
        let n: u64 = which.iter().filter_map(|call| calls.get(call)).sum();
        (n > 0).then(|| format!("{n} of {what}"))
    };
    let all = [
        told(&[Call::Write], "write and its like"),
        told(&[Call::Resize, Call::Allocate], "ftruncate, fallocate and O_TRUNC"),
        told(&[Call::Msync, Call::Fdatasync, Call::Fsync, Call::Sync], "msync, fsync and their like"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!("calls of the kernel: {}", all.join(", ")) }
}
