//! What a recording says of its files before any power is cut: whether anything was made durable, and what was not seen.

use super::log::Mark;
use super::named::Named;
use std::collections::{BTreeMap, BTreeSet};
use trace::space::{self, Space};
use trace::{About, Call, Kind, Record, Recording, Syncs};

/// A file of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Its place in the order in which the program first mapped or wrote files.
    pub first: usize,
    /// The program or the kernel stored to it.
    pub stored: bool,
    /// Something of it was made durable: flushed and fenced, or synced.
    pub durable: bool,
    /// From where on it is there to stay: its first mapped store, or the first sync of whatever file once it was
    /// written to.
    pub there: Option<Moment>,
    /// From where on the program changes it, or its names.
    pub begun: Option<Moment>,
}

/// A moment of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Records of all threads up to it, in the recorded order.
    order: u64,
    /// The thread of the last one.
    pub thread: usize,
    /// Records of that thread up to it.
    pub nth: u64,
}

/// How a gap is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapKind {
    /// The recorder saw something that it does not model.
    Unseen,
    /// After the program's end the file held other bytes than the recording gives.
    Differs,
    /// Bytes that code without hooks stored at an unknown time.
    Observed,
    /// Another process changes the file, or makes it durable.
    Elsewhere,
}

/// Something that the recording does not explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// How it is known.
    pub kind: GapKind,
    /// The file; none when it belongs to no one file.
    pub file: Option<u32>,
    /// The first byte of the file, and how many.
    pub bytes: (u64, u64),
    /// What was seen, in words; empty where nothing is known.
    pub what: String,
    /// Where it stands in the program; empty where that is not known.
    pub site: String,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Files by number.
    pub files: BTreeMap<u32, FileFacts>,
    /// Stores to files, by the program or the kernel.
    pub stores: u64,
    /// The program itself stores to a file, by a mapping.
    is_mapped: bool,
    /// Flushes of lines of files.
    pub flushes: u64,
    /// Fences.
    pub fences: u64,
    /// Calls that make files, or names of files, durable.
    pub syncs: u64,
    /// In the order of the recording, neighbours put together.
    pub gaps: Vec<Gap>,
    /// The program's marks in the recorded order.
    pub marks: Vec<Mark>,
    /// For each mark: its moment, itself included.
    mark_moments: Vec<Moment>,
    /// What its files are called, and how large they are.
    pub named: Named,
}

struct Reader<'a> {
    about: &'a About,
    space: Space,
    facts: Facts,
    /// For each thread: files of which it flushed something, or stored past the caches, since its last fence.
    flushed: Vec<BTreeSet<u32>>,
    /// Files that were given a name.
    linked: BTreeSet<u32>,
    /// Records of each thread so far, and of all.
    records: Vec<u64>,
    order: u64,
}

impl Facts {
    /// Those of `recording`. Reads it once.
    pub fn of(recording: &Recording) -> Facts {
        let about = recording.about();
        let mut reader = Reader {
            about,
            space: Space::new(),
            facts: Facts::default(),
            flushed: vec![BTreeSet::new(); recording.threads()],
            linked: BTreeSet::new(),
            records: vec![0; recording.threads()],
            order: 0,
        };
        for record in recording.in_order() {
            reader.follow(&record);
        }
        let Reader { mut facts, .. } = reader;
        let gap = |kind, file, bytes| Gap {
            kind,
            file: Some(file),
            bytes,
            what: String::new(),
            site: String::new(),
        };
        let differs = about.differs.iter().map(|d| gap(GapKind::Differs, d.file, (d.offset, d.bytes)));
        let elsewhere = about.files_elsewhere().map(|file| gap(GapKind::Elsewhere, file, (0, 0)));
        facts.gaps.extend(differs.chain(elsewhere));
        facts
    }

    /// The files that the program changes, or that something may have changed: others it only read.
    pub fn changed(&self) -> BTreeSet<u32> {
        let stored = self.files.iter().filter(|(_, f)| f.stored).map(|(number, _)| *number);
        let unexplained = self.gaps.iter().filter_map(|gap| gap.file);
        stored.chain(self.named.changed()).chain(unexplained).collect()
    }

    /// Whether nothing in the recording makes anything durable.
    pub fn persists_nothing(&self) -> bool {
        self.flushes + self.fences + self.syncs == 0
    }

