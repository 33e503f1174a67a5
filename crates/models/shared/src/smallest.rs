//! From a recording that shows a mistake to the fewest of its accesses that still show it, in their order.
//!
//! What is left out is left out whole: no store stays without the flush that followed it and the fence that waited for that, no
//! load or store without the invalidation of its line before it. So nothing is wrong in what stays that was right in the recording.

use crate::finding::Finding;
use crate::recorded::{Access, Act, Recorded};
use crate::replay::replay_once;
use crate::search::{Found, MOST_STEPS};
use params::Settings;
use protocol::FlushKind;
use std::collections::{BTreeMap, BTreeSet};
use units::watch;

/// Accesses that are gone through for one mistake; then what was found so far is the smallest.
pub(crate) const MOST_REPLAYED: u64 = 2_000_000;

/// Accesses before a mistake that are tried first.
const LEAST: usize = 32;

/// What of a recording is kept: the numbers of accesses, in order.
type Kept = BTreeSet<usize>;

pub(crate) struct Smallest<'a> {
    machine: &'a Settings,
    recorded: &'a Recorded,
    belongs: Belongs,
}

/// What belongs to an access.
struct Belongs {
    /// Of each access, those without which it is not kept.
    with: Vec<Vec<usize>>,
    /// Of each load and store, the invalidation of its line before it.
    dropped: Vec<Option<usize>>,
}

impl<'a> Smallest<'a> {
    pub(crate) fn new(machine: &'a Settings, recorded: &'a Recorded) -> Smallest<'a> {
        Smallest { machine, recorded, belongs: Belongs::new(&recorded.accesses) }
    }

    /// The smallest part that is found to show what `found` says; `concerned` are the accesses that it speaks of. Whether the
    /// search ended before its limit comes beside it; none where no part shows it within that.
    pub(crate) fn of(&self, found: &Finding, concerned: &[usize]) -> Option<(Found, bool)> {
        let mut search = Reduced { smallest: self, wanted: found, left: MOST_REPLAYED, best: None };
        if !self.windows(concerned).any(|kept| search.shows(&kept)) {
            return None;
        }
        search.without_groups(|access| access.host);
        search.without_groups(|access| access.line);
        search.without_parts();
        let is_whole = search.left > 0;
        search.best.map(|(found, _)| (found, is_whole))
    }

    /// What may show a mistake, the smallest first: of the hosts and lines that it is about, the last few accesses before it, then more; at
    /// last everything.
    fn windows<'b>(&'b self, concerned: &'b [usize]) -> impl Iterator<Item = Kept> + 'b {
        let all = 0..self.recorded.accesses.len();
        let near: Vec<usize> = all.clone().filter(|index| self.is_near(*index, concerned)).collect();
        let lengths = std::iter::successors(Some(LEAST), |length| Some(length * 4));
        let lengths: Vec<usize> = lengths.take_while(|length| *length < near.len() * 4).collect();
        let last = move |length: usize| near[near.len().saturating_sub(length)..].to_vec();
        let with =
            move |kept: Vec<usize>| self.closed(kept.into_iter().chain(concerned.iter().copied()).collect());
        lengths
            .into_iter()
            .map(move |length| with(last(length)))
            .chain(std::iter::once_with(move || all.collect()))
    }

    /// Whether an access is of a host and a line that a mistake is about, and no later than what it speaks of last.
    fn is_near(&self, index: usize, concerned: &[usize]) -> bool {
        let about = || concerned.iter().map(|index| &self.recorded.accesses[*index]);
        let access = &self.recorded.accesses[index];
        let is_before = concerned.iter().any(|last| index <= *last);
        let has_no_line = matches!(access.act, Act::Fence);
        is_before
            && about().any(|a| a.host == access.host)
            && (has_no_line || about().any(|a| a.line == access.line))
    }

    /// With all without which these are not kept.
    fn closed(&self, mut kept: Kept) -> Kept {
        let mut open: Vec<usize> = kept.iter().copied().collect();
        while !open.is_empty() {
            while let Some(index) = open.pop() {
                let with = self.belongs.with[index].iter().copied();
                open.extend(with.filter(|with| kept.insert(*with)));
            }
            open = self.drops(&kept);
            kept.extend(&open);
        }
        kept
    }

    /// Invalidations that are not kept, between two accesses that are.
    fn drops(&self, kept: &Kept) -> Vec<usize> {
        let mut first: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let mut lacking = Vec::new();
        for index in kept.iter().copied().filter(|index| self.recorded.accesses[*index].act.is_access()) {
            let access = &self.recorded.accesses[index];
            let first = *first.entry((access.host, access.line)).or_insert(index);
            lacking.extend(self.belongs.dropped[index].filter(|drop| *drop > first && !kept.contains(drop)));
        }
        lacking
    }

    /// The recording of these alone, on the lines that they touch.
    fn part(&self, kept: &Kept) -> Recorded {
        let whole = self.recorded;
        let accesses = || kept.iter().map(|index| whole.accesses[*index]);
        let lines: BTreeSet<usize> = accesses().map(|access| access.line).collect();
        let numbers: BTreeMap<usize, usize> = lines.iter().copied().zip(0..).collect();
        Recorded {
            hosts: whole.hosts,
            lines: lines.iter().map(|line| whole.lines[*line]).collect(),
            coherent: lines.iter().map(|line| whole.coherent[*line]).collect(),
            accesses: accesses().map(|access| Access { line: numbers[&access.line], ..access }).collect(),
        }
    }
}

