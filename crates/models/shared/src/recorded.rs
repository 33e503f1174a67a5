//! Programs of several hosts that were recorded, a process each, on a machine that keeps its caches coherent: what each load saw,
//! and what its host knew by then.
//!
//! A load that saw another host's store *looks* at it if nothing told of that store before: it may wait for it. From then on its
//! host knows all that the other one did until there, and a load of that has to get it at once.

use crate::shadow::MOST_HOSTS;
use crate::source_line::SourceLine;
use protocol::FlushKind;
use std::collections::{BTreeMap, BTreeSet};

/// What a host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Loaded `value`.
    Load,
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
}

/// Something that a host did, within a word.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The host.
    pub host: usize,
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

/// What a load saw, or what a lock waited for.
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
}

/// How many stores to a word before a load are searched for the one whose value it gave: the counter of places and the access
/// are not one step.
const NEAR: usize = 64;

/// How far each host's doings are known, one more than the number of the last access.
type Known = [u32; MOST_HOSTS];

/// What a host knows, and what told it: how far each time, and the store or unlock.
#[derive(Clone, Default)]
struct Knows {
    now: Known,
    learnt: [Vec<(u32, usize)>; MOST_HOSTS],
}

impl Knows {
    fn learn(&mut self, told: &Known, from: usize) {
        for (other, level) in
            told.iter().enumerate().filter(|(other, level)| **level > self.now[*other]).collect::<Vec<_>>()
        {
            self.now[other] = *level;
            self.learnt[other].push((*level, from));
        }
    }

    /// What first told of an access of another host.
    fn told_of(&self, other: usize, access: usize) -> Option<usize> {
        let learnt = &self.learnt[other];
        let first = learnt.partition_point(|(level, _)| *level <= access as u32);
        learnt.get(first).map(|(_, from)| *from)
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
                    "{} and {} exchange one word by locked operations: these are atomic among the cores of a host and not between hosts, unless hardware keeps the line coherent (shared.coherent_lines)",
                    place(before),
                    place(access)
                ));
            }
        }
        None
    }

    /// Finds what each load saw; those of `but` saw nothing that was to be seen.
    pub(crate) fn sights(&self, but: &BTreeSet<usize>) -> Sights {
        let stores = self.stores();
        let mut hosts = vec![Knows::default(); self.hosts];
        let mut tells: BTreeMap<usize, Known> = BTreeMap::new();
        let mut given_back: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut sights = Sights { saw: vec![Saw::Nothing; self.accesses.len()], tells: BTreeSet::new() };
        for (index, access) in self.accesses.iter().enumerate() {
            let (host, lock) = (access.host, (access.line, access.offset));
            hosts[host].now[host] = index as u32 + 1;
            match access.act {
                Act::Load if but.contains(&index) => {}
                Act::Load => {
                    let Some(store) = self.seen(&stores, index) else { continue };
                    let other = self.accesses[store].host;
                    if other == host || (store as u32) < hosts[host].now[other] {
                        let told = hosts[host].told_of(other, store).filter(|_| other != host);
                        sights.saw[index] = Saw::Known(store, told);
                    } else {
                        sights.saw[index] = Saw::Looked(store);
                        sights.tells.insert(store);
                        tells.get(&store).into_iter().for_each(|knew| hosts[host].learn(knew, store));
                    }
                }
                Act::Lock => {
                    if let Some(before) = given_back.get(&lock) {
                        sights.saw[index] = Saw::Looked(*before);
                        tells.get(before).into_iter().for_each(|knew| hosts[host].learn(knew, *before));
                    }
                }
                Act::Unlock => {
                    given_back.insert(lock, index);
                    tells.insert(index, hosts[host].now);
                }
                Act::Store | Act::StorePast | Act::Exchange => _ = tells.insert(index, hosts[host].now),
                Act::Flush(_) | Act::Fence => {}
            }
        }
        sights
    }

    /// The stores to each word, in order.
    fn stores(&self) -> BTreeMap<(usize, usize), Vec<usize>> {
        let mut stores: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (index, access) in self.accesses.iter().enumerate().filter(|(_, a)| a.act.is_store()) {
            stores.entry((access.line, access.word())).or_default().push(index);
        }
        stores
    }

    /// The store whose bytes a load gave: the last one before it that left its value, or one that was about to be.
    fn seen(&self, stores: &BTreeMap<(usize, usize), Vec<usize>>, load: usize) -> Option<usize> {
        let access = &self.accesses[load];
        let all = stores.get(&(access.line, access.word()))?;
        let (before, after) = all.split_at(all.partition_point(|store| *store < load));
        let overlap = |store: &usize| self.accesses[*store].mask() & access.mask();
        let agrees = |store: &usize| (self.accesses[*store].placed() ^ access.placed()) & overlap(store) == 0;
        let is_own = |store: &usize| self.accesses[*store].host == access.host;
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

    /// Whether a store is what its host did next after `load`: it may have been made before it got its place.
    fn is_next(&self, load: usize, store: usize) -> bool {
        let host = self.accesses[store].host;
        self.accesses[load..store].iter().all(|access| access.host != host)
    }
}
