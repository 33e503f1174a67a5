//! pmemcheck's store log (`--log-stores=yes`), which pmreorder reads: entries between bars.
//!
//! ```text
//! START|REGISTER_FILE;path;0xbase;0xsize;0xoffset|STORE;0xaddress;0xvalue;0xsize|FLUSH;0xaddress;0xsize|FENCE|STOP
//! ```

use super::{Sink, flush, plain, text};
use crate::error::TraceError;
use crate::export::Left;
use crate::record::{Kind, Record};
use crate::recording::Recording;
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use units::watch;

/// What a log does not say.
pub(crate) const LACKS: &str = "loads, threads, source places and kinds of flushes";

/// What flushes are taken for, since a log does not say: what PMDK executes where the processor has it.
const FLUSHED_BY: Kind = Kind::Clwb;

/// Reads a log. Entries of other kinds (transactions, markers) are left out.
pub(crate) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let (mut at, mut line, mut starts) = (0, 1, true);
    let (mut any, mut registered) = (false, false);
    while let Some(piece) = text::piece(input, b"|\n", &mut at)? {
        let whole = piece.strip_suffix(['|', '\n']).unwrap_or(&piece);
        let entry = if starts { unprefixed(whole) } else { whole };
        let bad = |what: &str| TraceError::line(line, format!("\"{}\": {what}", cut(entry)));
        let fields: Vec<&str> = entry.trim().split(';').collect();
        let number = |i: usize| {
            let text = fields.get(i).ok_or_else(|| bad("a field is missing"))?.trim();
            let digits = text.strip_prefix("0x").ok_or_else(|| bad("a number begins with 0x"))?;
            u64::from_str_radix(digits, 16).map_err(|_| bad("not a number of 64 bits"))
        };
        let mut known = true;
        match fields[0] {
            "STORE" => {
                let (address, value, size) = (number(1)?, number(2)?, number(3)?);
                if !(1..=8).contains(&size) {
                    return Err(bad("a store has 1 to 8 bytes"));
                }
                store(sink, address, value, size)?;
            }
            "FLUSH" => {
                let (address, size) = (number(1)?, number(2)?);
                if size > 1 << 30 {
                    return Err(bad("a flush of more than 1 GiB"));
                }
                flush(sink, plain(FLUSHED_BY, address), size)?;
            }
            "FENCE" => sink(plain(Kind::Sfence, 0))?,
            "REGISTER_FILE" => {
                registered = true;
                sink(Record { value: number(3)?, ..plain(Kind::Map, number(2)?) })?;
            }
            _ => known = false,
        }
        any |= known;
        starts = piece.ends_with('\n');
        line += usize::from(starts);
        watch::check();
    }
    if any && !registered {
        return Err(TraceError::unfit(
            "the log registers no file, so nothing says where persistent memory is",
        ));
    }
    Ok(())
}

/// Valgrind puts `==1234== ` before what a tool prints.
fn unprefixed(line: &str) -> &str {
    match line.strip_prefix("==").and_then(|rest| rest.split_once("== ")) {
        Some((_, rest)) => rest,
        None => line,
    }
}

fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

fn store(sink: &mut Sink<'_>, address: u64, value: u64, size: u64) -> Result<(), TraceError> {
    let mut at = 0;
    while at < size {
        let left = (size - at).min(8 - address.wrapping_add(at) % 8);
        let piece = 1u64 << (63 - u64::from(left.leading_zeros()));
        let bits = value >> (8 * at) & (u64::MAX >> (64 - 8 * piece));
        sink(Record { value: bits, size: piece as u8, ..plain(Kind::Store, address.wrapping_add(at)) })?;
        at += piece;
    }
    Ok(())
}

/// Flushes of which a log keeps that no fence came after them yet.
const MOST_WAITING: usize = 1 << 12;

/// A log that is written.
struct Log<'a> {
    out: &'a mut dyn Write,
    /// Stores, flushes and fences so far.
    entries: u64,
    /// Flushes without a fence of their thread, by thread and line: first byte, and the one behind the last. A fence of
    /// pmemcheck's is one for every flush before it, the program's for its thread's alone, and a clflush's for its line
    /// alone: each flush is written when it is fenced, or before its bytes are stored to again.
    waiting: BTreeMap<u16, BTreeMap<u64, Vec<(u64, u64)>>>,
    /// How many there are.
    count: usize,
}

