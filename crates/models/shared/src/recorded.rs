//! Programs of several hosts that were recorded, a process each, on a machine that keeps its caches coherent: what each load saw,
//! and what its host knew by then.
//!
//! A load that saw another host's store *looks* at it if nothing told of that store before: it may wait for it. From then on its
//! host knows all that the other one did until there, and a load of that has to get it at once.

use crate::shadow::MOST_HOSTS;
use crate::source_line::SourceLine;
use protocol::FlushKind;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

/// What a host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Loaded `value`.
    Load,
    /// The word of the thread's last load has `value` now: that load may have given it instead.
    Again,
    /// Stored `value`.
    Store,
    /// Stored `value` past the caches.
    StorePast,
    /// Stored `value` by a locked operation, which waits for flushes.
    Exchange,
    /// Flushed the line.
    Flush(FlushKind),
    /// Waited for flushes.
    Fence,
    /// Took the lock there.
    Lock,
    /// Gave it back.
    Unlock,
}

impl Act {
    fn is_store(self) -> bool {
        matches!(self, Act::Store | Act::StorePast | Act::Exchange)
    }

    /// Whether it loads or stores.
    pub(crate) fn is_access(self) -> bool {
        self == Act::Load || self.is_store()
    }
}

/// Something that a host did, within a word.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The host.
    pub host: usize,
    /// Which thread of all hosts' threads.
    pub thread: usize,
    /// What.
    pub act: Act,
    /// The line.
    pub line: usize,
    /// The first byte in it.
    pub offset: usize,
    /// How many bytes.
    pub size: usize,
    /// What was loaded or stored.
    pub value: u64,
    /// Whether the program itself says that it may look for what others store: a load of what is volatile or atomic, or one of which
    /// that is not known.
    pub looks: bool,
    /// Where in the program.
    pub place: SourceLine,
}

impl Access {
    /// The word of the line.
    pub(crate) fn word(&self) -> usize {
        self.offset / 8
    }

    /// The bytes of the word that it touches, as bits of the word.
    pub(crate) fn mask(&self) -> u64 {
        (u64::MAX >> (64 - 8 * self.size.clamp(1, 8))) << (self.offset % 8 * 8)
    }

    /// Its value where it lies in the word.
    pub(crate) fn placed(&self) -> u64 {
        self.value << (self.offset % 8 * 8) & self.mask()
    }
}

/// What several hosts did, in the order in which it was recorded.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// How many hosts.
    pub hosts: usize,
    /// Where each line begins, for people.
    pub lines: Vec<u64>,
    /// Of each line, whether hardware keeps it coherent between hosts.
    pub coherent: Vec<bool>,
    /// What was done.
    pub accesses: Vec<Access>,
}

/// What a load saw, what a lock waited for, or of a store the last one of another host into its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Saw {
    /// Nothing that anybody stored.
    #[default]
    Nothing,
    /// That store, of which its host knew; from that store or unlock of another host, where it is another one's.
    Known(usize, Option<usize>),
    /// That store, of which nothing had told before; for a lock, who gave it back.
    Looked(usize),
}

/// What each access saw.
#[derive(Clone, Debug)]
pub(crate) struct Sights {
    pub(crate) saw: Vec<Saw>,
    /// Stores that told other hosts.
    pub(crate) tells: BTreeSet<usize>,
    /// Plain loads that saw a store which nothing orders before them.
    pub(crate) races: BTreeSet<usize>,
}

/// The stores to each word of each line, in order.
type Stores = BTreeMap<(usize, usize), Vec<usize>>;

/// How many stores to a word before a load are searched for the one whose value it gave: the counter of places and the access
/// are not one step.
const NEAR: usize = 64;
/// How many loads are compared with all stores to their word at most.
const MOST_SEARCHED: usize = 256;
/// How many accesses before and after a store are searched for those that make its word a lock.
const FAR: usize = 1 << 12;

/// Stores that may have told a thread of what was done before them, the latest last: what a later load gives shows that they did.
#[derive(Clone, Default)]
struct Perhaps(VecDeque<(usize, Rc<[u32]>)>);

impl Perhaps {
    fn add(&mut self, store: usize, told: Rc<[u32]>) {
        const MOST: usize = 8;
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((store, told));
    }

