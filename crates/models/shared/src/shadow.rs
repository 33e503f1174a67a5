//! Who stored what, and what each host knows of it: beside the bytes, never instead of them.
//!
//! Every store has a version. A copy of a word carries its version wherever it goes, so that a load tells which store's bytes
//! it got. What a host knows is a vector clock, passed on by a release and the acquire that reads it. Bytes that a load got
//! are stale when the host knew of newer ones; two hosts' stores into a line are in conflict when neither knew of the other's.

use crate::source_line::SourceLine;
use units::Time;

/// The most hosts, and the most cores of all hosts together.
pub(crate) const MOST_HOSTS: usize = 8;

/// The number of a store; 0 is what the device held at first.
pub(crate) type Version = u32;

/// A word with the store that it is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Word {
    pub(crate) value: u64,
    pub(crate) version: Version,
}

type Clock = [u32; MOST_HOSTS];

/// So many stores are remembered before old ones are first forgotten.
const LEAST: usize = 1 << 14;

/// A store.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) host: usize,
    /// Its core, of all hosts' cores.
    core: usize,
    pub(crate) site: SourceLine,
    pub(crate) time: Time,
    /// The store before it to the same word.
    previous: Version,
    epoch: u32,
    /// Where it is a release, which of the clocks of releases says what its host knew, from 1 on.
    tells: u32,
    /// Its bytes were lost when its host stopped.
    pub(crate) lost: bool,
    /// The first flush instruction of its host after it.
    pub(crate) flushed: Option<(SourceLine, Time)>,
}

/// The stores to a line.
#[derive(Clone, Debug, Default)]
struct Line {
    latest: [Version; 8],
    /// Of each core.
    last_by: [Version; MOST_HOSTS],
}

/// A place: a line, and a word of it.
pub(crate) type Place = (usize, usize);

/// All stores.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    stores: Vec<Stored>,
    lines: Vec<Line>,
    /// Cores of each host.
    cores: usize,
    /// Of each core.
    clocks: Vec<Clock>,
    /// Each core's releases.
    releases: Vec<Vec<Version>>,
    /// What the cores of releases knew.
    told: Vec<Clock>,
    /// So many stores are remembered until old ones are forgotten.
    pub(crate) most: usize,
}

impl Shadow {
    /// So many hosts, each with so many cores.
    pub(crate) fn new((hosts, cores): (usize, usize), lines: usize) -> Shadow {
        let clock = |core| {
            let mut clock = [0; MOST_HOSTS];
            clock[core] = 1;
            clock
        };
        Shadow {
            stores: Vec::new(),
            lines: vec![Line::default(); lines],
            cores,
            clocks: (0..hosts * cores).map(clock).collect(),
            releases: vec![Vec::new(); hosts * cores],
            told: Vec::new(),
            most: LEAST,
        }
    }

    /// A store by its version, none for what was there at first.
    pub(crate) fn stored(&self, version: Version) -> Option<&Stored> {
        self.stores.get(version.checked_sub(1)? as usize)
    }

    /// The newest store to a word.
    pub(crate) fn latest(&self, (line, word): Place) -> Version {
        self.lines[line].latest[word]
    }

    /// The newest store of a core into a line; 0 where there is none.
    pub(crate) fn last_by(&self, line: usize, core: usize) -> Version {
        self.lines[line].last_by[core]
    }

    /// Whether `core` knows of a store that still counts.
    fn knows(&self, core: usize, version: Version) -> bool {
        self.stored(version).is_some_and(|s| !s.lost && self.clocks[core][s.core] >= s.epoch)
    }

    /// A store, which becomes the newest to its word; gives its version.
    pub(crate) fn store(
        &mut self,
        core: usize,
        (line, word): Place,
        release: bool,
        (site, time): (SourceLine, Time),
    ) -> Version {
        let host = core / self.cores;
        self.told.extend(release.then_some(self.clocks[core]));
        let tells = if release { self.told.len() as u32 } else { 0 };
        let (previous, epoch) = (self.lines[line].latest[word], self.clocks[core][core]);
        self.stores.push(Stored {
            host,
            core,
            site,
            time,
            previous,
            epoch,
            tells,
            lost: false,
            flushed: None,
        });
        let version = self.stores.len() as Version;
        self.lines[line].latest[word] = version;
        self.lines[line].last_by[core] = version;
        if release {
            self.releases[core].push(version);
            self.clocks[core][core] += 1;
        }
        version
    }

    /// `core` reads a release: it knows what the one who released knew.
    pub(crate) fn acquire(&mut self, core: usize, version: Version) {
        let tells = self.stored(version).map_or(0, |s| s.tells);
        if let Some(told) = tells.checked_sub(1).map(|index| self.told[index as usize]) {
            self.join(core, &told);
        }
    }

    /// `core` is told that core `gone` is gone: whatever that one did has happened.
    pub(crate) fn told_gone(&mut self, core: usize, gone: usize) {
        let tells = self.clocks[gone];
        self.join(core, &tells);
    }

    fn join(&mut self, core: usize, tells: &Clock) {
        self.clocks[core].iter_mut().zip(tells).for_each(|(own, told)| *own = (*own).max(*told));
    }

    /// The store that `core` knew of and whose bytes it did not get, when it got those of `got`.
    pub(crate) fn stale(&self, core: usize, place: Place, got: Version) -> Option<Version> {
        let mut version = self.latest(place);
        while version > got {
            if self.knows(core, version) {
                return Some(version);
            }
            version = self.stored(version)?.previous;
        }
        None
    }

