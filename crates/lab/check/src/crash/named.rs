//! Names and sizes of a recording's files at any moment of it.

use super::files::FileState;
use super::files::What;
use trace::space::{Layout, file_of, is_memory};
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
                    | Call::SyncFileRange,
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
        let mut files: Vec<FileState> = layout.files().iter().map(|f| self.first(about, f)).collect();
        files.sort_by_key(|f| f.number);
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

    /// The files that have a name at some time: one that is saved by renaming is another each time.
    pub fn bearers(&self, about: &About, layout: &Layout, name: &str) -> Vec<u32> {
        let at_first = layout.files().iter().map(|f| self.first(about, f));
        let at_first = at_first.filter(|f| f.names.iter().any(|n| n == name)).map(|f| f.number);
        let named = |what: &What| match what {
            What::Link(to) | What::Rename(_, to) => to == name,
            What::Unlink(_) | What::Size(_) | What::AtLeast(_) => false,
        };
        let later = self.changes.iter().filter(|c| named(&c.what)).map(|c| c.file);
        at_first.chain(later).collect()
    }

    /// As the program found it.
    fn first(&self, about: &About, placed: &trace::space::Placed) -> FileState {
        let (number, base, path) = (placed.number, placed.base, placed.path.clone());
        let size = match about.files.get(&number) {
            Some(file) if !is_memory(number) => file.bytes,
            _ => placed.bytes,
        };
        // One that the program makes has no name before.
        let first = self.changes.iter().find(|c| c.file == number);
        let made = size == 0 && first.is_some_and(|c| c.what == What::Link(path.clone()))
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

    /// SQLite's way: a journal is made, written, and goes when its transaction is done; a file takes another's name.
    fn program() -> Trace {
        let mut trace = Trace::default();
        let file = |path: &str, bytes| File { identity: String::new(), path: path.into(), bytes };
        trace.about.files = BTreeMap::from([(0, file("/d/db", 4096)), (1, file("/d/journal", 0))]);
        trace.about.names = BTreeMap::from([(5, "/d/journal".into()), (6, "/d/new".into())]);
        let push = |trace: &mut Trace, kind, address, value| {
            trace.push(Record {
                address,
                value,
                stamp: 0,
                location: 0,
                instructions: 0,
                thread: 0,
                kind,
                size: 8,
            });
        };
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
