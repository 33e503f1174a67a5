//! Stores of two threads to the same bytes that no release and acquire order: under release persistency nothing says which
//! of them persists first, whatever the caches had.

use super::log::{Event, Kind, Log, Pass, SiteId};
use super::named::Named;
use super::recorded::{Recorded, of_trace};
use protocol::PM_BASE;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use trace::Recording;
use trace::space::Layout;
use units::watch;

/// Two places of a program that store to the same bytes in no order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The store that the other overwrites in the interleaving that was looked at.
    pub first: String,
    /// The other.
    pub second: String,
    /// How often.
    pub times: usize,
}

impl std::fmt::Display for Race {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Race { first, second, times } = self;
        let again = if *times == 1 { String::new() } else { format!(" ({times} times)") };
        if first == second {
            return write!(f, "two threads store to the same bytes at {first}{again}");
        }
        write!(f, "the stores at {first} and {second} are of two threads and to the same bytes{again}")
    }
}

/// For each thread, up to which of its steps another knows.
type Clock = Vec<u32>;

/// The last plain store to some bytes of a word.
#[derive(Clone, Copy)]
struct Stored {
    bytes: u8,
    thread: u16,
    step: u32,
    site: SiteId,
}

struct Known {
    clocks: Vec<Clock>,
    /// What was released on each word.
    released: FxHashMap<u64, Clock>,
    stored: FxHashMap<u64, Vec<Stored>>,
    /// For each thread, the place of a release that came just now.
    released_at: Vec<Option<SiteId>>,
    found: BTreeMap<(SiteId, SiteId), usize>,
}

fn join(into: &mut [u32], from: &[u32]) {
    into.iter_mut().zip(from).for_each(|(own, other)| *own = (*own).max(*other));
}

impl Known {
    fn acquire(&mut self, thread: u16, word: u64) {
        if let Some(clock) = self.released.get(&word) {
            join(&mut self.clocks[usize::from(thread)], clock);
        }
    }

    fn release(&mut self, thread: u16, word: u64) {
        let own = &mut self.clocks[usize::from(thread)];
        join(self.released.entry(word).or_insert_with(|| vec![0; own.len()]), own);
        own[usize::from(thread)] += 1;
    }

    /// A plain store: whoever stored to these bytes before has to be known of.
    fn store(&mut self, event: &Event) {
        let own = &self.clocks[usize::from(event.thread)];
        let step = own[usize::from(event.thread)];
        let (from, to) = (event.address, event.address + u64::from(event.size));
        for word in from / 8..to.div_ceil(8) {
            let (low, high) = (from.max(word * 8) - word * 8, to.min(word * 8 + 8) - word * 8);
            let bytes = (u8::MAX >> (8 - (high - low))) << low;
            let before = self.stored.entry(word).or_default();
            for other in before.iter_mut().filter(|o| o.bytes & bytes != 0) {
                if other.thread != event.thread && other.step > own[usize::from(other.thread)] {
                    *self.found.entry((other.site, event.site)).or_default() += 1;
                }
                other.bytes &= !bytes;
            }
            before.retain(|o| o.bytes != 0);
            before.push(Stored { bytes, thread: event.thread, step, site: event.site });
        }
    }

    fn follow(&mut self, event: &Event) {
        let (thread, word) = (event.thread, event.address / 8);
        let just = std::mem::take(&mut self.released_at[usize::from(thread)]);
        match event.kind {
            Kind::Synchronise(order) => {
                if order.acquires() {
                    self.acquire(thread, word);
                }
                if order.releases() {
                    self.release(thread, word);
                    self.released_at[usize::from(thread)] = Some(event.site);
                }
            }
            Kind::Locked { .. } => {
                self.acquire(thread, word);
                self.release(thread, word);
            }
            // What a release stores is meant to be met.
            Kind::Store | Kind::NonTemporal if just != Some(event.site) => self.store(event),
            Kind::Store
            | Kind::NonTemporal
            | Kind::Load
            | Kind::Flush(_)
            | Kind::Fence(_)
            | Kind::Ended
            | Kind::Begins
            | Kind::Written { .. }
            | Kind::Sync
            | Kind::Change => {}
        }
    }
}

