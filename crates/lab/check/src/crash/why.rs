//! Why a failing image could be left: the stores that are missing, what is there in spite of them, and the flush
//! or fence whose absence allows it.

use super::images::{Check, fixed};
use super::log::{Event, Kind, Log};
use super::pending::{METADATA, Tracker, Unit};
use protocol::Persistency;
use std::collections::BTreeMap;

/// A store, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreNote {
    /// Where it stands in the program.
    pub site: String,
    /// Its index in the log.
    pub event: usize,
    /// Its address.
    pub address: u64,
    /// Its value.
    pub value: u64,
    /// Its bytes.
    pub size: u8,
}

/// What a failing image hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The first store that is lost in each unit that loses some.
    pub missing: Vec<StoreNote>,
    /// The last store that is there and need not be, in each unit that matters.
    pub present: Vec<StoreNote>,
    /// In words.
    pub text: String,
    /// Makes the same image again.
    pub replay: String,
}

impl Explanation {
    /// Explanations with the same key are the same mistake.
    pub(super) fn key(&self) -> (Vec<&str>, Vec<&str>) {
        (
            self.missing.iter().map(|n| n.site.as_str()).collect(),
            self.present.iter().map(|n| n.site.as_str()).collect(),
        )
    }
}

fn note(log: &Log, index: usize) -> StoreNote {
    let e = &log.events[index];
    let site = match log.change(index) {
        Some(change) => format!("{} ({})", log.site(e), change.words()),
        None => log.site(e).to_string(),
    };
    StoreNote { site, event: index, address: e.address, value: e.value, size: e.size }
}

pub(super) fn explain(
    log: &Log,
    tracker: &Tracker<'_>,
    model: Persistency,
    choice: &BTreeMap<Unit, usize>,
) -> Explanation {
    let (mut missing, mut present) = (Vec::new(), Vec::new());
    for (unit, kept) in choice {
        if *unit == METADATA {
            match tracker.changes.get(*kept) {
                Some(lost) => missing.push(*lost),
                None => present.extend(tracker.changes.last()),
            }
        }
        let Some(stores) = tracker.pending.get(unit) else { continue };
        if let Some(lost) = stores.get(*kept) {
            missing.push(lost.event);
        } else if let Some(there) = stores.last() {
            present.push(there.event);
        }
    }
    missing.sort_unstable();
    present.sort_unstable();
    let text = words(log, tracker.at(), model, &missing, &present);
    let replay = Replay { model, point: tracker.at(), choice: choice.clone() }.to_string();
    let notes = |events: &[usize]| events.iter().map(|e| note(log, *e)).collect();
    Explanation { missing: notes(&missing), present: notes(&present), text, replay }
}

fn words(log: &Log, point: usize, model: Persistency, missing: &[usize], present: &[usize]) -> String {
    let site = |index: usize| match log.change(index) {
        Some(change) => format!("{} at {}", change.words(), log.site(&log.events[index])),
        None => format!("the {} at {}", word(&log.events[index]), log.site(&log.events[index])),
    };
    let Some(lost) = missing.first().copied() else {
        let stored = |e: &&Event| {
            matches!(e.kind, Kind::Store | Kind::NonTemporal | Kind::Locked { wrote: true } | Kind::Written)
        };
        let last = log.events[..point].iter().rfind(stored).map_or("?", |e| log.site(e));
        return format!(
            "nothing is missing: after the store at {last} recovery fails although everything persists, so what an \
             operation changes is not one change, or recovery does not know how to go on from there"
        );
    };
    let Some(kept) = present.iter().copied().find(|p| *p > lost).or(present.last().copied()) else {
        let reason = reason(log, lost, point, model);
        return format!(
            "{} is lost although its operation had ended or something durable needs it: {reason}",
            site(lost)
        );
    };
    if kept < lost {
        return format!("{} can persist without {} after it: the two are not one", site(kept), site(lost));
    }
    format!("{} can persist before {}: {}", site(kept), site(lost), reason(log, lost, kept, model))
}

/// What a store is called.
fn word(event: &Event) -> &'static str {
    if event.kind == Kind::Written { "write" } else { "store" }
}

/// What is missing between a store and `until` that would have made it persistent.
fn reason(log: &Log, lost: usize, until: usize, model: Persistency) -> String {
    let store = &log.events[lost];
    if matches!(store.kind, Kind::Change | Kind::Written) {
        return no_sync(log, lost, until);
    }
    let between = || log.events[lost + 1..until.max(lost + 1)].iter();
    let own_fence =
        |e: &&Event| e.thread == store.thread && matches!(e.kind, Kind::Fence(_) | Kind::Locked { .. });
    if !model.needs_flushes() {
        return if between().any(|e| own_fence(&e)) {
            "no dependence orders their epochs".into()
        } else {
            "no fence between".into()
        };
    }
    let line = store.address / 64;
    let flushes = |e: &&Event| match e.kind {
        Kind::Flush(_) => e.address / 64 == line,
        Kind::Sync => syncs(e, store),
        _ => false,
    };
    match between().find(flushes) {
        Some(flush) => format!("its flush at {} has no fence after it", log.site(flush)),
        None if store.kind == Kind::NonTemporal => "no fence after the non-temporal store".into(),
        None => match log.events[lost + 1..].iter().find(flushes) {
            Some(late) => {
                format!("no flush and fence between (its line is flushed only at {})", log.site(late))
            }
            None => "nothing flushes its line".into(),
        },
    }
}

/// Whether a sync call makes a store durable.
fn syncs(sync: &Event, store: &Event) -> bool {
    sync.kind == Kind::Sync
        && (sync.address..sync.address.saturating_add(sync.value)).contains(&(store.address))
}

/// What the kernel wrote, and names and sizes, wait for a sync call.
fn no_sync(log: &Log, lost: usize, until: usize) -> String {
    let change = log.change(lost).is_some();
    let store = &log.events[lost];
    let helps = |e: &&Event| if change { e.kind == Kind::Sync } else { syncs(e, store) };
    match log.events[until.max(lost)..].iter().find(helps) {
        Some(late) => format!("it is synced only at {}", log.site(late)),
        None => "nothing syncs it".into(),
    }
}

/// One image of one crash point, as a line of text: `MODEL@POINT:UNIT=KEPT,...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The model.
    pub model: Persistency,
    /// Events that have happened.
    pub point: usize,
    /// Pending stores that each unit keeps.
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

    /// Recovery on this image of `log`.
    ///
    /// # Errors
    /// What recovery says.
    pub fn run(&self, log: &Log, check: &mut Check<'_>) -> Result<(), String> {
        let mut tracker = Tracker::new(log, self.model);
        while tracker.at() < self.point && tracker.step() {}
        fixed(&tracker, &self.choice, check)
    }
}
