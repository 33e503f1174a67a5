//! Traces of other tools. What they lack is said in [`About::lacks`](crate::About::lacks).

mod champsim;
mod chunks;
mod damon;
mod dramsim;
mod drmemtrace;
pub(crate) mod gem5;
mod ktracker;
mod lackey;
mod oracle_general;
mod packed;
mod perf_mem;
pub(crate) mod pmemcheck;
pub(crate) mod ramulator;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_others;
mod text;
mod turns;

use crate::about::About;
use crate::error::TraceError;
use crate::record::{Kind, Record, Trace};
use chunks::Chunks;
use std::io::{BufRead, Read, Write};
use units::watch;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Valgrind's lackey tool with `--trace-mem=yes`.
    Lackey,
    /// ChampSim: 64-byte binary records.
    ChampSim,
    /// Ramulator: `0xADDRESS R|W`, `LD|ST ADDRESS`, or `INSTRUCTIONS READ [WRITTEN_BACK]`.
    Ramulator,
    /// Ramulator with sizes and what is stored: `LD ADDRESS BYTES`, `ST ADDRESS BYTES VALUE...`.
    RamulatorData,
    /// DRAMsim3 and DRAMSim2: `0xADDRESS READ|WRITE CYCLE`.
    DramSim,
    /// pmemcheck's store log.
    Pmemcheck,
    /// DynamoRIO's drmemtrace: entries of twelve bytes.
    Drmemtrace,
    /// gem5's packet trace.
    Gem5,
    /// DAMON: what `damo record` keeps, or its events as text.
    Damon,
    /// `perf script` of what `perf mem record` sampled.
    PerfMem,
    /// libCacheSim's oracleGeneral: requests for objects.
    OracleGeneral,
    /// KTracker's log: dirty lines of a process by windows, as `coreplane track` writes it.
    KTracker,
}

impl Format {
    /// The formats by name.
    pub const ALL: [(&'static str, Format); 12] = [
        ("lackey", Format::Lackey),
        ("champsim", Format::ChampSim),
        ("ramulator", Format::Ramulator),
        ("ramulator-data", Format::RamulatorData),
        ("dramsim3", Format::DramSim),
        ("pmemcheck", Format::Pmemcheck),
        ("drmemtrace", Format::Drmemtrace),
        ("gem5", Format::Gem5),
        ("damon", Format::Damon),
        ("perf-mem", Format::PerfMem),
        ("oracle-general", Format::OracleGeneral),
        ("ktracker", Format::KTracker),
    ];

    /// What a trace of this format does not say.
    fn lacks(self) -> &'static str {
        match self {
            Format::Lackey | Format::ChampSim | Format::Ramulator => {
                "store values, threads, flushes, fences, source places and persistent ranges"
            }
            Format::RamulatorData => "threads, flushes, fences, source places and persistent ranges",
            Format::Pmemcheck => pmemcheck::LACKS,
            Format::Drmemtrace => "store values, clwb, fences, source places and persistent ranges",
            Format::Gem5 | Format::DramSim => {
                "store values, threads, flushes, fences, instructions, source places and persistent ranges"
            }
            Format::Damon => {
                "which bytes of a page were touched, in which order, store values, and whether it stored"
            }
            Format::PerfMem => {
                "whatever lies between its samples, sizes, store values, flushes, fences and persistent ranges"
            }
            Format::KTracker => {
                "loads, store values, the order of stores within a window, how often a line was stored to, threads, flushes, \
                 fences, instructions, source places and persistent ranges"
            }
            Format::OracleGeneral => {
                "which bytes of a page were touched, store values, and whether it stored"
            }
        }
    }

    /// Whether it tells of pages and of nothing smaller.
    fn is_of_pages(self) -> bool {
        matches!(self, Format::Damon | Format::OracleGeneral)
    }

    fn about(self, name: &str) -> About {
        let format = Format::ALL.iter().find(|(_, format)| *format == self).map_or("", |(format, _)| format);
        let source = format!("{format} {name}");
        About { source, lacks: self.lacks().into(), pages: self.is_of_pages(), ..About::default() }
    }
}

/// Takes the records of a trace, one after the other.
pub(crate) type Sink<'s> = dyn FnMut(Record) -> Result<(), TraceError> + 's;

/// Records that are read into memory at most.
const MOST_IN_MEMORY: u64 = 1 << 16;

/// Reads a short trace of another tool into memory.
///
/// # Errors
/// When a line or record is not of that format; the message says which. When it has more than 65,536 records.
pub fn import(format: Format, bytes: &[u8], name: &str) -> Result<Trace, TraceError> {
    let mut trace = Trace { about: format.about(name), ..Trace::default() };
    let mut left = MOST_IN_MEMORY;
    read(format, &mut &*bytes, &mut |record| {
        left =
            left.checked_sub(1).ok_or_else(|| TraceError::unfit("it is too long to be read into memory"))?;
        trace.push(record);
        Ok(())
    })?;
    Ok(trace)
}

