//! Names and sizes of a recording's files at any moment of it.

use super::files::{FileState, What, moved};
use std::collections::BTreeSet;
use trace::space::{Layout, Placed, file_of, is_memory};
use trace::{About, Call, Kind, Record};

/// A call of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    thread: u16,
    /// Records of the thread up to it, itself included.
    nth: u64,
    file: u32,
    what: What,
}

/// Every change of names and sizes, in the recorded order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    changes: Vec<Change>,
}

impl Named {
    /// Follows the next record in the order of stamps, the `nth` of its thread; `operand` is its further number.
    pub(super) fn follow(&mut self, about: &About, r: &Record, nth: u64, operand: Option<u64>) {
        let Some((file, offset)) = file_of(r.address) else { return };
        let name = |n: u64| about.names.get(&n).cloned();
        if r.kind != Kind::Call {
            return;
        }
        let what = match (Call::from_number(r.value as u8), r.value >> 8) {
            (Some(Call::Resize), bytes) => Some(What::Size(bytes)),
            (Some(Call::Write | Call::Allocate), bytes) => Some(What::AtLeast(offset.saturating_add(bytes))),
            (Some(Call::Link), n) => name(n).map(What::Link),
            (Some(Call::Unlink), n) => name(n).map(What::Unlink),
            (Some(Call::Rename), n) => {
                operand.and_then(name).zip(name(n)).map(|(from, to)| What::Rename(from, to))
            }
            (
                None
                | Some(
                    Call::Msync
                    | Call::MsyncAsync
                    | Call::Fdatasync
                    | Call::Fsync
                    | Call::Sync
                    | Call::SyncFolder
                    | Call::SyncFileRange
                    | Call::MakeFolder
                    | Call::RemoveFolder,
                ),
                _,
            ) => None,
        };
        if let Some(what) = what {
            self.changes.push(Change { thread: r.thread, nth, file, what });
        }
    }

    /// The files of `layout` when each thread `t` has done its first `passed[t]` records; all of them where `passed` is
    /// none. Addresses are those of the layout.
    pub fn files(&self, about: &About, layout: &Layout, passed: Option<&[u64]>) -> Vec<FileState> {
        let mut files = self.found(about, layout);
        for change in &self.changes {
            let done = passed.is_none_or(|p| p.get(change.thread as usize).is_some_and(|n| change.nth <= *n));
            if done {
                let file = files.binary_search_by_key(&change.file, |f| f.number).ok();
                change.what.apply(file, &mut files);
            }
        }
        files
    }

    /// Whether the program makes a file anew, which it found: it cuts all of it off.
    pub fn empties(&self, file: u32) -> bool {
        self.changes.iter().any(|c| c.file == file && c.what == What::Size(0))
    }

    /// The files whose names or sizes the program changes.
    pub(super) fn changed(&self) -> impl Iterator<Item = u32> {
        self.changes.iter().map(|c| c.file)
    }

    /// The names that files get and lose, each with the file's number.
    pub fn paths(&self) -> impl Iterator<Item = (u32, &str)> {
        self.changes.iter().flat_map(|c| {
            let names = match &c.what {
                What::Link(name) | What::Unlink(name) => [Some(name), None],
                What::Rename(from, to) => [Some(from), Some(to)],
                What::Size(_) | What::AtLeast(_) => [None, None],
            };
            names.into_iter().flatten().map(|name| (c.file, name.as_str()))
        })
    }

    /// The files that have a name at some time, by number: one that is saved by renaming is another each time.
    pub fn bearers(&self, about: &About, layout: &Layout, name: &str) -> Vec<u32> {
        // From the end on: in a folder that is renamed, what had the name there before has it here.
        let mut names = BTreeSet::from([name.to_string()]);
        let mut all = BTreeSet::new();
        for change in self.changes.iter().rev() {
            match &change.what {
                What::Rename(from, to) if to.ends_with('/') => {
                    let before: Vec<String> = names.iter().filter_map(|name| moved(name, to, from)).collect();
                    names.extend(before);
                }
                What::Link(to) | What::Rename(_, to) if names.contains(to) => _ = all.insert(change.file),
                What::Link(_) | What::Rename(..) | What::Unlink(_) | What::Size(_) | What::AtLeast(_) => {}
            }
        }
        let first = self.found(about, layout).into_iter();
        all.extend(first.filter(|f| f.names.iter().any(|n| names.contains(n))).map(|f| f.number));
        all.into_iter().collect()
    }

    /// All files as the program found them, by number and by place. One that never has anything in it, such as a marker, has no
    /// room of its own: it is where the next one begins.
    fn found(&self, about: &About, layout: &Layout) -> Vec<FileState> {
        let placed = layout.files();
        let empty = about.files.iter().filter(|(number, _)| layout.file(**number).is_none());
        let empty = empty.map(|(number, file)| {
            let next = placed.partition_point(|f| f.number < *number);
            let base = placed.get(next).map_or(layout.end(), |f| f.base);
            Placed { number: *number, path: file.path.clone(), base, bytes: 0 }
        });
        let all = placed.iter().cloned().chain(empty);
        let mut files: Vec<FileState> = all.map(|f| self.first(about, &f)).collect();
        files.sort_by_key(|f| f.number);
        files
    }

