//! Why a failing image could be left: the stores that are missing, what is there in spite of them, and the flush
//! or fence whose absence allows it.

use super::fixed::{Check, fixed};
use super::grouped::{InFlight, PendingChange};
use super::in_flight::Tracker;
use super::log::{Event, Kind, Log, SiteId};
use super::small::MadeSmall;
use super::torn::SECTOR;
use super::unit::{METADATA, Unit};
use protocol::Persistency;
use std::collections::{BTreeMap, BTreeSet};
use trace::names::{name_among, shown};

/// A store, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreNote {
    /// Where it stands in the program.
    pub site: String,
    /// The same by number.
    pub place: SiteId,
    /// Its index in the log.
    pub event: usize,
    /// Its address.
    pub address: u64,
    /// Its value.
    pub value: u64,
    /// Its bytes; none of a change of a file's name or size.
    pub size: u8,
    /// The file that it is to, or whose name or size it changes, as it is called there; of a recorded program.
    pub file: Option<String>,
    /// As much of that as tells it from the recording's other files.
    pub name: Option<String>,
    /// Where it is in that file; none of a change.
    pub offset: Option<u64>,
}

/// What a failing image hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The first store that is lost in each unit that loses some.
    pub missing: Vec<StoreNote>,
    /// The store, or change of files, that is there, need not be, and decides, in each unit of which something has to be there.
    pub present: Vec<StoreNote>,
    /// In words.
    pub text: String,
    /// Makes the same image again.
    pub replay: String,
    /// Whether a write is torn within a disk's sector, and recovery copes where none is; none where the search ended before that.
    pub is_torn: Option<bool>,
    choice: BTreeMap<Unit, usize>,
    there: BTreeMap<Unit, usize>,
    halves: BTreeMap<Unit, usize>,
    is_cut_short: bool,
}

impl Explanation {
    /// What makes the image.
    pub(super) fn choice(&self) -> &BTreeMap<Unit, usize> {
        &self.choice
    }

    /// Whether it loses changes of names and sizes.
    pub(super) fn loses_changes(&self, tracker: &Tracker<'_>) -> bool {
        self.choice.get(&METADATA).is_some_and(|kept| *kept < tracker.changes.len())
    }

    /// Explanations with the same key are the same mistake.
    pub(super) fn key(&self) -> (Vec<&str>, Vec<&str>) {
        (
            self.missing.iter().map(|n| n.site.as_str()).collect(),
            self.present.iter().map(|n| n.site.as_str()).collect(),
        )
    }
}

/// A store or a change of files that matters.
#[derive(Clone, Debug)]
struct Mattering {
    index: usize,
    event: Event,
    change: Option<String>,
    /// Its file.
    file: Option<String>,
    /// Where a store is there.
    offset: Option<u64>,
}

impl Mattering {
    fn store(tracker: &Tracker<'_>, p: &InFlight) -> Mattering {
        Mattering::event(tracker, p.event, p.store)
    }

    fn event(tracker: &Tracker<'_>, index: usize, event: Event) -> Mattering {
        let (file, offset) = tracker.place_of(event.address, index).unzip();
        Mattering { index, event, change: None, file, offset }
    }

    fn change(tracker: &Tracker<'_>, p: &PendingChange) -> Mattering {
        let known = || tracker.name_of(p.change.file, p.event);
        let file = p.change.name().map(String::from).or_else(known);
        let change = Some(p.change.words(file.as_deref()));
        Mattering { index: p.event, event: p.call, change, file, offset: None }
    }

    fn note(&self, log: &Log) -> StoreNote {
        let e = &self.event;
        let site = match &self.change {
            Some(words) => format!("{} ({words})", log.site(e)),
            None => log.site(e).to_string(),
        };
        StoreNote {
            site,
            place: e.site,
            event: self.index,
            address: e.address,
            value: e.value,
            size: e.size,
            file: self.file.clone(),
            name: self.file.as_ref().and_then(|file| log.ends.get(file)).cloned(),
            offset: self.offset,
        }
    }

    /// In words.
    fn named(&self, log: &Log) -> String {
        self.told(log, "")
    }

