//! From a recording of several processes to what hosts did.

use crate::ranges::CoherentRanges;
use crate::recorded::{Access, Act, Recorded};
use crate::source_line::SourceLine;
use protocol::FlushKind;
use std::collections::{BTreeMap, BTreeSet};
use trace::{About, Kind, Record, Recording};
use units::watch;

/// What hosts did in `recording`, where `coherent` lines are kept coherent by hardware.
pub(crate) fn recorded(recording: &Recording, coherent: &CoherentRanges) -> Recorded {
    let is_kept = |r: &Record| r.kind.has_place() || matches!(r.kind, Kind::Lock | Kind::Unlock);
    let touched: BTreeSet<u64> = recording.in_order().filter(is_kept).map(|r| r.address / 64).collect();
    let numbers: BTreeMap<u64, usize> =
        touched.iter().zip(0..).map(|(line, number)| (*line, number)).collect();
    let offsets = || touched.iter().map(|line| trace::hosts::place_of(line * 64));
    let mut reader = Reader {
        host_of: hosts(recording.about()),
        places: Places::new(recording.about()),
        callers: Callers::default(),
        called: BTreeMap::new(),
        lines: numbers,
        turns: vec![Turn::default(); recording.threads()],
        accesses: Vec::new(),
    };
    recording.in_order().for_each(|record| reader.follow(&record));
    Recorded {
        hosts: recording.about().hosts.len(),
        lines: offsets().map(|(_, offset)| offset).collect(),
        coherent: offsets().map(|(file, offset)| file <= 1 && coherent.has(offset / 64)).collect(),
        accesses: reader.accesses(),
    }
}

/// The host of each thread.
fn hosts(about: &About) -> BTreeMap<u16, usize> {
    let of_host =
        |(host, threads): (usize, &Vec<u16>)| threads.iter().map(move |t| (*t, host)).collect::<Vec<_>>();
    about.hosts.iter().enumerate().flat_map(of_host).collect()
}

/// Source places by number: `FILE:LINE FUNCTION`, or something else where the line is not known; where its function was called, in
/// the same words, after [`trace::hosts::CALLED`].
struct Places(BTreeMap<u32, (SourceLine, Option<(String, u32)>)>);

impl Places {
    fn new(about: &About) -> Places {
        let file_and_line = |text: &str| {
            let first = text.split(' ').next().unwrap_or(text);
            let (file, line) = first.rsplit_once(':')?;
            Some((file.to_string(), line.parse::<u32>().ok()?))
        };
        let place = |text: &String| {
            let (own, caller) = text.split_once(trace::hosts::CALLED).unwrap_or((text, ""));
            let own = file_and_line(own).unwrap_or_else(|| (own.to_string(), 0));
            (SourceLine::recorded(&own.0, own.1), file_and_line(caller))
        };
        Places(about.locations.iter().map(|(number, text)| (*number, place(text))).collect())
    }

    /// A place, and where its function was called: in line, or by the location of a call.
    fn of(&self, location: u32, call: u32) -> (SourceLine, Option<(String, u32)>) {
        let Some((place, caller)) = self.0.get(&location) else {
            return (SourceLine::recorded("a place that is not known", 0), None);
        };
        let call = || self.0.get(&call).filter(|(site, _)| site.line() > 0);
        let called =
            caller.clone().or_else(|| call().map(|(site, _)| (site.file().to_string(), site.line())));
        (*place, called)
    }
}

/// The places at which functions that are called in several have their accesses: a caller tells something there.
#[derive(Default)]
struct Callers {
    of: BTreeMap<(&'static str, u32), Option<(String, u32)>>,
    several: BTreeSet<(&'static str, u32)>,
}

impl Callers {
    fn note(&mut self, place: SourceLine, caller: &Option<(String, u32)>) {
        let key = (place.file(), place.line());
        if self.of.entry(key).or_insert_with(|| caller.clone()) != caller {
            self.several.insert(key);
        }
    }
}

/// What is said before an access of a thread: what its load gives, where its function was called, and whether it may look for what
/// others store.
#[derive(Clone, Copy, Default)]
struct Turn {
    loaded: u64,
    call: u32,
    looks: bool,
}

/// The size in a turn that says of a load that it is a plain one.
const PLAIN: u8 = 2;
/// The size in a turn that says what the word of a load before has now, which is something else.
const AGAIN: u8 = 4;
/// A load before is one of so many last accesses.
const NEAR: usize = 256;

struct Reader {
    host_of: BTreeMap<u16, usize>,
    places: Places,
    callers: Callers,
    /// Of each place and the call of its function, with that, as far as they were met.
    called: BTreeMap<(u32, u32), SourceLine>,
    lines: BTreeMap<u64, usize>,
    /// Of each thread, what is said of its next access.
    turns: Vec<Turn>,
    accesses: Vec<Access>,
}

impl Reader {
    fn follow(&mut self, r: &Record) {
        let Some(host) = self.host_of.get(&r.thread).copied() else { return };
        watch::check();
        let act = match r.kind {
            Kind::Turn if r.size == AGAIN => {
                self.look_again(r);
                return;
            }
            Kind::Turn => {
                let turn = Turn { loaded: r.value, call: r.location, looks: r.size != PLAIN };
                self.turns[usize::from(r.thread)] = turn;
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
            | Kind::Order
            | Kind::Region => return,
        };
        let Turn { loaded, call, looks } = self.turns[usize::from(r.thread)];
        let value = if act == Act::Load { loaded } else { r.value };
        let is_called = r.kind.has_place() && call != r.location;
        let place = self.place(r.location, if is_called { call } else { 0 });
        let (mut address, mut value, end) =
            (r.address, value, r.address.saturating_add(r.size.max(1).into()));
        // A word at a time.
        while address < end {
            let size = (8 - address % 8).min(end - address);
            let line = self.lines.get(&(address / 64)).copied().unwrap_or(0);
            let (offset, size) = ((address % 64) as usize, size as usize);
            let thread = usize::from(r.thread);
            self.accesses.push(Access { host, thread, act, line, offset, size, value, looks, place });
            value = value.checked_shr(8 * size as u32).unwrap_or(0);
            address += size as u64;
        }
    }

    /// The word of one of the thread's last loads has changed since.
    fn look_again(&mut self, r: &Record) {
        let at = (self.lines.get(&(r.address / 64)).copied(), (r.address % 64) as usize);
        let is_it = |load: &&Access| {
            (load.act, load.thread) == (Act::Load, r.thread.into()) && (Some(load.line), load.offset) == at
        };
        if let Some(load) = self.accesses.iter().rev().take(NEAR).find(is_it) {
            self.accesses.push(Access { act: Act::Again, value: r.value, ..*load });
        }
    }

    fn place(&mut self, location: u32, call: u32) -> SourceLine {
        if let Some(place) = self.called.get(&(location, call)) {
            return *place;
        }
        let (place, caller) = self.places.of(location, call);
        self.callers.note(place, &caller);
        let place = caller.map_or(place, |(file, line)| place.called_at(&file, line));
        self.called.insert((location, call), place);
        place
    }

    /// What was done, with callers where they tell something.
    fn accesses(self) -> Vec<Access> {
        let Reader { callers, accesses, .. } = self;
        let told = |place: SourceLine| {
            let several = callers.several.contains(&(place.file(), place.line()));
            if several { place } else { SourceLine::recorded(place.file(), place.line()) }
        };
        accesses.into_iter().map(|access| Access { place: told(access.place), ..access }).collect()
    }
}