/// The parts of so many bytes that lie in a line each: first byte, and the one behind the last.
fn parts(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = address.saturating_add(bytes.max(1));
    (address / 64..=(end - 1) / 64)
        .map(move |line| (address.max(line * 64), end.min((line * 64).saturating_add(64))))
}

impl Log<'_> {
    fn entry(&mut self, text: &str) -> Result<(), TraceError> {
        self.entries += 1;
        Ok(write!(self.out, "|{text}")?)
    }

    fn flush(&mut self, from: u64, to: u64) -> Result<(), TraceError> {
        self.entry(&format!("FLUSH;{from:#x};{:#x}", to - from))
    }

    /// Writes what waits of some bytes of a line, of all threads.
    fn no_longer_waits(&mut self, from: u64, to: u64) -> Result<(), TraceError> {
        let mut flushed = Vec::new();
        for lines in self.waiting.values_mut() {
            let Some(of_line) = lines.get_mut(&(from / 64)) else { continue };
            flushed.extend(of_line.extract_if(.., |(a, b)| *a < to && from < *b));
        }
        self.count -= flushed.len();
        flushed.iter().try_for_each(|(from, to)| self.flush(*from, *to))
    }

    /// What is stored after a flush is not flushed by it.
    fn store(&mut self, r: &Record) -> Result<(), TraceError> {
        parts(r.address, r.size.into()).try_for_each(|(from, to)| self.no_longer_waits(from, to))?;
        self.entry(&format!("STORE;{:#x};{:#x};{:#x}", r.address, r.value, r.size))
    }

    /// Writes all that waits of a thread.
    fn settle(&mut self, thread: u16) -> Result<(), TraceError> {
        let flushed: Vec<_> =
            self.waiting.remove(&thread).into_iter().flatten().flat_map(|(_, of)| of).collect();
        self.count -= flushed.len();
        flushed.iter().try_for_each(|(from, to)| self.flush(*from, *to))
    }

    fn settle_all(&mut self) -> Result<(), TraceError> {
        let threads: Vec<u16> = self.waiting.keys().copied().collect();
        threads.into_iter().try_for_each(|thread| self.settle(thread))
    }

    fn fence(&mut self, thread: u16) -> Result<(), TraceError> {
        self.settle(thread)?;
        self.entry("FENCE")
    }

    fn waits(&mut self, thread: u16, address: u64, bytes: u64) -> Result<(), TraceError> {
        if self.count >= MOST_WAITING {
            self.settle_all()?;
        }
        for (from, to) in parts(address, bytes) {
            let of_line = self.waiting.entry(thread).or_default().entry(from / 64).or_default();
            match of_line.last_mut() {
                // Stores past the caches fill a line one after the other.
                Some(last) if last.1 == from => last.1 = to,
                _ => {
                    of_line.push((from, to));
                    self.count += 1;
                }
            }
        }
        Ok(())
    }

    /// A record of persistent memory, and whether it is in the log.
    fn persistent(&mut self, r: &Record) -> Result<bool, TraceError> {
        let line = r.address / 64 * 64;
        match r.kind {
            // What code without hooks stored stands where it was found, before the flush that makes it durable.
            Kind::Store | Kind::StoreRelease | Kind::Rmw | Kind::Observed => self.store(r)?,
            // It needs no flush, and a fence.
            Kind::StoreNonTemporal => {
                self.store(r)?;
                self.waits(r.thread, r.address, r.size.into())?;
            }
            // It waits for itself, and for no other.
            Kind::Clflush => {
                self.no_longer_waits(line, line.saturating_add(64))?;
                self.flush(line, line.saturating_add(64))?;
                self.entry("FENCE")?;
            }
            Kind::Clwb | Kind::Clflushopt => self.waits(r.thread, line, 64)?,
            Kind::Load
            | Kind::LoadAcquire
            | Kind::Sfence
            | Kind::Mfence
            | Kind::Order
            | Kind::Lock
            | Kind::Unlock
            | Kind::Create
            | Kind::Join
            | Kind::Map
            | Kind::Unmap
            | Kind::Start
            | Kind::End
            | Kind::Mark
            | Kind::Operand
            | Kind::Call
            | Kind::Written
            | Kind::Contents
            | Kind::Unseen
            | Kind::Turn
            | Kind::Region => return Ok(false),
        }
        Ok(true)
    }
}