    /// The latest of them that tells of `access`, which is thread `by`'s, and another one.
    fn told_of(&self, by: usize, access: usize) -> Option<&(usize, Rc<[u32]>)> {
        self.0.iter().rev().find(|(store, told)| *store != access && (access as u32) < told[by])
    }
}

/// How far each thread's doings are known, one more than the number of the last access.
type Known = Rc<[u32]>;

/// What a thread knows, and what told it: how far each time, and the store or unlock.
#[derive(Clone)]
struct Knows {
    now: Known,
    /// Since which access it has known what.
    since: Vec<(usize, Known)>,
    learnt: Vec<Vec<(u32, usize)>>,
}

impl Knows {
    fn nothing(threads: usize) -> Knows {
        let now: Known = vec![0; threads].into();
        Knows { since: vec![(0, now.clone())], now, learnt: vec![Vec::new(); threads] }
    }

    /// What this thread knew, and had done, as it told by access `told`.
    fn as_told(&self, own: usize, told: usize) -> Vec<u32> {
        let at = self.since.partition_point(|(since, _)| *since <= told);
        let mut known = self.since[at - 1].1.to_vec();
        known[own] = told as u32 + 1;
        known
    }

    /// At access `index`, a store or unlock told of all this.
    fn learn(&mut self, told: &[u32], from: usize, index: usize) {
        if told.iter().zip(self.now.iter()).all(|(told, own)| told <= own) {
            return;
        }
        let mut now = self.now.to_vec();
        for (other, level) in told.iter().enumerate().filter(|(other, level)| **level > self.now[*other]) {
            now[other] = *level;
            self.learnt[other].push((*level, from));
        }
        self.now = now.into();
        self.since.push((index, self.now.clone()));
    }

    /// What last told of an access of another thread. What told before may have been about something else.
    fn told_of(&self, other: usize, access: usize) -> Option<usize> {
        let last = self.learnt[other].last().filter(|(level, _)| *level > access as u32);
        last.map(|(_, from)| *from)
    }

    /// Whether a thread was told of something that another one did before `access`, since its host met others outside of this memory.
    fn was_told_before(&self, other: usize, access: usize, elsewhere: usize) -> bool {
        let last = self.learnt[other].last();
        last.is_some_and(|(level, from)| *level <= access as u32 && *from >= elsewhere)
    }
}

impl Recorded {
    /// That two hosts exchange one word by locked operations, which hosts without coherence cannot do.
    pub(crate) fn exchanged(&self) -> Option<String> {
        let mut first: BTreeMap<(usize, usize), &Access> = BTreeMap::new();
        let locked = self.accesses.iter().filter(|a| a.act == Act::Exchange && !self.coherent[a.line]);
        for access in locked {
            let before = *first.entry((access.line, access.word())).or_insert(access);
            if before.host != access.host {
                let place = |a: &Access| format!("host {} at {}", a.host, a.place);
                return Some(format!(
                    "{} and {} exchange one word by locked operations: these are atomic among the cores of a host and not between hosts, unless hardware keeps the line coherent (shared.coherent_ranges)",
                    place(before),
                    place(access)
                ));
            }
        }
        None
    }

    /// How many threads there are, of all hosts.
    pub(crate) fn threads(&self) -> usize {
        self.accesses.iter().map(|access| access.thread + 1).max().unwrap_or(0)
    }