    /// Whether nothing stands between another host's store and this core's load of it.
    pub(crate) fn is_unordered(&self, core: usize, got: Version) -> bool {
        let host = core / self.cores;
        self.stored(got).is_some_and(|s| s.host != host && !s.lost && !self.knows(core, got))
    }

    /// Another host's store into the line of which `core` does not know as it stores there itself; of one word alone where
    /// the store goes past the caches.
    pub(crate) fn conflict(&self, core: usize, line: usize, only: Option<usize>) -> Option<Version> {
        let own = &self.lines[line];
        let others = match only {
            Some(word) => &own.latest[word..=word],
            None => &own.last_by[..],
        };
        others.iter().copied().filter(|version| self.is_unordered(core, *version)).max()
    }

    /// Bytes in the line that a core's copy lacks although the core knows of them: its host will write older ones over them.
    pub(crate) fn lacks(&self, core: usize, (line, word): Place, copy: &[Word; 8]) -> Option<Version> {
        let others = (0..8).filter(|other| *other != word);
        let newer = others.map(|other| (self.lines[line].latest[other], copy[other].version));
        newer
            .filter(|(latest, has)| latest > has && self.knows(core, *latest))
            .map(|(latest, _)| latest)
            .max()
    }

    /// `host` flushes a line at `at`, of which it has these words: what it had stored there before is flushed for the first time.
    pub(crate) fn flush(&mut self, host: usize, line: usize, words: &[Word; 8], at: (SourceLine, Time)) {
        let own = host * self.cores..(host + 1) * self.cores;
        if self.lines[line].last_by[own].iter().all(|version| *version == 0) {
            return;
        }
        for word in words {
            let Some(index) = word.version.checked_sub(1) else { continue };
            let store = &mut self.stores[index as usize];
            if store.host == host && store.flushed.is_none() {
                store.flushed = Some(at);
            }
        }
    }

    /// `host` stops; `on_device` is the version of a word that the device has.
    pub(crate) fn lose(&mut self, host: usize, on_device: impl Fn(Place) -> Version) {
        for line in 0..self.lines.len() {
            for word in 0..8 {
                let has = on_device((line, word));
                let mut version = self.lines[line].latest[word];
                while version > has {
                    let store = &mut self.stores[version as usize - 1];
                    store.lost |= store.host == host;
                    version = store.previous;
                }
            }
        }
    }

    /// The release of its core that first told of a store, where there was one.
    pub(crate) fn told_by(&self, version: Version) -> Option<&Stored> {
        self.stored(self.release_of(version)?)
    }

    fn release_of(&self, version: Version) -> Option<Version> {
        let store = self.stored(version)?;
        let releases = &self.releases[store.core];
        // Each one ends an epoch of its core.
        let is_before = |release: &Version| self.stored(*release).is_some_and(|r| r.epoch < store.epoch);
        releases.get(releases.partition_point(is_before)).copied()
    }

    /// Whether old stores are to be forgotten.
    pub(crate) fn is_full(&self) -> bool {
        self.stores.len() >= self.most
    }

    /// The newest store to each word of each line.
    pub(crate) fn newest(&self) -> Vec<[Version; 8]> {
        self.lines.iter().map(|line| line.latest).collect()
    }

    /// Forgets all stores but `others` and those that are as new as what is still `held` of a word, and what told of these. Gives
    /// each version's new number, in the same order.
    pub(crate) fn forget(&mut self, held: &[[Version; 8]], others: &[Version]) -> Vec<Version> {
        let mut is_kept = vec![false; self.stores.len() + 1];
        others.iter().for_each(|version| is_kept[*version as usize] = true);
        for (line, held) in self.lines.iter().zip(held) {
            line.last_by.iter().chain(held).for_each(|version| is_kept[*version as usize] = true);
            for (latest, held) in line.latest.iter().zip(held) {
                let mut version = *latest;
                while version > *held {
                    is_kept[version as usize] = true;
                    version = self.stores[version as usize - 1].previous;
                }
            }
        }
        for version in 1..is_kept.len() {
            if is_kept[version]
                && let Some(release) = self.release_of(version as Version)
            {
                is_kept[release as usize] = true;
            }
        }
        self.keep(&is_kept)
    }

    fn keep(&mut self, is_kept: &[bool]) -> Vec<Version> {
        let mut numbers = vec![0; is_kept.len()];
        let mut kept = Vec::new();
        let mut told = Vec::new();
        for (index, mut store) in std::mem::take(&mut self.stores).into_iter().enumerate() {
            if !is_kept[index + 1] {
                continue;
            }
            store.previous = numbers[store.previous as usize];
            if let Some(tells) = store.tells.checked_sub(1) {
                told.push(self.told[tells as usize]);
                store.tells = told.len() as u32;
            }
            kept.push(store);
            numbers[index + 1] = kept.len() as Version;
        }
        let number = |version: &mut Version| *version = numbers[*version as usize];
        for line in &mut self.lines {
            line.latest.iter_mut().chain(&mut line.last_by).for_each(number);
        }
        for releases in &mut self.releases {
            releases.retain(|release| is_kept[*release as usize]);
            releases.iter_mut().for_each(number);
        }
        (self.stores, self.told) = (kept, told);
        self.most = self.most.max(2 * self.stores.len());
        numbers
    }
}
