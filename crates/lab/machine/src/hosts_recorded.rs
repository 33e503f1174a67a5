//! From a recording of several processes to what hosts did.

use crate::describe::Description;
use crate::error::ConfigError;
use ::shared::{Access, Act, Outcome, Recorded, SourceLine, check_recorded, replay};
use protocol::FlushKind;
use std::collections::{BTreeMap, BTreeSet};
use trace::{About, Kind, Record, Recording};
use units::watch;

/// Looks for what is wrong in a recording of several hosts.
///
/// # Errors
/// When it is of one, of more than the machine has, or cannot be read any more.
pub(crate) fn shared(
    machine: &Description,
    name: &str,
    recording: &Recording,
) -> Result<Outcome, ConfigError> {
    let named = |why: String| ConfigError::new(format!("{name}: {why}"));
    check_recorded(&machine.settings, recording.about().hosts.len()).map_err(named)?;
    let coherent_lines = machine.settings.count("shared.coherent_lines") as u64;
    let recorded = recorded(recording, coherent_lines);
    if let Some(failed) = recording.failed() {
        return Err(named(failed.to_string()));
    }
    Ok(replay(&machine.settings, &recorded))
}

fn recorded(recording: &Recording, coherent_lines: u64) -> Recorded {
    let is_kept = |r: &Record| r.kind.has_place() || matches!(r.kind, Kind::Lock | Kind::Unlock);
    let touched: BTreeSet<u64> = recording.in_order().filter(is_kept).map(|r| r.address / 64).collect();
    let numbers: BTreeMap<u64, usize> =
        touched.iter().zip(0..).map(|(line, number)| (*line, number)).collect();
    let offsets = || touched.iter().map(|line| trace::hosts::place_of(line * 64));
    let mut reader = Reader {
        host_of: hosts(recording.about()),
        places: places(recording.about()),
        lines: numbers,
        turns: vec![0; recording.threads()],
        accesses: Vec::new(),
    };
    recording.in_order().for_each(|record| reader.follow(&record));
    Recorded {
        hosts: recording.about().hosts.len(),
        lines: offsets().map(|(_, offset)| offset).collect(),
        coherent: offsets().map(|(file, offset)| file <= 1 && offset / 64 < coherent_lines).collect(),
        accesses: reader.accesses,
    }
}

/// The host of each thread.
fn hosts(about: &About) -> BTreeMap<u16, usize> {
    let of_host =
        |(host, threads): (usize, &Vec<u16>)| threads.iter().map(move |t| (*t, host)).collect::<Vec<_>>();
    about.hosts.iter().enumerate().flat_map(of_host).collect()
}

/// Source places by number: `FILE:LINE FUNCTION`, or something else where the line is not known.
fn places(about: &About) -> BTreeMap<u32, SourceLine> {
    let place = |text: &String| {
        let first = text.split(' ').next().unwrap_or(text);
        match first.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
            Some((file, line)) => SourceLine::recorded(file, line),
            None => SourceLine::recorded(text, 0),
        }
    };
    about.locations.iter().map(|(number, text)| (*number, place(text))).collect()
}

struct Reader {
    host_of: BTreeMap<u16, usize>,
    places: BTreeMap<u32, SourceLine>,
    lines: BTreeMap<u64, usize>,
    /// Of each thread, what its next load gives.
    turns: Vec<u64>,
    accesses: Vec<Access>,
}

impl Reader {
    fn follow(&mut self, r: &Record) {
        let Some(host) = self.host_of.get(&r.thread).copied() else { return };
        watch::check();
        let act = match r.kind {
            Kind::Turn => {
                self.turns[usize::from(r.thread)] = r.value;
                return;
            }
            Kind::Load | Kind::LoadAcquire => Act::Load,
            Kind::Store | Kind::StoreRelease => Act::Store,
            Kind::StoreNonTemporal => Act::StorePast,
            Kind::Rmw => Act::Exchange,
            Kind::Clwb => Act::Flush(FlushKind::Clwb),
            Kind::Clflushopt => Act::Flush(FlushKind::Clflushopt),
            Kind::Clflush => Act::Flush(FlushKind::Clflush),
            Kind::Sfence | Kind::Mfence => Act::Fence,
            Kind::Lock => Act::Lock,
            Kind::Unlock => Act::Unlock,
            Kind::Create
            | Kind::Join
            | Kind::Map
            | Kind::Unmap
            | Kind::Start
            | Kind::End
            | Kind::Mark
            | Kind::Operand
            | Kind::Call
            | Kind::Written
            | Kind::Observed
            | Kind::Contents
            | Kind::Unseen
            | Kind::Order => return,
        };
        let value = if act == Act::Load { self.turns[usize::from(r.thread)] } else { r.value };
        let place = self.places.get(&r.location).copied();
        let place = place.unwrap_or_else(|| SourceLine::recorded("a place that is not known", 0));
        let (mut address, mut value, end) =
            (r.address, value, r.address.saturating_add(r.size.max(1).into()));
        // A word at a time.
        while address < end {
            let size = (8 - address % 8).min(end - address);
            let line = self.lines.get(&(address / 64)).copied().unwrap_or(0);
            let (offset, size) = ((address % 64) as usize, size as usize);
            self.accesses.push(Access { host, act, line, offset, size, value, place });
            value = value.checked_shr(8 * size as u32).unwrap_or(0);
            address += size as u64;
        }
    }
}