    /// Finds what each load saw; those of `but` saw nothing that was to be seen.
    pub(crate) fn sights(&self, but: &BTreeSet<usize>) -> Sights {
        let stores = self.stores();
        let threads = self.threads();
        let mut knows = vec![Knows::nothing(threads); threads];
        let mut given_back: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        // Of each line, each host's last store.
        let mut last: BTreeMap<usize, [Option<usize>; MOST_HOSTS]> = BTreeMap::new();
        let mut sights = Sights {
            saw: vec![Saw::Nothing; self.accesses.len()],
            tells: BTreeSet::new(),
            races: BTreeSet::new(),
        };
        let (looked_at, threads_of) = (self.looked_at(), self.threads_of_hosts());
        // Of each host, when it last met others outside of this memory.
        let mut elsewhere = [0; MOST_HOSTS];
        let mut perhaps = vec![Perhaps::default(); threads];
        for (index, access) in self.accesses.iter().enumerate() {
            let (thread, lock) = (access.thread, (access.line, access.offset));
            if access.act.is_store() {
                let before = last.entry(access.line).or_insert([None; MOST_HOSTS]);
                let others = before.iter().enumerate().filter(|(host, _)| *host != access.host);
                let newest = others.filter_map(|(_, store)| *store).max();
                before[access.host] = Some(index);
                let by = |store: usize| self.accesses[store].thread;
                if let Some(store) = newest.filter(|store| (*store as u32) < knows[thread].now[by(*store)]) {
                    sights.saw[index] = Saw::Known(store, knows[thread].told_of(by(store), store));
                }
                continue;
            }
            let told = match access.act {
                Act::Load if but.contains(&index) => None,
                Act::Load => self.seen(&stores, index),
                Act::Again => {
                    let told =
                        self.seen(&stores, index).filter(|told| self.accesses[*told].host != access.host);
                    if let Some(told) = told {
                        let by = self.accesses[told].thread;
                        perhaps[thread].add(told, knows[by].as_told(by, told).into());
                    }
                    None
                }
                Act::Lock => {
                    let given_back = given_back.get(&lock).copied();
                    if given_back.is_none() {
                        elsewhere[access.host] = index;
                    }
                    given_back
                }
                Act::Unlock => {
                    given_back.insert(lock, index);
                    None
                }
                Act::Store | Act::StorePast | Act::Exchange | Act::Flush(_) | Act::Fence => None,
            };
            let Some(told) = told else { continue };
            let by = self.accesses[told];
            let is_own = by.host == access.host;
            let is_plain = access.act == Act::Load && !looked_at.contains(&(access.line, access.word()));
            if is_plain && let Some((store, told)) = perhaps[thread].told_of(by.thread, told) {
                sights.tells.insert(*store);
                knows[thread].learn(told, *store, index);
            }
            let is_known = by.thread == thread || (told as u32) < knows[thread].now[by.thread];
            if access.act == Act::Load && is_known {
                let first = knows[thread].told_of(by.thread, told).filter(|_| !is_own);
                sights.saw[index] = Saw::Known(told, first);
                continue;
            }
            sights.saw[index] = Saw::Looked(told);
            let own = (knows.as_slice(), &threads_of[access.host]);
            let is_perhaps_known = || own.1.iter().any(|t| perhaps[*t].told_of(by.thread, told).is_some());
            if is_plain
                && !is_own
                && !is_perhaps_known()
                && self.is_unordered(own, index, told, elsewhere[access.host])
            {
                sights.races.insert(index);
            }
            if access.act == Act::Load && !is_own {
                sights.tells.insert(told);
            }
            let knew = knows[by.thread].as_told(by.thread, told);
            knows[thread].learn(&knew, told, index);
            for (store, told) in perhaps[by.thread].clone().0 {
                perhaps[thread].add(store, told);
            }
        }
        sights
    }

    /// Whether a host that was told of something by another one loads what that one stored after it had told, and no thread of the
    /// host knows of that.
    fn is_unordered(
        &self,
        (knows, own): (&[Knows], &BTreeSet<usize>),
        load: usize,
        store: usize,
        elsewhere: usize,
    ) -> bool {
        let [thread, by] = [load, store].map(|index| self.accesses[index].thread);
        let is_known = own.iter().any(|own| (store as u32) < knows[*own].now[by]);
        !is_known && knows[thread].was_told_before(by, store, elsewhere)
    }

    /// Whether a store makes a new value of the one that its thread loaded there just before.
    pub(crate) fn is_update(&self, store: usize) -> bool {
        let own = &self.accesses[store];
        let before = self.accesses[..store].iter().rev().take(FAR).filter(|a| a.thread == own.thread);
        let mut loads = before.take(NEAR).take_while(|a| a.act == Act::Load).enumerate();
        let is_there = |a: &Access| (a.line, a.word()) == (own.line, own.word());
        own.act == Act::Exchange || loads.any(|(nth, a)| is_there(a) && (nth == 0 || a.place == own.place))
    }