/// Writes a log: what the program did to persistent memory, its threads in the order of their synchronisation. How many
/// stores, flushes and fences it has, and what is not in it. What orders and waits for nothing (`order`) is not: a fence of the
/// log's completes flushes.
///
/// # Errors
/// When the trace has no persistent range, or nothing can be written.
pub(crate) fn write(recording: &Recording, out: &mut dyn Write) -> Result<(u64, Left), TraceError> {
    let ranges = &recording.counts().ranges;
    if ranges.is_empty() {
        return Err(TraceError::unfit("the trace has no persistent range"));
    }
    out.write_all(b"START")?;
    for (index, (from, bytes)) in ranges.iter().enumerate() {
        write!(out, "|REGISTER_FILE;image.{index};{from:#x};{bytes:#x};0x0")?;
    }
    let mut log = Log { out, entries: 0, waiting: BTreeMap::new(), count: 0 };
    let mut left = Left::new();
    for r in recording.in_order() {
        // A locked operation is a fence wherever its word lies.
        let is_fence = matches!(r.kind, Kind::Sfence | Kind::Mfence | Kind::Rmw);
        if is_fence {
            log.fence(r.thread)?;
        }
        let is_inside = ranges.iter().any(|(from, bytes)| r.address.wrapping_sub(*from) < *bytes);
        let is_kept = is_inside && log.persistent(&r)?;
        if !is_kept && !is_fence {
            *left.entry(r.kind).or_default() += 1;
        }
    }
    log.settle_all()?;
    log.out.write_all(b"|STOP\n")?;
    Ok((log.entries, left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{Format, import};
    use crate::record::Trace;

    fn read(text: &str) -> Result<Trace, TraceError> {
        import(Format::Pmemcheck, text.as_bytes(), "x")
    }

    const LOG: &str = "==12== START|REGISTER_FILE;/mnt/pm;0x1000;0x2000;0x0|STORE;0x1003;0x112233;0x3|FLUSH;0x1000;0x80|FENCE|STORE;0x1040;0x1;0x8|STOP";

    #[test]
    fn a_log_reads_and_writes_the_same() {
        let trace = read(LOG).unwrap();
        assert_eq!(trace.pm_ranges(), [(0x1000, 0x2000)]);
        let stores: Vec<(u64, u64, u8)> =
            trace.records().filter(|r| r.kind == Kind::Store).map(|r| (r.address, r.value, r.size)).collect();
        assert_eq!(stores, [(0x1003, 0x2233, 2), (0x1005, 0x11, 1), (0x1040, 1, 8)]);
        let mut log = Vec::new();
        write(&Recording::of_trace(trace.clone()).unwrap(), &mut log).unwrap();
        assert_eq!(read(&String::from_utf8(log).unwrap()).unwrap(), trace);
    }

    /// The entries between START and STOP of what some records become, but for the file.
    fn written(records: &[(u16, Kind, u64)]) -> Vec<String> {
        let mut trace = read("START|REGISTER_FILE;x;0x1000;0x1000;0x0|STOP").unwrap();
        for (thread, kind, address) in records {
            let record = Record { thread: *thread, size: 8, ..plain(*kind, *address) };
            trace.push(record);
        }
        let mut log = Vec::new();
        write(&Recording::of_trace(trace).unwrap(), &mut log).unwrap();
        let log = String::from_utf8(log).unwrap();
        log.trim().split('|').skip(2).filter(|e| *e != "STOP").map(str::to_string).collect()
    }

    #[test]
    fn a_fence_is_one_for_its_threads_flushes_alone() {
        // clflush waits for its own line, and leaves the one flushed before it without a fence.
        let log = written(&[(0, Kind::Clwb, 0x1000), (0, Kind::Clflush, 0x1040), (0, Kind::Store, 0x1080)]);
        assert_eq!(log, ["FLUSH;0x1040;0x40", "FENCE", "STORE;0x1080;0x0;0x8", "FLUSH;0x1000;0x40"]);
        // A locked operation fences, wherever its word lies.
        let log = written(&[(0, Kind::Clwb, 0x1000), (0, Kind::Rmw, 0x9000), (0, Kind::Store, 0x1080)]);
        assert_eq!(log, ["FLUSH;0x1000;0x40", "FENCE", "STORE;0x1080;0x0;0x8"]);
        // What is stored after a flush is not flushed by it.
        let log = written(&[(0, Kind::Clwb, 0x1000), (0, Kind::Store, 0x1008), (0, Kind::Sfence, 0)]);
        assert_eq!(log, ["FLUSH;0x1000;0x40", "STORE;0x1008;0x0;0x8", "FENCE"]);
        // Stores past the caches are flushed a line at a time.
        let copied =
            [(0, Kind::StoreNonTemporal, 0x1000), (0, Kind::StoreNonTemporal, 0x1008), (0, Kind::Sfence, 0)];
        let stores = ["STORE;0x1000;0x0;0x8", "STORE;0x1008;0x0;0x8"];
        assert_eq!(written(&copied), [&stores[..], &["FLUSH;0x1000;0x10", "FENCE"]].concat());
    }

    #[test]
    fn what_orders_without_waiting_completes_no_flush_and_is_left_out_as_other_memory_is() {
        let records = [
            (0, Kind::Store, 0x1000),
            (0, Kind::Store, 0x9000),
            (0, Kind::Clwb, 0x1000),
            (0, Kind::Order, 0),
            (0, Kind::Clwb, 0x9000),
        ];
        assert_eq!(written(&records), ["STORE;0x1000;0x0;0x8", "FLUSH;0x1000;0x40"]);
        let mut trace = read("START|REGISTER_FILE;x;0x1000;0x1000;0x0|STOP").unwrap();
        records.iter().for_each(|(_, kind, at)| trace.push(Record { size: 8, ..plain(*kind, *at) }));
        let (entries, left) = write(&Recording::of_trace(trace).unwrap(), &mut Vec::new()).unwrap();
        let one = [(Kind::Store, 1), (Kind::Clwb, 1), (Kind::Map, 1), (Kind::Order, 1)];
        assert_eq!((entries, left), (2, Left::from(one)));
    }

    #[test]
    fn what_a_library_without_hooks_stored_comes_before_its_flush() {
        let found = [
            (0, Kind::Operand, 0),
            (0, Kind::Observed, 0x1000),
            (0, Kind::Clwb, 0x1000),
            (0, Kind::Sfence, 0),
        ];
        assert_eq!(written(&found), ["STORE;0x1000;0x0;0x8", "FLUSH;0x1000;0x40", "FENCE"]);
    }

    #[test]
    fn flushes_are_taken_for_clwb_and_their_kind_is_said_to_be_lost() {
        let trace = read(LOG).unwrap();
        let flushes: Vec<_> =
            trace.records().filter(|r| r.size == 0 && r.address > 0).map(|r| r.kind).collect();
        assert_eq!(flushes, [Kind::Map, Kind::Clwb, Kind::Clwb]);
        assert!(trace.about.lacks.contains("kinds of flushes"));
        let lacks = |of| {
            let mut trace = read("START|REGISTER_FILE;x;0x1000;0x1000;0x0|STOP").unwrap();
            trace.about.lacks.clear();
            trace.push(plain(of, 0x1000));
            let recording = Recording::of_trace(trace).unwrap();
            crate::export::write(crate::export::Format::Pmemcheck, &recording, &mut Vec::new()).unwrap().lacks
        };
        assert_eq!(lacks(Kind::Clwb), "kinds of flushes; 1 of 2 records (1 map)");
        assert_eq!(lacks(Kind::Sfence), "1 of 2 records (1 map)");
    }

    #[test]
    fn mistakes_name_the_line_and_the_entry() {
        for (text, wanted) in [
            ("START|STORE;0x10;0x1", "line 1: \"STORE;0x10;0x1\": a field is missing"),
            ("\nSTORE;16;0x1;0x1", "line 2: \"STORE;16;0x1;0x1\": a number begins with 0x"),
            ("STORE;0x10;0x1;0x9", "a store has 1 to 8 bytes"),
            ("FLUSH;0x10;0xffffffffffffffff", "more than 1 GiB"),
            ("FENCE|STORE;0x10;0x1;0x8", "registers no file"),
        ] {
            let e = read(text).expect_err(text).to_string();
            assert!(e.contains(wanted), "{text}: {e}");
        }
    }
}