    /// As the program found it.
    fn first(&self, about: &About, placed: &Placed) -> FileState {
        let (number, base, path) = (placed.number, placed.base, placed.path.clone());
        let size = match about.files.get(&number) {
            Some(file) if !is_memory(number) => file.bytes,
            _ => placed.bytes,
        };
        // One that the program makes has no name before.
        let first = self.changes.iter().find(|c| c.file == number);
        let nothing = size == 0 || about.links.contains_key(&number);
        let made = nothing && first.is_some_and(|c| c.what == What::Link(path.clone()))
            || about.is_made_nameless(number);
        FileState { number, base, names: if made { Vec::new() } else { vec![path] }, size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use trace::space::{Extents, file_address};
    use trace::{File, Trace};

    fn record(kind: Kind, address: u64, value: u64) -> Record {
        Record { address, value, stamp: 0, location: 0, instructions: 0, thread: 0, kind, size: 8 }
    }

    /// SQLite's way: a journal is made, written, and goes when its transaction is done; a file takes another's name.
    fn program() -> Trace {
        let mut trace = Trace::default();
        let file = |path: &str, bytes| File { identity: String::new(), path: path.into(), bytes };
        trace.about.files = BTreeMap::from([(0, file("/d/db", 4096)), (1, file("/d/journal", 0))]);
        trace.about.names = BTreeMap::from([(5, "/d/journal".into()), (6, "/d/new".into())]);
        let push = |trace: &mut Trace, kind, address, value| trace.push(record(kind, address, value));
        let call = |c: Call, bytes: u64| bytes << 8 | c as u64;
        push(&mut trace, Kind::Call, file_address(1, 0), call(Call::Link, 5));
        push(&mut trace, Kind::Call, file_address(1, 100), call(Call::Write, 28));
        push(&mut trace, Kind::Call, file_address(0, 0), call(Call::Resize, 8192));
        push(&mut trace, Kind::Operand, 0, 5);
        push(&mut trace, Kind::Call, file_address(1, 0), call(Call::Rename, 6));
        push(&mut trace, Kind::Call, file_address(1, 0), call(Call::Unlink, 6));
        trace
    }

    #[test]
    fn a_folder_takes_its_files_along_and_a_link_is_not_there_before_it_is_made() {
        let mut trace = Trace::default();
        let file = |path: &str, bytes| File { identity: String::new(), path: path.into(), bytes };
        trace.about.files =
            BTreeMap::from([(1, file("/d/x/f", 9)), (2, file("/d/xy", 9)), (3, file("/d/l", 3))]);
        trace.about.links = BTreeMap::from([(3, "x/f".into())]);
        let names = ["/d/l", "/d/x/", "/d/y/"].map(String::from);
        trace.about.names = (1..).zip(names).collect();
        let call = |file, kind, value| record(kind, file_address(file, 0), value);
        trace.push(call(3, Kind::Call, 1 << 8 | Call::Link as u64));
        trace.push(call(1, Kind::Operand, 2));
        trace.push(call(1, Kind::Call, 3 << 8 | Call::Rename as u64));
        let layout = Layout::new(&trace.about, &Extents::of(&trace), 0);
        let named = super::super::Facts::of(&trace::Recording::of_trace(trace.clone()).unwrap()).named;
        let at = |passed: &[u64]| -> Vec<String> {
            let files = named.files(&trace.about, &layout, Some(passed));
            files.into_iter().map(|f| f.names.join(" ")).collect()
        };
        assert_eq!(at(&[0]), ["/d/x/f", "/d/xy", ""]);
        assert_eq!(at(&[1]), ["/d/x/f", "/d/xy", "/d/l"]);
        assert_eq!(at(&[3]), ["/d/y/f", "/d/xy", "/d/l"]);
        let bearers = |name| named.bearers(&trace.about, &layout, name);
        assert_eq!((bearers("/d/y/f"), bearers("/d/y/g"), bearers("/d/l")), (vec![1], vec![], vec![3]));
        // A folder that goes there and back, again and again, has few names.
        let mut often = named.clone();
        let [there, mut back] = [&named.changes[1], &named.changes[1]].map(Change::clone);
        back.what = What::Rename("/d/y/".into(), "/d/x/".into());
        often.changes.extend([back, there].into_iter().cycle().take(200));
        assert_eq!(often.bearers(&trace.about, &layout, "/d/y/f"), [1]);
        assert!(named.changed().eq([3, 1]));
    }

    #[test]
    fn files_have_the_names_and_sizes_of_the_moment() {
        let trace = program();
        let layout = Layout::new(&trace.about, &Extents::of(&trace), 0);
        let facts = super::super::Facts::of(&trace::Recording::of_trace(trace.clone()).unwrap());
        let at = |passed: Option<&[u64]>| -> Vec<(String, u64)> {
            let files = facts.named.files(&trace.about, &layout, passed);
            files.into_iter().map(|f| (f.names.join(" "), f.size)).collect()
        };
        let pair = |db: u64, name: &str, size: u64| vec![("/d/db".to_string(), db), (name.to_string(), size)];
        assert_eq!(at(Some(&[0])), pair(4096, "", 0));
        assert_eq!(at(Some(&[1])), pair(4096, "/d/journal", 0));
        assert_eq!(at(Some(&[2])), pair(4096, "/d/journal", 128));
        assert_eq!(at(Some(&[4])), pair(8192, "/d/journal", 128));
        assert_eq!(at(Some(&[5])), pair(8192, "/d/new", 128));
        assert_eq!(at(None), pair(8192, "", 128));
    }
}