/// Every pair of places that race, the most frequent first. Threads are told apart by what they release and acquire, so a race
/// is found in whichever interleaving was logged, as long as both stores are in it.
pub fn races(log: &Log) -> Vec<Race> {
    if log.threads < 2 {
        return Vec::new();
    }
    races_of(log.pass(), log)
}

/// The same of a recording, wherever its files are mapped.
pub fn recorded_races(recording: &Recording) -> Vec<Race> {
    if recording.threads() < 2 {
        return Vec::new();
    }
    let layout = &Layout::new(recording.about(), &recording.counts().extents, PM_BASE);
    // What files are called is nothing to a race.
    let named = &Named::default();
    races(&of_trace(recording, &Recorded { layout, named, begins: &[] }))
}

fn races_of(events: Pass<'_>, log: &Log) -> Vec<Race> {
    let clock = |thread: usize| (0..log.threads).map(|t| u32::from(t == thread)).collect();
    let mut known = Known {
        clocks: (0..log.threads).map(clock).collect(),
        released: FxHashMap::default(),
        stored: FxHashMap::default(),
        released_at: vec![None; log.threads],
        found: BTreeMap::new(),
    };
    for (index, happened) in events.enumerate() {
        if index.is_multiple_of(1 << 16) {
            watch::check();
        }
        known.follow(&happened.event);
    }
    let name = |site: SiteId| log.place(site).to_string();
    let race = |((first, second), times)| Race { first: name(first), second: name(second), times };
    let mut all: Vec<Race> = known.found.into_iter().map(race).collect();
    all.sort_by_key(|r| std::cmp::Reverse(r.times));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Order;

    fn event(thread: u16, kind: Kind, address: u64, size: u8) -> Event {
        Event { kind, address, value: 0, site: thread.into(), thread, size }
    }

    fn found(events: &[Event]) -> Vec<(String, String, usize)> {
        let sites = ["a.rs:1".to_string(), "b.rs:2".to_string()].into();
        let log = Log { events: events.to_vec(), sites, threads: 2, ..Log::default() };
        races(&log).into_iter().map(|r| (r.first, r.second, r.times)).collect()
    }

    const A: u64 = 4096;
    const LOCK: u64 = 8192;

    #[test]
    fn two_threads_that_store_to_a_byte_race_and_both_stores_are_named() {
        let pair = [event(0, Kind::Store, A, 8), event(1, Kind::Store, A + 4, 2)];
        assert_eq!(found(&pair), [("a.rs:1".to_string(), "b.rs:2".to_string(), 1)]);
        assert_eq!(found(&[pair[0], event(1, Kind::Store, A + 8, 8)]), [], "other bytes");
        assert_eq!(found(&[pair[0], pair[0]]), [], "one thread");
    }

    #[test]
    fn a_release_and_its_acquire_order_them_and_one_alone_does_not() {
        let synchronise = |thread, order| event(thread, Kind::Synchronise(order), LOCK, 8);
        let (release, acquire) = (synchronise(0, Order::Release), synchronise(1, Order::Acquire));
        let (first, second) = (event(0, Kind::Store, A, 8), event(1, Kind::Store, A, 8));
        // The word of the lock is what a release stores to.
        let unlock = event(0, Kind::Store, LOCK, 8);
        assert_eq!(found(&[first, release, unlock, acquire, second]), []);
        assert_eq!(found(&[first, release, unlock, second]).len(), 1);
        assert_eq!(found(&[first, acquire, second]).len(), 1);
        assert_eq!(found(&[release, unlock, first, acquire, second]).len(), 1, "stored after the release");
    }

    #[test]
    fn locked_operations_order_and_do_not_race() {
        let locked = |thread| event(thread, Kind::Locked { wrote: true }, LOCK, 8);
        let (first, second) = (event(0, Kind::Store, A, 8), event(1, Kind::Store, A, 8));
        assert_eq!(found(&[first, locked(0), locked(1), second]), []);
        assert_eq!(found(&[locked(0), locked(1)]), []);
    }

    #[test]
    fn what_is_said_names_places_and_how_often() {
        let race = |second: &str, times| Race { first: "a.c:3".into(), second: second.into(), times };
        assert_eq!(
            race("b.c:9", 4).to_string(),
            "the stores at a.c:3 and b.c:9 are of two threads and to the same bytes (4 times)"
        );
        assert_eq!(race("a.c:3", 1).to_string(), "two threads store to the same bytes at a.c:3");
    }
}