struct Reduced<'a> {
    smallest: &'a Smallest<'a>,
    wanted: &'a Finding,
    /// Accesses that may still be gone through.
    left: u64,
    best: Option<(Found, Kept)>,
}

impl Reduced<'_> {
    /// Whether a part shows the same, within the limit; it is then the best so far.
    fn shows(&mut self, kept: &Kept) -> bool {
        watch::check();
        // The first one is tried in any case.
        if self.left == 0 {
            return false;
        }
        self.left = self.left.saturating_sub(kept.len() as u64);
        let replayed = replay_once(self.smallest.machine, &self.smallest.part(kept), true);
        let same = replayed
            .found
            .into_iter()
            .map(|(found, _)| found)
            .find(|found| found.finding.says_the_same(self.wanted));
        let Some(mut found) = same else { return false };
        // What belongs to it and comes after it shows nothing.
        found.operations = match found.steps.len() {
            MOST_STEPS.. => kept.len() as u64,
            steps => steps as u64,
        };
        self.best = Some((found, kept.clone()));
        true
    }

    fn kept(&self) -> Kept {
        self.best.as_ref().map(|(_, kept)| kept.clone()).unwrap_or_default()
    }

    /// Leaves out all accesses of one kind, as long as that goes.
    fn without_groups(&mut self, group: impl Fn(&Access) -> usize) {
        let whole = self.smallest.recorded;
        let group_of = |index: &usize| group(&whole.accesses[*index]);
        let mut groups: Vec<usize> = self.kept().iter().map(group_of).collect();
        groups.sort_unstable();
        groups.dedup();
        self.without(&groups, |index, out| out.contains(&group_of(&index)));
    }

    /// Leaves out accesses that follow each other, first many, then fewer.
    fn without_parts(&mut self) {
        loop {
            let all: Vec<usize> = self.kept().into_iter().collect();
            self.without(&all, |index, out| out.contains(&index));
            if self.kept().len() == all.len() || self.left == 0 {
                return;
            }
        }
    }

    /// Leaves out stretches of `all`, halved as long as nothing can be left out; `is_out` says what access that is.
    fn without(&mut self, all: &[usize], is_out: impl Fn(usize, &BTreeSet<usize>) -> bool) {
        let mut length = all.len().div_ceil(2);
        loop {
            for stretch in all.chunks(length.max(1)) {
                let out: BTreeSet<usize> = stretch.iter().copied().collect();
                let before = self.kept();
                let less = before.iter().copied().filter(|index| !is_out(*index, &out)).collect();
                let less = self.smallest.closed(less);
                if less.len() < before.len() {
                    self.shows(&less);
                }
            }
            if length <= 1 || self.left == 0 {
                return;
            }
            length = length.div_ceil(2);
        }
    }
}

impl Belongs {
    fn new(accesses: &[Access]) -> Belongs {
        let nothing = || vec![Vec::new(); accesses.len()];
        let mut belongs = Belongs { with: nothing(), dropped: vec![None; accesses.len()] };
        let mut open = Open::default();
        accesses.iter().enumerate().for_each(|(index, access)| belongs.follow(&mut open, index, access));
        belongs
    }

    fn follow(&mut self, open: &mut Open, index: usize, access: &Access) {
        let (line, word) = ((access.host, access.line), (access.thread, access.line, access.offset));
        if matches!(access.act, Act::Fence | Act::Exchange) {
            let flushes = open.unfenced.remove(&access.host).unwrap_or_default();
            flushes.into_iter().for_each(|flush| self.with[flush].push(index));
        }
        if access.act.is_access() {
            self.dropped[index] = open.dropped.get(&line).copied();
        }
        match access.act {
            Act::Load => _ = open.loaded.insert(word, index),
            Act::Again => {
                if let Some(load) = open.loaded.get(&word).copied() {
                    self.with[load].push(index);
                    self.with[index].push(load);
                }
            }
            Act::Fence => {}
            Act::Store | Act::Exchange => open.unflushed.entry(line).or_default().push(index),
            Act::StorePast => open.unfenced.entry(access.host).or_default().push(index),
            Act::Flush(kind) => {
                let stores = open.unflushed.remove(&line).unwrap_or_default();
                if !stores.is_empty() {
                    open.unfenced.entry(access.host).or_default().push(index);
                }
                stores.into_iter().for_each(|store| self.with[store].push(index));
                if kind != FlushKind::Clwb {
                    open.dropped.insert(line, index);
                }
            }
            Act::Lock => _ = open.locked.insert(word, index),
            Act::Unlock => {
                if let Some(lock) = open.locked.remove(&word) {
                    self.with[lock].push(index);
                    self.with[index].push(lock);
                }
            }
        }
    }
}

/// What waits for something that belongs to it.
#[derive(Default)]
struct Open {
    /// Each host's last invalidation of a line.
    dropped: BTreeMap<(usize, usize), usize>,
    /// Each thread's last load of each word.
    loaded: BTreeMap<(usize, usize, usize), usize>,
    /// Locks that threads have.
    locked: BTreeMap<(usize, usize, usize), usize>,
    /// Stores that wait for a flush of their host.
    unflushed: BTreeMap<(usize, usize), Vec<usize>>,
    /// What waits for a fence.
    unfenced: BTreeMap<usize, Vec<usize>>,
}