    /// Whether `store` gives a lock back that `load` waits for: it clears what its host had set there before, or hands a ticket on to
    /// hosts that do the same.
    pub(crate) fn gives_back(&self, store: usize, load: usize) -> bool {
        let (back, waits) = (&self.accesses[store], &self.accesses[load]);
        let is_there = |a: &Access| {
            a.act.is_store() && (a.line, a.offset, a.size) == (back.line, back.offset, back.size)
        };
        let (before, after) = self.accesses.split_at(store);
        let last = before.iter().rev().take(FAR).find(|a| is_there(a));
        let was = last.map_or(0, |a| a.value);
        let is_cleared = back.value == 0 && was != 0 && last.is_some_and(|a| a.host == back.host);
        let next = after[1..].iter().take(FAR).find(|a| is_there(a));
        let is_handed_on = back.value == was.wrapping_add(1)
            && next.is_some_and(|a| a.host == waits.host && a.value == back.value.wrapping_add(1));
        waits.host != back.host && (is_cleared || is_handed_on)
    }

    /// The threads of each host.
    pub(crate) fn threads_of_hosts(&self) -> [BTreeSet<usize>; MOST_HOSTS] {
        let mut threads: [BTreeSet<usize>; MOST_HOSTS] = Default::default();
        self.accesses.iter().for_each(|access| _ = threads[access.host].insert(access.thread));
        threads
    }

    /// The stores to each word, in order.
    fn stores(&self) -> Stores {
        let mut stores = Stores::new();
        for (index, access) in self.accesses.iter().enumerate().filter(|(_, a)| a.act.is_store()) {
            stores.entry((access.line, access.word())).or_default().push(index);
        }
        stores
    }

    /// That loads gave bytes that no recorded store left, although the word had others before.
    pub(crate) fn unexplained(&self) -> Option<String> {
        let stores = self.stores();
        let mut loaded: BTreeMap<(usize, usize), (u64, u64)> = BTreeMap::new();
        let (mut count, mut searched, mut first) = (0, 0, None);
        for (index, access) in self.accesses.iter().enumerate().filter(|(_, a)| a.act == Act::Load) {
            let (bytes, known) = loaded.entry((access.line, access.word())).or_insert((0, 0));
            let is_changed = (*bytes ^ access.placed()) & *known & access.mask() != 0;
            *bytes = *bytes & !access.mask() | access.placed();
            *known |= access.mask();
            let all = stores.get(&(access.line, access.word())).map(Vec::as_slice).unwrap_or_default();
            let leaves = |store: &usize| {
                let store = &self.accesses[*store];
                let overlap = store.mask() & access.mask();
                overlap != 0 && (store.placed() ^ access.placed()) & overlap == 0
            };
            if !is_changed || self.seen(&stores, index).is_some() {
                continue;
            }
            searched += 1;
            if !all.iter().any(leaves) {
                count += 1;
                first.get_or_insert(index);
            }
            if searched == MOST_SEARCHED {
                break;
            }
        }
        let access = &self.accesses[first?];
        let loads = if count == 1 { "a load got".into() } else { format!("{count} loads got") };
        Some(format!(
            "{loads} bytes that no recorded store left, the first on host {} at {}: what stores of inline assembly, code without hooks and the kernel do to this memory is not seen",
            access.host, access.place
        ))
    }

    /// The store whose bytes a load gave: the last one before it that left its value, or one that was about to be.
    fn seen(&self, stores: &Stores, load: usize) -> Option<usize> {
        let access = &self.accesses[load];
        let all = stores.get(&(access.line, access.word()))?;
        let (before, after) = all.split_at(all.partition_point(|store| *store < load));
        let overlap = |store: &usize| self.accesses[*store].mask() & access.mask();
        let agrees = |store: &usize| (self.accesses[*store].placed() ^ access.placed()) & overlap(store) == 0;
        let is_own = |store: &usize| self.accesses[*store].thread == access.thread;
        for store in before.iter().rev().filter(|s| overlap(s) != 0).take(NEAR) {
            if agrees(store) {
                return Some(*store);
            }
            if is_own(store) {
                break;
            }
        }
        if access.placed() == 0 && before.iter().all(|s| overlap(s) == 0) {
            // As a new file has it.
            return None;
        }
        let soon = after.iter().copied().filter(|s| overlap(s) != 0 && !is_own(s)).take(self.hosts);
        soon.into_iter().find(|store| agrees(store) && self.is_next(load, *store))
    }

    /// Whether a store is what its thread did next after `load`: it may have been made before it got its place.
    fn is_next(&self, load: usize, store: usize) -> bool {
        let thread = self.accesses[store].thread;
        self.accesses[load..store].iter().all(|access| access.thread != thread)
    }
}