    /// The same beside another one: where the program's place does not tell the two apart, that in the file does.
    fn named_beside(&self, log: &Log, other: &Mattering) -> String {
        let is_same = self.change.is_none() && log.site(&self.event) == log.site(&other.event);
        let (Some(file), Some(offset), true) = (&self.file, self.offset, is_same) else {
            return self.named(log);
        };
        let beside = || name_among(file, other.file.as_deref());
        let name = shown(log.ends.get(file).map_or_else(beside, String::as_str));
        self.told(log, &format!(" to {name}+{offset:#x}"))
    }

    fn told(&self, log: &Log, to: &str) -> String {
        let site = log.site(&self.event);
        match &self.change {
            Some(words) => format!("{words} at {site}"),
            None if matches!(self.event.kind, Kind::Written { .. }) => format!("the write{to} at {site}"),
            None => format!("the store{to} at {site}"),
        }
    }
}

/// What a failing image hangs on, without words ([`Explanation::tell`]).
pub(super) fn explain(
    log: &Log,
    tracker: &Tracker<'_>,
    model: Persistency,
    small: &MadeSmall,
) -> Explanation {
    let MadeSmall { choice, there, halves, is_cut_short, .. } = small.clone();
    let (missing, present) = mattering(tracker, &choice, &there);
    let replay = Replay { model, point: tracker.at(), choice: choice.clone() }.to_string();
    let notes = |all: &[Mattering]| all.iter().map(|m| m.note(log)).collect();
    Explanation {
        missing: notes(&missing),
        present: notes(&present),
        text: String::new(),
        replay,
        is_torn: Some(false),
        choice,
        there,
        halves,
        is_cut_short,
    }
}

/// What is lost first of each unit that loses something, and what decides of each of which something has to be there.
fn mattering(
    tracker: &Tracker<'_>,
    choice: &BTreeMap<Unit, usize>,
    there: &BTreeMap<Unit, usize>,
) -> (Vec<Mattering>, Vec<Mattering>) {
    let at = |unit: Unit, index: usize| match unit {
        METADATA => tracker.changes.get(index).map(|p| Mattering::change(tracker, p)),
        unit => tracker.stores(unit).get(index).map(|p| Mattering::store(tracker, p)),
    };
    let mut missing: Vec<Mattering> = choice.iter().filter_map(|(unit, kept)| at(*unit, *kept)).collect();
    let mut present: Vec<Mattering> =
        there.iter().filter_map(|(unit, kept)| at(*unit, kept.checked_sub(1)?)).collect();
    missing.sort_unstable_by_key(|m| m.index);
    present.sort_unstable_by_key(|m| m.index);
    (missing, present)
}

impl Explanation {
    /// Puts it in words, for which the log is read again.
    pub(super) fn tell(&mut self, log: &Log, tracker: &Tracker<'_>, model: Persistency) {
        let (missing, present) = mattering(tracker, &self.choice, &self.there);
        self.text = words(log, tracker, model, &self.halves, (&missing, &present));
        if self.is_cut_short && missing.len() > 1 {
            self.text += " (there was no time to find which of all that is lost decides)";
        }
        if self.is_torn == Some(true) {
            self.text += &format!(
                "; the write is torn within {SECTOR} bytes, as one to persistent memory may be, and one to a disk's sector is not"
            );
        }
    }
}

fn words(
    log: &Log,
    tracker: &Tracker<'_>,
    model: Persistency,
    halves: &BTreeMap<Unit, usize>,
    (missing, present): (&[Mattering], &[Mattering]),
) -> String {
    let Some(lost) = missing.first() else {
        let after = |site: SiteId| format!("after the store at {}", log.place(site));
        let when = tracker.last_store.map_or_else(|| "before the first store".into(), after);
        // Without the number, which would make a failure of its own of each record of a loop.
        let is_promised = log.tells_marks && tracker.last_mark().is_some_and(|number| number > 0);
        let early =
            if is_promised { "the last mark comes before what it promises is written, or " } else { "" };
        return format!(
            "nothing is missing: {when} recovery fails although everything persists, so {early}what an \
             operation changes is not one change, or recovery does not know how to go on from there"
        );
    };
    let later = present.iter().find(|p| p.index > lost.index);
    let kept = later.or(present.last()).cloned();
    // The log is read again for this, once.
    let is_under_way = kept.is_none() && is_under_way(log, lost, tracker.at());
    let beside = || is_under_way.then(|| kept_of_lost(tracker, halves)).flatten();
    let Some(kept) = kept.or_else(beside) else {
        if let Some(durable) = is_under_way.then(|| needs_it(log, tracker, lost)).flatten() {
            let (lost_name, name) = (lost.named_beside(log, &durable), durable.named_beside(log, lost));
            return format!(
                "{lost_name} is lost before its operation had to make it durable, and what was durable before needs it, {name} last: the two are in the wrong order, or not one change"
            );
        }
        let (lost_name, reason) = (lost.named(log), reason(log, lost, tracker.at(), model));
        return format!(
            "{lost_name} is lost although its operation had ended or something durable needs it: {reason}"
        );
    };
    let (lost_name, kept_name) = (lost.named_beside(log, &kept), kept.named_beside(log, lost));
    if kept.index < lost.index {
        return format!("{kept_name} can persist without {lost_name} after it: the two are not one");
    }
    format!("{kept_name} can persist before {lost_name}: {}", reason(log, lost, kept.index, model))
}