    /// Whether what the program acknowledges is of the kernel's writes alone: no sync of them is missing in the recording.
    pub fn acknowledges_writes(&self) -> bool {
        !self.is_mapped && !self.marks.is_empty()
    }

    /// The first `ended[t]` marks of each thread `t`, in the recorded order.
    pub fn ended(&self, ended: &[u64]) -> impl Iterator<Item = Mark> {
        let mut left = ended.to_vec();
        self.marks.iter().copied().filter(move |m| match left.get_mut(m.thread as usize) {
            Some(n) if *n > 0 => {
                *n -= 1;
                true
            }
            _ => false,
        })
    }

    /// The marks among the first `passed[t]` records of each thread `t`, in the recorded order.
    pub fn passed(&self, passed: &[u64]) -> impl Iterator<Item = Mark> {
        let marks = self.marks.iter().zip(&self.mark_moments);
        let is_passed =
            |(_, at): &(&Mark, &Moment)| passed.get(at.thread).is_some_and(|passed| at.nth <= *passed);
        marks.filter(is_passed).map(|(mark, _)| *mark)
    }

    /// From where on power may fail: for each of these threads, the records that it has done. One of `files` is there to stay then, any
    /// of them, or the mark `first` is made, and the first mark with the number `after` is.
    pub fn begins(&self, files: &[u32], first: Option<usize>, after: Option<u64>) -> Vec<(usize, u64)> {
        let mark = after.and_then(|number| self.mark_at(number));
        self.first(files, first).map(|moment| (moment.thread, moment.nth)).into_iter().chain(mark).collect()
    }

    /// The earlier of the moment when one of `files` is there to stay, and that of a mark. Where none ever is, power may fail from the
    /// start.
    fn first(&self, files: &[u32], mark: Option<usize>) -> Option<Moment> {
        let there = files.iter().filter_map(|file| self.files.get(file)?.there).min()?;
        let mark = mark.and_then(|index| self.mark_moments.get(index)).copied();
        Some(mark.map_or(there, |mark| mark.min(there)))
    }

    /// The first mark that may say something of one of `files`: its index. One that comes before the program changed any of them tells of
    /// something else, and number 0 is what there is without a mark.
    pub fn first_mark(&self, files: &[u32]) -> Option<usize> {
        let begun = files.iter().filter_map(|file| self.files.get(file)?.begun).min()?;
        let mut marks = self.marks.iter().zip(&self.mark_moments);
        marks.position(|(mark, at)| mark.number > 0 && *at > begun)
    }

    /// The least and the largest number of the marks before power may fail, where that is neither from the start nor after a certain mark.
    pub fn marks_before(&self, files: &[u32], first: Option<usize>) -> Option<(u64, u64)> {
        let begins = self.first(files, first)?;
        let marks = self.marks.iter().zip(&self.mark_moments);
        let numbers =
            || marks.clone().filter(|(_, at)| **at < begins).map(|(m, _)| m.number).filter(|n| *n > 0);
        numbers().min().zip(numbers().max())
    }

    /// The thread that makes the first mark with this number, and its records up to it.
    pub fn mark_at(&self, number: u64) -> Option<(usize, u64)> {
        let at = self.marks.iter().position(|m| m.number == number)?;
        let moment = self.mark_moments[at];
        Some((moment.thread, moment.nth))
    }
}