/// Reads a trace of another tool and writes it as a block file, a piece in memory at a time.
///
/// # Errors
/// As [`import`], or when nothing can be read or written.
pub fn import_blocks(
    format: Format,
    input: &mut dyn BufRead,
    name: &str,
    out: impl Write,
) -> Result<(), TraceError> {
    let mut chunks = Chunks::new(out, &format.about(name))?;
    read(format, input, &mut |record| chunks.push(record))?;
    chunks.finish()
}

fn read(format: Format, input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let mut done = 0u64;
    let mut counted = |record| {
        done += 1;
        if done.is_multiple_of(1 << 14) {
            watch::check();
        }
        sink(record)
    };
    let input = &mut *packed::unpacked(input)?;
    match format {
        Format::Lackey => lackey::read(input, &mut counted),
        Format::ChampSim => champsim::read(input, &mut counted),
        Format::Ramulator => text::lines(input, &mut |n, line| ramulator::line(n, line, &mut counted)),
        Format::RamulatorData => {
            text::lines(input, &mut |n, line| ramulator::data_line(n, line, &mut counted))
        }
        Format::DramSim => text::lines(input, &mut |n, line| dramsim::line(n, line, &mut counted)),
        Format::Pmemcheck => pmemcheck::read(input, &mut counted),
        Format::Drmemtrace => drmemtrace::read(input, &mut counted),
        Format::Gem5 => gem5::read(input, &mut counted),
        Format::Damon => damon::read(input, &mut counted),
        Format::PerfMem => perf_mem::read(input, &mut counted),
        Format::OracleGeneral => oracle_general::read(input, &mut counted),
        Format::KTracker => ktracker::read(input, &mut counted),
    }?;
    if done > 0 { Ok(()) } else { Err(TraceError::foreign("it has no memory access")) }
}

/// A record of the first thread without a value.
pub(crate) fn plain(kind: Kind, address: u64) -> Record {
    Record { address, value: 0, stamp: 0, location: 0, instructions: 0, thread: 0, kind, size: 0 }
}

/// Gives an access of so many bytes, cut where it crosses multiples of eight; instructions and stamp go to the first piece.
pub(crate) fn pieces(sink: &mut Sink<'_>, mut first: Record, bytes: u64) -> Result<(), TraceError> {
    if bytes > 0 && first.address.checked_add(bytes - 1).is_none() {
        let text = format!("an access of {bytes} bytes at {:#x} goes beyond the last address", first.address);
        return Err(TraceError::foreign(text));
    }
    let (mut at, mut left) = (first.address, bytes);
    while left > 0 {
        let size = 1 << left.min(8 - at % 8).ilog2();
        sink(Record { address: at, size: size as u8, ..first })?;
        (first.instructions, at, left) = (0, at.wrapping_add(size), left - size);
        if first.stamp > 0 {
            first = Record { stamp: 0, kind: turns::plain(first.kind), ..first };
        }
    }
    Ok(())
}

/// Flushes the lines of so many bytes, as the record does.
pub(crate) fn flush(sink: &mut Sink<'_>, record: Record, bytes: u64) -> Result<(), TraceError> {
    let mut line = record.address / 64 * 64;
    while line < record.address.saturating_add(bytes.max(1)) {
        sink(Record { address: line, ..record })?;
        // The last line ends where addresses do.
        let Some(next) = line.checked_add(64) else { return Ok(()) };
        line = next;
    }
    Ok(())
}

/// Takes a record and where it begins.
type Each<'e, const SIZE: usize> = dyn FnMut(usize, &[u8; SIZE]) -> Result<(), TraceError> + 'e;

/// Records of `SIZE` bytes each: gives where each begins, and its bytes.
pub(crate) fn fixed<const SIZE: usize>(
    input: &mut dyn BufRead,
    what: &str,
    each: &mut Each<'_, SIZE>,
) -> Result<(), TraceError> {
    let mut bytes = Vec::with_capacity(SIZE << 10);
    let mut at = 0;
    loop {
        watch::check();
        bytes.clear();
        (&mut *input).take((SIZE << 10) as u64).read_to_end(&mut bytes)?;
        let (records, rest) = bytes.as_chunks::<SIZE>();
        if !rest.is_empty() {
            let all = at + bytes.len();
            let text = format!("{all} bytes are no whole number of {SIZE}-byte {what} records");
            return Err(TraceError::damaged(all - rest.len(), text));
        }
        if records.is_empty() {
            return Ok(());
        }
        for record in records {
            each(at, record)?;
            at += SIZE;
        }
    }
}

/// The beginning of a line, for a message.
pub(crate) fn short(line: &str) -> String {
    line.chars().take(60).collect()
}