/// The last store that is there in a unit that lost what came after it, of those where that decides.
fn kept_of_lost(tracker: &Tracker<'_>, halves: &BTreeMap<Unit, usize>) -> Option<Mattering> {
    let of = |(unit, kept): (&Unit, &usize)| {
        let last = tracker.stores(*unit).get(kept.checked_sub(1)?);
        last.map(|p| Mattering::store(tracker, p))
    };
    halves.iter().filter_map(of).max_by_key(|kept| kept.index)
}

/// Whether neither an operation of its thread ended nor anything that makes stores durable came between a store and `until`: no flush
/// or fence is missing then.
fn is_under_way(log: &Log, lost: &Mattering, until: usize) -> bool {
    let passes = |e: &Event| {
        let is_bound = matches!(
            e.kind,
            Kind::Fence(_) | Kind::Locked { .. } | Kind::Ended | Kind::Sync | Kind::Synchronise(_)
        );
        is_bound && e.thread == lost.event.thread
    };
    let after = log.pass().map(|h| h.event).enumerate().skip(lost.index + 1);
    !after.take_while(|(index, _)| *index < until).any(|(_, e)| passes(&e))
}

/// The last store that its thread made before one that is lost, and that is durable.
fn needs_it(log: &Log, tracker: &Tracker<'_>, lost: &Mattering) -> Option<Mattering> {
    let in_flight: BTreeSet<usize> = tracker.in_flight.values().flatten().map(|p| p.event).collect();
    let is_store = |e: &Event| {
        matches!(
            e.kind,
            Kind::Store | Kind::NonTemporal | Kind::Locked { wrote: true } | Kind::Written { .. }
        )
    };
    let own = |e: &Event| e.thread == lost.event.thread && is_store(e);
    let before = log.pass().map(|h| h.event).enumerate().take(lost.index);
    let durable = before.filter(|(index, e)| own(e) && !in_flight.contains(index)).last();
    durable.map(|(index, event)| Mattering::event(tracker, index, event))
}

/// What is missing between a store and `until` that would have made it persistent.
fn reason(log: &Log, lost: &Mattering, until: usize, model: Persistency) -> String {
    let store = &lost.event;
    if matches!(store.kind, Kind::Change | Kind::Written { .. }) {
        return no_sync(log, lost, until);
    }
    let mut after = log.pass().map(|h| h.event).enumerate().skip(lost.index + 1);
    if model == Persistency::Strict && store.kind == Kind::NonTemporal {
        return "no fence after the non-temporal store".into();
    }
    if model == Persistency::OneSided {
        let own = |e: &&Event| e.thread == store.thread;
        let released = |e: &Event| matches!(e.kind, Kind::Synchronise(order) if order.releases());
        let between: Vec<Event> = after.take_while(|(i, _)| *i < until).map(|(_, e)| e).collect();
        let mut between = between.iter().filter(own);
        return if between.clone().any(|e| matches!(e.kind, Kind::Fence(_))) {
            "no dependence orders their epochs".into()
        } else if between.any(released) {
            "a release between orders what came before it alone".into()
        } else {
            "no fence between".into()
        };
    }
    if !model.needs_flushes() {
        let between = after.take_while(|(i, _)| *i < until).map(|(_, e)| e);
        let fences = between.filter(|e| matches!(e.kind, Kind::Fence(_) | Kind::Locked { .. }));
        let threads: BTreeSet<u16> = fences.map(|e| e.thread).collect();
        return if threads.contains(&store.thread) {
            "no dependence orders their epochs".into()
        } else if threads.is_empty() {
            "no fence between".into()
        } else {
            "no fence of its own thread between".into()
        };
    }
    let line = store.address / 64;
    let flush = after.find(|(_, e)| {
        let flushes = matches!(e.kind, Kind::Flush(_)) && e.address / 64 == line;
        flushes || e.kind == Kind::Sync && syncs(e, store)
    });
    match flush {
        Some((index, flush)) if index < until => {
            format!("its flush at {} has no fence after it", log.site(&flush))
        }
        _ if store.kind == Kind::NonTemporal => "no fence after the non-temporal store".into(),
        Some((_, late)) => {
            format!("no flush and fence between (its line is flushed only at {})", log.site(&late))
        }
        None if log.file_at(store.address).is_some() => {
            nothing(log, store, "flushes its line or syncs its file")
        }
        None => nothing(log, store, "flushes its line"),
    }
}

