//! Traces for other tools.

use crate::error::TraceError;
use crate::import::{gem5, pmemcheck, ramulator};
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

/// Writes a recording in another tool's format.
///
/// # Errors
/// When it has nothing that the format can say, or nothing can be written.
pub fn write(format: Format, recording: &Recording, out: &mut dyn Write) -> Result<(), TraceError> {
    match format {
        Format::Ramulator => ramulator::write(recording, out),
        Format::RamulatorData => ramulator::write_data(recording, out),
        Format::Pmemcheck => pmemcheck::write(recording, out),
        Format::Gem5 => gem5::write(recording, out),
    }
}

/// The same, packed with gzip.
///
/// # Errors
/// As [`write`].
pub fn write_packed(format: Format, recording: &Recording, out: &mut dyn Write) -> Result<(), TraceError> {
    let mut packer = flate2::write::GzEncoder::new(out, flate2::Compression::default());
    write(format, recording, &mut packer)?;
    packer.finish()?;
    Ok(())
}
