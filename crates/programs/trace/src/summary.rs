//! What a recording holds, counted: written into the file when it is written, so that nobody has to read all of it to know.
//!
//! A line for each thing: a word, then numbers. In a block file it is the text before the end block, whose contents say where that
//! text begins; in Parquet it is among the metadata, and counts only where this program wrote the file and the rows are as many.

use crate::about::About;
use crate::record::{Call, KINDS, Kind};
use crate::recording::Recording;
use crate::scan::{Counts, FileCounts, UnseenCounts};
use crate::space::is_memory;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::{FromStr, SplitWhitespace};

/// The first line. Another one is of a program that counts something else.
const VERSION: &str = "summary 1";

/// A text that is longer is left out: whoever wants to know reads the records.
const LONGEST: usize = 16 << 20;

/// What was done to a file, and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSummary {
    /// What was done to it.
    pub counts: FileCounts,
    /// Its size at the end; of memory without a file, what was declared.
    pub bytes: u64,
}

/// What a recording holds, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Records by thread.
    pub threads: Vec<u64>,
    /// Instructions that were counted.
    pub instructions: u64,
    /// Records by kind.
    kinds: [u64; KINDS.len()],
    /// Calls that touch files.
    pub calls: BTreeMap<Call, u64>,
    /// Ranges that were mapped: first address and length.
    pub ranges: Vec<(u64, u64)>,
    /// Files that are described or met, by number.
    pub files: BTreeMap<u32, FileSummary>,
    /// By number of its text.
    pub unseen: BTreeMap<u64, UnseenCounts>,
}

/// What is said of a recording, without its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// What is said beside the records.
    pub about: About,
    /// What they are, counted.
    pub summary: Summary,
}

impl Described {
    /// Of a recording that was read.
    pub fn of(recording: &Recording) -> Described {
        let summary = Summary::of(recording.about(), recording.counts());
        Described { about: recording.about().clone(), summary }
    }
}

impl Summary {
    pub(crate) fn of(about: &About, counts: &Counts) -> Summary {
        let reached = counts.extents.by_file();
        let size = |number: u32| {
            if is_memory(number) {
                reached.get(&number).copied().unwrap_or(0)
            } else {
                counts.sizes.of(number)
            }
        };
        let described = about.files.keys().map(|number| (*number, FileCounts::default()));
        let mut files: BTreeMap<u32, FileCounts> = described.collect();
        files.extend(counts.files.iter().map(|(number, file)| (*number, *file)));
        let file = |(number, counts)| (number, FileSummary { counts, bytes: size(number) });
        Summary {
            threads: counts.threads.clone(),
            instructions: counts.instructions,
            kinds: KINDS.map(|kind| counts.kind(kind)),
            calls: counts.calls.clone(),
            ranges: counts.ranges.clone(),
            files: files.into_iter().map(file).collect(),
            unseen: counts.unseen.clone(),
        }
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.threads.iter().fold(0, |sum, thread| sum.saturating_add(*thread))
    }

    /// How many records are of this kind.
    pub fn kind(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize]
    }

    /// Kinds that there are, and how many records of each.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, u64)> {
        KINDS.into_iter().map(|k| (k, self.kind(k))).filter(|(_, n)| *n > 0)
    }

    /// Whether something was ever made durable: see [`Counts::makes_durable`].
    pub fn makes_durable(&self) -> bool {
        crate::scan::makes_durable(|kind| self.kind(kind), &self.calls)
    }

    /// The text that [`Summary::read`] makes the same of; none where it would be too long.
    pub(crate) fn text(&self) -> Option<String> {
        let mut all = format!("{VERSION}\n");
        let mut line = |word: &str, numbers: &[u64]| {
            all += word;
            numbers.iter().for_each(|n| _ = write!(all, " {n}"));
            all.push('\n');
            all.len() <= LONGEST
        };
        let mut fits = line("threads", &self.threads) && line("instructions", &[self.instructions]);
        let mut of = |word: &str, numbers: &[u64]| fits = fits && line(word, numbers);
        self.kinds().for_each(|(kind, n)| of("kind", &[kind as u64, n]));
        self.calls.iter().for_each(|(call, n)| of("call", &[*call as u64, *n]));
        self.ranges.iter().for_each(|(from, n)| of("range", &[*from, *n]));
        for (number, FileSummary { counts: c, bytes }) in &self.files {
            let counted = [c.loads, c.stores, c.flushes, c.written, c.syncs, c.observed, c.maps, c.calls];
            of("file", &[&[u64::from(*number), *bytes], counted.as_slice()].concat());
        }
        for (number, c) in &self.unseen {
            of("unseen", &[*number, c.times, c.bytes]);
            c.locations.iter().for_each(|(at, n)| of("unseen-at", &[*number, u64::from(*at), *n]));
            for (file, n) in &c.files {
                let file: &[u64] = &file.map_or(vec![], |file| vec![u64::from(file)]);
                of("unseen-of", &[&[*number, *n], file].concat());
            }
        }
        fits.then_some(all)
    }

    /// Reads the text; none where it is another version's, or not understood.
    pub(crate) fn read(text: &str) -> Option<Summary> {
        let mut all = Summary::default();
        let mut lines = text.lines();
        (lines.next()? == VERSION).then_some(())?;
        for line in lines {
            let mut words = line.split_whitespace();
            all.line(words.next()?, &mut words)?;
            words.next().is_none().then_some(())?;
        }
        let sum = all.kinds.iter().try_fold(0u64, |sum, n| sum.checked_add(*n))?;
        (sum == all.records()).then_some(all)
    }

    fn line(&mut self, word: &str, of: &mut SplitWhitespace<'_>) -> Option<()> {
        match word {
            "threads" => self.threads = of.map(|n| n.parse().ok()).collect::<Option<_>>()?,
            "instructions" => self.instructions = next(of)?,
            "kind" => {
                let kind = self.kinds.get_mut(next::<usize>(of)?)?;
                *kind = next(of)?;
            }
            "call" => _ = self.calls.insert(Call::from_number(next(of)?)?, next(of)?),
            "range" => self.ranges.push((next(of)?, next(of)?)),
            "file" => _ = self.files.insert(next(of)?, file(of)?),
            "unseen" => {
                let entry = self.unseen.entry(next(of)?).or_default();
                (entry.times, entry.bytes) = (next(of)?, next(of)?);
            }
            "unseen-at" => {
                let entry = self.unseen.get_mut(&next(of)?)?;
                entry.locations.insert(next(of)?, next(of)?);
            }
            "unseen-of" => {
                let (entry, times) = (self.unseen.get_mut(&next(of)?)?, next(of)?);
                let file = of.next().map(|n| n.parse().ok()).map_or(Some(None), |n| n.map(Some))?;
                entry.files.insert(file, times);
            }
            _ => return None,
        }
        Some(())
    }
}

fn next<N: FromStr>(words: &mut SplitWhitespace<'_>) -> Option<N> {
    words.next()?.parse().ok()
}

fn file(of: &mut SplitWhitespace<'_>) -> Option<FileSummary> {
    let bytes = next(of)?;
    let counts = FileCounts {
        loads: next(of)?,
        stores: next(of)?,
        flushes: next(of)?,
        written: next(of)?,
        syncs: next(of)?,
        observed: next(of)?,
        maps: next(of)?,
        calls: next(of)?,
    };
    Some(FileSummary { counts, bytes })
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