/// That nothing makes a store durable; what wrote it out does not.
fn nothing(log: &Log, store: &Event, does: &str) -> String {
    let file = log.file_at(store.address).filter(|_| store.kind != Kind::Change);
    let begun = file.and_then(|file| log.begun.get(&file));
    let remark = begun.map_or_else(String::new, |call| format!(" ({call} makes nothing durable)"));
    format!("nothing {does}{remark}")
}

/// Whether a sync call makes a store durable.
fn syncs(sync: &Event, store: &Event) -> bool {
    sync.kind == Kind::Sync
        && (sync.address..sync.address.saturating_add(sync.value)).contains(&(store.address))
}

/// What the kernel wrote, and names and sizes, wait for a sync call.
fn no_sync(log: &Log, lost: &Mattering, until: usize) -> String {
    let change = lost.change.is_some();
    let helps = |e: &Event| if change { e.kind == Kind::Sync } else { syncs(e, &lost.event) };
    match log.pass().map(|h| h.event).skip(until.max(lost.index)).find(helps) {
        Some(late) => format!("it is synced only at {}", log.site(&late)),
        None => nothing(log, &lost.event, "syncs it"),
    }
}

/// One image of one crash point, as a line of text: `MODEL@POINT:UNIT=KEPT,...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The model.
    pub model: Persistency,
    /// Events that have happened.
    pub point: usize,
    /// Stores in flight that each unit keeps.
    pub choice: BTreeMap<Unit, usize>,
}

impl std::fmt::Display for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}:", self.model.name(), self.point)?;
        for (index, (unit, kept)) in self.choice.iter().enumerate() {
            write!(f, "{}{unit:x}={kept}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl Replay {
    /// Reads what [`Replay::to_string`] wrote.
    pub fn read(text: &str) -> Option<Replay> {
        let (model, rest) = text.split_once('@')?;
        let (point, units) = rest.split_once(':')?;
        let (_, model) = Persistency::ALL.iter().find(|(n, _)| *n == model)?;
        let pair = |p: &str| {
            let (unit, kept) = p.split_once('=')?;
            Some((Unit::from_str_radix(unit, 16).ok()?, kept.parse().ok()?))
        };
        let pairs = units.split(',').filter(|p| !p.is_empty()).map(pair);
        Some(Replay { model: *model, point: point.parse().ok()?, choice: pairs.collect::<Option<_>>()? })
    }

    /// `log` at the point of this image.
    ///
    /// # Errors
    /// What it does not have: so many events, or so many stores of a unit or changes of files in flight after them.
    pub fn tracker<'a>(&self, log: &'a Log) -> Result<Tracker<'a>, String> {
        let mut tracker = Tracker::new(log, self.model);
        while tracker.at() < self.point && tracker.step() {}
        if tracker.at() < self.point {
            return Err(format!("the program has {} events", tracker.at()));
        }
        match self.choice.iter().find(|(unit, kept)| tracker.count(**unit) < **kept) {
            Some((unit, _)) => {
                let what = match *unit {
                    METADATA => "changes of names and sizes".into(),
                    unit => format!("stores to {unit:x}"),
                };
                let there = tracker.count(*unit);
                Err(format!("{what} that are in flight after event {}: {there}", self.point))
            }
            None => Ok(tracker),
        }
    }

    /// Recovery on this image, of what `tracker` is at.
    ///
    /// # Errors
    /// What recovery says.
    pub fn run(&self, tracker: &Tracker<'_>, check: &mut Check<'_>) -> Result<(), String> {
        fixed(tracker, &self.choice, check)
    }
}
