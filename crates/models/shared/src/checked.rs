//! Loads of data that other hosts may be storing, whose thread then finds that out and throws away what it loaded: readers of a sequence
//! lock, which look at a number, load data, drop the number and look at it again.

use crate::recorded::{Access, Act, Recorded};
use protocol::FlushKind;
use std::collections::{BTreeMap, BTreeSet};

/// How many of a thread's accesses before and after a load of data are searched for the looks around it.
const FAR: usize = 1 << 10;

/// A line, and a word of it.
type Word = (usize, usize);

/// What is known of looks around loads.
pub(crate) struct Checks {
    /// Each thread's accesses, in order.
    of_thread: Vec<Vec<usize>>,
    looked_at: BTreeSet<Word>,
    /// Whether a thread looks twice at a word between two times that it loads data of a line.
    twice: BTreeMap<(usize, Word, usize), bool>,
}

impl Recorded {
    /// Words that hosts look at for what others store: volatile, atomic, or loaded again and again with nothing between but drops.
    pub(crate) fn looked_at(&self) -> BTreeSet<Word> {
        let mut last: Vec<Option<(usize, bool)>> = vec![None; self.threads()];
        let mut looked_at = BTreeSet::new();
        for (index, access) in self.accesses.iter().enumerate() {
            let word = (access.line, access.word());
            let last = &mut last[access.thread];
            match access.act {
                Act::Load => {
                    let is_again = last.is_some_and(|(before, is_dropped)| {
                        let before = &self.accesses[before];
                        is_dropped && (before.line, before.word()) == word && before.place == access.place
                    });
                    if access.looks || is_again {
                        looked_at.insert(word);
                    }
                    *last = Some((index, false));
                }
                Act::Flush(kind) => {
                    if let Some((before, is_dropped)) = last {
                        *is_dropped |= kind != FlushKind::Clwb && self.accesses[*before].line == access.line;
                    }
                }
                Act::Exchange => {
                    looked_at.insert(word);
                    *last = None;
                }
                Act::Store | Act::StorePast | Act::Lock | Act::Unlock => *last = None,
                Act::Fence | Act::Again => {}
            }
        }
        looked_at
    }
}

impl Checks {
    pub(crate) fn new(recorded: &Recorded) -> Checks {
        let mut of_thread = vec![Vec::new(); recorded.threads()];
        for (index, access) in recorded.accesses.iter().enumerate() {
            of_thread[access.thread].push(index);
        }
        Checks { of_thread, looked_at: recorded.looked_at(), twice: BTreeMap::new() }
    }

    /// Whether the thread of a load of data looks at a word before and after it, drops it between, and finds it changed.
    pub(crate) fn is_checked(&mut self, recorded: &Recorded, load: usize) -> bool {
        let data = recorded.accesses[load];
        let own = &self.of_thread[data.thread];
        let at = own.partition_point(|index| *index < load);
        let before = own[..at].iter().rev().take(FAR).map(|index| &recorded.accesses[*index]);
        let mut looks: BTreeMap<Word, &Access> = BTreeMap::new();
        for look in before.filter(|a| a.act == Act::Load && a.line != data.line) {
            looks.entry((look.line, look.word())).or_insert(look);
        }
        looks.retain(|word, _| self.looked_at.contains(word));
        let mut dropped = BTreeSet::new();
        let mut found = Vec::new();
        for again in own[at + 1..].iter().take(FAR).map(|index| &recorded.accesses[*index]) {
            match again.act {
                Act::Flush(kind) if kind != FlushKind::Clwb => _ = dropped.insert(again.line),
                Act::Load => {
                    let word = (again.line, again.word());
                    // The first one after the data says what was found.
                    let Some(look) = looks.remove(&word) else { continue };
                    let is_changed = look.value != again.value && dropped.contains(&again.line);
                    found.extend(is_changed.then_some((word, look.place != again.place)));
                }
                Act::Store | Act::StorePast | Act::Exchange => break,
                Act::Flush(_) | Act::Fence | Act::Again | Act::Lock | Act::Unlock => {}
            }
        }
        let is_check = |(word, is_elsewhere): (Word, bool)| {
            is_elsewhere || self.looks_twice(recorded, data.thread, word, data.line)
        };
        found.into_iter().any(is_check)
    }

    /// Whether a thread that finds a word as it was looks twice at it before it loads data of a line anew: once after the data, and
    /// once before the next.
    fn looks_twice(&mut self, recorded: &Recorded, thread: usize, word: Word, line: usize) -> bool {
        let own = &self.of_thread[thread];
        *self.twice.entry((thread, word, line)).or_insert_with(|| {
            let (mut value, mut looks, mut is_loaded) = (None, 0, false);
            let (mut is_twice, mut is_once) = (false, false);
            for access in own.iter().map(|index| &recorded.accesses[*index]).filter(|a| a.act == Act::Load) {
                if (access.line, access.word()) == word {
                    let is_same = value == Some(access.value);
                    is_twice |= looks == 1;
                    looks = if is_loaded && is_same { looks + 1 } else { 0 };
                    is_loaded &= is_same;
                    value = Some(access.value);
                } else if access.line == line {
                    is_once |= looks == 1;
                    is_twice |= looks > 1;
                    (looks, is_loaded) = (0, true);
                }
            }
            (is_twice || looks == 1) && !is_once
        })
    }
}
