//! One image that a power failure may leave, and what a check says of it.

use super::cuts::Cuts;
use super::files::FileState;
use super::in_flight::Tracker;
use super::pages::{PageBytes, Pages};
use super::unit::{METADATA, Unit};
use protocol::{Line, PAGE_BYTES, line_of};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// What a check says of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Recovery copes.
    Holds,
    /// It does not; in words.
    Fails(String),
    /// The check could not be done, or was interrupted: the search ends with what it has.
    Stop,
}

/// What one run of a check gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What it says.
    pub verdict: Verdict,
    /// Lines of the image that it read, by address, when that is known: what it never read cannot have mattered. Without
    /// it the check is taken to read everything.
    pub read: Option<Vec<Range<u64>>>,
    /// It is known that it reads more than it tells: none of its reports is believed.
    pub more: bool,
}

impl Outcome {
    /// An outcome of a check of which nothing is known but its verdict.
    pub fn of(result: Result<(), String>) -> Outcome {
        let verdict = result.map_or_else(Verdict::Fails, |()| Verdict::Holds);
        Outcome { verdict, read: None, more: false }
    }
}

/// An image of all files at a crash point.
pub struct Candidate<'a> {
    persisted: &'a Pages,
    ended: &'a [u64],
    marks: &'a BTreeMap<u16, u64>,
    last_mark: Option<u64>,
    point: usize,
    choice: u64,
    /// Pages that are not as what is persisted has them.
    changed: Pages,
    files: Vec<FileState>,
}

impl<'a> Candidate<'a> {
    /// The image under a choice; units that it does not name keep all their stores in flight.
    pub(super) fn new(tracker: &'a Tracker<'_>, choice: &BTreeMap<Unit, usize>) -> Candidate<'a> {
        let changes = tracker.changes.len();
        let there = choice.get(&METADATA).copied().unwrap_or(changes).min(changes);
        let cuts = Cuts::new(&tracker.changes, there);
        let mut changed = Pages::default();
        cuts.clear(&tracker.persisted, &mut changed);
        for (unit, stores) in &tracker.in_flight {
            let kept = choice.get(unit).copied().unwrap_or(stores.len()).min(stores.len());
            for p in &stores[..kept] {
                let (mask, block) = tracker.block(*unit, p);
                let mask = mask & cuts.reached(*unit, p.event);
                if mask != 0 {
                    changed.copy_page(&tracker.persisted, *unit);
                    changed.write(line_of(*unit), &block, mask);
                }
            }
        }
        let mut hash = DefaultHasher::new();
        choice.hash(&mut hash);
        Candidate {
            persisted: &tracker.persisted,
            ended: &tracker.ended,
            marks: tracker.marks(),
            last_mark: tracker.last_mark(),
            point: tracker.at(),
            choice: hash.finish(),
            changed,
            files: tracker.files(there),
        }
    }

    /// The page at `address` of the log's address space; none where nothing was ever stored.
    pub fn page(&self, address: u64) -> Option<&PageBytes> {
        self.changed.page(address).or_else(|| self.persisted.page(address))
    }

    /// All pages that were ever stored to, by first address.
    pub fn pages(&self) -> impl Iterator<Item = (u64, &PageBytes)> {
        let all: BTreeSet<u64> = self.changed.addresses().chain(self.persisted.addresses()).collect();
        all.into_iter().filter_map(|a| Some((a, self.page(a)?)))
    }

    /// The bytes of a line.
    pub fn line(&self, line: Line) -> protocol::Block {
        let at = (line.address() % PAGE_BYTES) as usize;
        self.page(line.address()).map_or([0; 64], |p| p[at..at + 64].try_into().expect("a line of a page"))
    }

    /// Names and sizes of the files.
    pub fn files(&self) -> &[FileState] {
        &self.files
    }

    /// Events of the log that had happened.
    pub fn point(&self) -> usize {
        self.point
    }

    /// A sum of what it was made of: a search that is made again comes to images of the same point and sum.
    pub fn choice(&self) -> u64 {
        self.choice
    }

    /// Operations that each thread had ended.
    pub fn ended(&self) -> &[u64] {
        self.ended
    }

    /// The last mark of each thread that has one.
    pub fn marks(&self) -> &BTreeMap<u16, u64> {
        self.marks
    }

    /// The number of the last mark, 0 before the first.
    pub fn acknowledged(&self) -> u64 {
        self.last_mark.unwrap_or(0)
    }
}