impl Reader<'_> {
    fn follow(&mut self, r: &Record) {
        let operand = self.space.follow(r);
        let thread = r.thread as usize;
        self.records[thread] += 1;
        self.order += 1;
        self.facts.named.follow(self.about, r, self.records[thread], operand);
        match r.kind {
            Kind::Store | Kind::StoreRelease | Kind::Rmw | Kind::StoreNonTemporal | Kind::Written => {
                let Some((file, _)) = self.place(r.address) else { return };
                self.stored(file, thread);
                if r.kind == Kind::StoreNonTemporal {
                    self.flushed[thread].insert(file);
                }
                if r.kind != Kind::Written {
                    self.facts.is_mapped = true;
                    self.is_there(file, thread);
                }
            }
            Kind::Clwb | Kind::Clflushopt | Kind::Clflush => {
                let Some((file, _)) = self.place(r.address) else { return };
                self.facts.flushes += 1;
                self.file(file);
                self.flushed[thread].insert(file);
            }
            Kind::Sfence | Kind::Mfence => {
                self.facts.fences += 1;
                for file in std::mem::take(&mut self.flushed[thread]) {
                    self.file(file).durable = true;
                }
            }
            Kind::Map => {
                if let Some((file, _)) = operand.and_then(space::file_of).or_else(|| self.place(r.address)) {
                    self.file(file);
                }
            }
            Kind::Call => self.call(r),
            Kind::Observed => {
                // One that the recorder knows to be a library's is a fact like a store.
                if operand.unwrap_or(0) == 0 {
                    self.gap(GapKind::Observed, r, r.size.into(), String::new());
                } else if let Some((file, _)) = self.place(r.address) {
                    self.stored(file, thread);
                    self.facts.is_mapped = true;
                    self.is_there(file, thread);
                }
            }
            Kind::Unseen => {
                let what = self.about.unseen.get(&r.value).cloned().unwrap_or_default();
                self.gap(GapKind::Unseen, r, operand.unwrap_or(0), what);
            }
            Kind::Mark => {
                self.facts.marks.push(Mark { thread: r.thread, number: r.value });
                self.facts.mark_moments.push(self.now(thread));
            }
            Kind::Load
            | Kind::LoadAcquire
            | Kind::Lock
            | Kind::Unlock
            | Kind::Create
            | Kind::Join
            | Kind::Unmap
            | Kind::Start
            | Kind::End
            | Kind::Operand
            | Kind::Contents
            | Kind::Order
            | Kind::Turn
            | Kind::Region => {}
        }
    }

    fn place(&self, address: u64) -> Option<(u32, u64)> {
        self.space.place(address).and_then(space::file_of)
    }

    fn file(&mut self, number: u32) -> &mut FileFacts {
        let first = self.facts.files.len();
        self.facts.files.entry(number).or_insert_with(|| FileFacts { first, ..FileFacts::default() })
    }

    fn stored(&mut self, file: u32, thread: usize) {
        self.facts.stores += 1;
        self.file(file).stored = true;
        self.is_begun(file, thread);
    }

    fn is_begun(&mut self, file: u32, thread: usize) {
        let now = self.now(thread);
        self.file(file).begun.get_or_insert(now);
    }

    fn is_there(&mut self, file: u32, thread: usize) {
        let now = self.now(thread);
        self.file(file).there.get_or_insert(now);
    }

    fn now(&self, thread: usize) -> Moment {
        Moment { order: self.order, thread, nth: self.records[thread] }
    }

    fn call(&mut self, r: &Record) {
        let place = self.place(r.address);
        if let Some((file, _)) = place {
            self.file(file);
        }
        let thread = r.thread as usize;
        let call = Call::from_number(r.value as u8);
        if let Some(Call::Msync | Call::Fdatasync | Call::Fsync | Call::Sync | Call::SyncFolder) = call {
            self.facts.syncs += 1;
            let now = self.now(thread);
            self.facts.files.values_mut().for_each(|file| _ = file.there.get_or_insert(now));
        }
        if let (Some(Call::Link), Some((file, _))) = (call, place) {
            self.links(file, r.value >> 8);
        }
        let changes = matches!(
            call,
            Some(Call::Write | Call::Resize | Call::Allocate | Call::Link | Call::Unlink | Call::Rename)
        );
        if let Some((file, _)) = place.filter(|_| changes) {
            self.is_begun(file, thread);
        }
        match call.map(Call::syncs) {
            Some(Syncs::Range | Syncs::File) => {
                if let Some((file, _)) = place {
                    self.file(file).durable = true;
                }
            }
            Some(Syncs::Everything) => {
                self.facts.files.values_mut().for_each(|f| f.durable |= f.stored);
            }
            Some(Syncs::Nothing) | None => {}
        }
    }

    /// A file gets a name: its first one, where the program makes it. It was not there before.
    fn links(&mut self, file: u32, name: u64) {
        let name = self.about.names.get(&name);
        let nothing = |f: &trace::File| f.bytes == 0 || self.about.links.contains_key(&file);
        let is_own = self.about.files.get(&file).is_some_and(|f| nothing(f) && Some(&f.path) == name);
        if self.linked.insert(file) && (is_own || self.about.is_made_nameless(file)) {
            self.file(file).there = None;
        }
    }

    fn gap(&mut self, kind: GapKind, r: &Record, bytes: u64, what: String) {
        let place = self.place(r.address);
        let site = self.about.locations.get(&r.location).cloned().unwrap_or_default();
        let (file, offset) = (place.map(|p| p.0), place.map_or(0, |p| p.1));
        // What one comparison found in a row is one gap.
        if let Some(last) = self.facts.gaps.last_mut()
            && (last.kind, last.file, &last.what, &last.site) == (kind, file, &what, &site)
            && kind == GapKind::Observed
            && last.bytes.0 + last.bytes.1 == offset
        {
            last.bytes.1 += bytes;
            return;
        }
        self.facts.gaps.push(Gap { kind, file, bytes: (offset, bytes), what, site });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::Trace;
    use trace::space::file_address;

    fn record(kind: Kind, address: u64, value: u64, size: u8) -> Record {
        Record { address, value, stamp: 0, location: 0, instructions: 0, thread: 0, kind, size }
    }

    fn trace(records: &[Record]) -> Trace {
        let mut trace = Trace::default();
        records.iter().for_each(|r| trace.push(*r));
        trace
    }

    fn facts_of(trace: Trace) -> Facts {
        Facts::of(&Recording::of_trace(trace).unwrap())
    }

    #[test]
    fn a_file_is_durable_once_it_is_flushed_and_fenced_or_synced() {
        let map =
            |file, at| [record(Kind::Operand, 0, file_address(file, 0), 0), record(Kind::Map, at, 4096, 0)];
        let sync = record(Kind::Call, file_address(7, 0), 64 << 8 | Call::Fdatasync as u64, 0);
        let records = [
            &map(4, 0x10000)[..],
            &map(2, 0x20000)[..],
            &map(7, 0x30000)[..],
            &[
                record(Kind::Store, 0x10000, 1, 8),
                record(Kind::Store, 0x20000, 1, 8),
                record(Kind::Clwb, 0x20000, 0, 0),
                record(Kind::Store, 0x30000, 1, 8),
                record(Kind::Mark, 0, 5, 0),
            ],
        ];
        let facts = facts_of(trace(&records.concat()));
        assert!(facts.files.values().all(|f| f.stored && !f.durable));
        assert_eq!([4, 2, 7].map(|n| facts.files[&n].first), [0, 1, 2]);
        let all = [&records.concat()[..], &[record(Kind::Sfence, 0, 0, 0), sync]].concat();
        let facts = facts_of(trace(&all));
        assert_eq!([4, 2, 7].map(|n| facts.files[&n].durable), [false, true, true]);
        assert_eq!((facts.stores, facts.flushes, facts.fences, facts.syncs), (3, 1, 1, 1));
        assert_eq!((facts.ended(&[0]).count(), facts.ended(&[1]).last().map(|m| m.number)), (0, Some(5)));
        assert_eq!(
            (facts.passed(&[10]).count(), facts.passed(&[11]).count(), facts.mark_at(5)),
            (0, 1, Some((0, 11)))
        );
        assert_eq!([4, 2, 7].map(|n| facts.begins(&[n], None, None)[0]), [(0, 7), (0, 8), (0, 10)]);
        assert_eq!(
            facts.begins(&[7, 2], None, Some(5)),
            [(0, 8), (0, 11)],
            "the first of them, and the mark"
        );
    }

    #[test]
    fn what_was_not_seen_has_its_file_and_bytes() {
        let at = |offset| file_address(3, offset);
        let mut t = trace(&[
            record(Kind::Observed, at(64), 1, 8),
            record(Kind::Observed, at(72), 1, 8),
            record(Kind::Observed, at(128), 1, 8),
            record(Kind::Operand, 0, 1, 0),
            record(Kind::Observed, at(256), 1, 8),
            record(Kind::Operand, 0, 4096, 0),
            record(Kind::Unseen, at(0), 9, 0),
        ]);
        t.about.unseen.insert(9, "vmsplice".into());
        t.about.differs.push(trace::Differs { file: 3, offset: 4, bytes: 2 });
        let facts = facts_of(t);
        let seen: Vec<_> = facts.gaps.iter().map(|g| (g.kind, g.bytes, g.what.as_str())).collect();
        assert_eq!(
            seen,
            [
                (GapKind::Observed, (64, 16), ""),
                (GapKind::Observed, (128, 8), ""),
                (GapKind::Unseen, (0, 4096), "vmsplice"),
                (GapKind::Differs, (4, 2), ""),
            ]
        );
        assert!(facts.files[&3].stored && facts.gaps.iter().all(|g| g.file == Some(3)));
    }
}
