//! The crash lab on recordings made by hand: what each call, flush and fence leaves to a power failure.

mod lints;

use crate::kit::MODELS;
use check::crash::{
    self, Bounds, Candidate, Facts, Log, Outcome, Persistency, Recorded, Replay, Search, Verdict,
};
use proptest::prelude::*;
use protocol::{PM_BASE, line_of, offset_of};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use trace::space::{Layout, file_address};
use trace::{Call, File, Kind, Record, Recording, Trace};

const BOUNDS: Bounds = Bounds { points: 1000, images: 4096, failures: 4, skip: 0 };

/// Where file `n` is mapped.
fn at(file: u64) -> u64 {
    0x10_0000 + (file << 20)
}

/// A recording in the making; each file has 8192 bytes and is called `/d/f0`, `/d/f1`, ...
#[derive(Default)]
struct Program {
    trace: Trace,
    stamp: u32,
}

impl Program {
    /// One thread, `files` files mapped.
    fn new(files: u32) -> Program {
        let mut program = Program::default();
        for n in 0..files {
            let (identity, path) = (format!("8:{n}"), format!("/d/f{n}"));
            program.trace.about.files.insert(n, File { identity, path, bytes: 8192 });
            program.map(at(n.into()), 8192, n, 0);
        }
        program
    }

    fn record(&mut self, thread: u16, kind: Kind, address: u64, value: u64) -> &mut Program {
        let stamp = if kind.has_stamp() { self.stamp } else { 0 };
        self.stamp += 1;
        let location = self.stamp;
        self.trace.about.locations.insert(location, format!("src/p.c:{location} work"));
        self.trace.push(Record { address, value, stamp, location, instructions: 0, thread, kind, size: 8 });
        self
    }

    fn map(&mut self, address: u64, bytes: u64, file: u32, offset: u64) {
        self.record(0, Kind::Operand, 0, file_address(file, offset));
        self.record(0, Kind::Map, address, bytes);
    }

    fn store(&mut self, address: u64, value: u64) -> &mut Program {
        self.record(0, Kind::Store, address, value)
    }

    fn flush(&mut self, address: u64) -> &mut Program {
        self.record(0, Kind::Clwb, address, 0)
    }

    fn fence(&mut self) -> &mut Program {
        self.record(0, Kind::Sfence, 0, 0)
    }

    fn mark(&mut self, number: u64) -> &mut Program {
        self.record(0, Kind::Mark, 0, number)
    }

    fn call(&mut self, call: Call, address: u64, bytes: u64) -> &mut Program {
        self.record(0, Kind::Call, address, bytes << 8 | call as u64)
    }

    fn pwrite(&mut self, file: u32, offset: u64, value: u64) -> &mut Program {
        let address = file_address(file, offset);
        self.call(Call::Write, address, 8).record(0, Kind::Written, address, value)
    }

    fn rename(&mut self, file: u32, from: u64, to: u64) -> &mut Program {
        self.record(0, Kind::Operand, 0, from);
        self.call(Call::Rename, file_address(file, 0), to)
    }

    fn log(&self) -> Log {
        self.log_after(None)
    }

    fn log_after(&self, after: Option<u64>) -> Log {
        let recording = Recording::of_trace(self.trace.clone()).unwrap();
        let layout = Layout::new(recording.about(), &recording.counts().extents, PM_BASE);
        let facts = Facts::of(&recording);
        let begins = &facts.begins(&[0], None, after);
        crash::of_trace(&recording, &Recorded { layout: &layout, named: &facts.named, begins })
    }
}

/// A word of a file; none where the file has not so many bytes, or no name.
fn word(image: &Candidate<'_>, file: u32, offset: u64) -> Option<u64> {
    let f = image.files().iter().find(|f| f.number == file && !f.names.is_empty() && offset + 8 <= f.size)?;
    let (block, at) = (image.line(line_of(f.base + offset)), offset_of(f.base + offset));
    Some(u64::from_le_bytes(block[at..at + 8].try_into().unwrap()))
}

/// What `look` sees of all images at all points.
fn seen<T: Ord + Send>(
    log: &Log,
    model: Persistency,
    look: impl Fn(&Candidate<'_>) -> T + Sync,
) -> BTreeSet<T> {
    let all = Mutex::new(BTreeSet::new());
    let check = |image: &Candidate<'_>| {
        all.lock().unwrap().insert(look(image));
        Outcome::of(Ok(()))
    };
    let found = crash::search_whole(log, model, BOUNDS, &check, &|| true, &mut |_| {});
    assert_eq!((found.failing_points, found.bounded_points), (0, 0), "{found:?}");
    all.into_inner().unwrap()
}

/// Searches for images that are not `right`.
fn search(log: &Log, model: Persistency, right: impl Fn(&Candidate<'_>) -> bool + Sync) -> Search {
    let check = |i: &Candidate<'_>| Outcome::of(if right(i) { Ok(()) } else { Err("wrong".into()) });
    crash::search_whole(log, model, BOUNDS, &check, &|| true, &mut |_| {})
}

/// On x86 a full fence and a locked operation wait for what was flushed; machines that know only their own fences do as much,
/// and nothing for what was not flushed.
#[test]
fn a_full_fence_makes_sure_of_what_was_flushed_alone() {
    for (kind, address) in [(Kind::Mfence, 0), (Kind::Rmw, at(0) + 1024)] {
        for flushed in [true, false] {
            let mut p = Program::new(1);
            p.store(at(0), 1);
            if flushed {
                p.flush(at(0));
            }
            p.record(0, kind, address, 1).mark(1);
            p.store(at(0) + 512, 2).flush(at(0) + 512).fence().mark(2);
            let log = p.log();
            for model in MODELS.into_iter().chain([Persistency::Strand]) {
                let right = |i: &Candidate<'_>| i.marks().is_empty() || word(i, 0, 0) == Some(1);
                // An Armv8 barrier is no locked operation, and a strict machine needs nothing.
                let makes_sure = flushed && (model, kind) != (Persistency::Armv8, Kind::Rmw);
                let sure = makes_sure || model == Persistency::Strict;
                let found = search(&log, model, right);
                assert_eq!(found.failing_points == 0, sure, "{model:?} {kind:?} {flushed}: {found:?}");
            }
        }
    }
}

/// Two copies of two words, a line each: all flushed, one fence. Only one of sixteen images loses both copies of the
/// first and keeps both of the second.
#[test]
fn two_lines_lost_at_once_are_found_and_named() {
    let mut p = Program::new(1);
    for line in 0..4 {
        p.store(at(0) + line * 64, 7);
    }
    (0..4).for_each(|line| _ = p.flush(at(0) + line * 64));
    p.fence();
    let log = p.log();
    for model in [Persistency::Px86Line, Persistency::Px86, Persistency::Armv8] {
        let words = |i: &Candidate<'_>| [0, 64, 128, 192].map(|o| word(i, 0, o));
        let bug = [Some(0), Some(0), Some(7), Some(7)];
        let found = search(&log, model, |i| words(i) != bug);
        assert_eq!(found.failures.len(), 1, "{model:?}: {found:?}");
        let why = &found.failures[0].why;
        assert_eq!((why.missing.len(), why.present.len()), (2, 2), "{why:?}");
        assert!(
            why.missing.iter().all(|n| n.site.starts_with("p.c:") && n.site.ends_with(" work")),
            "{why:?}"
        );
        let replay = Replay::read(&why.replay).expect("it can be read");
        let tracker = replay.tracker(&log).unwrap();
        assert_eq!(words(&tracker.candidate(&replay.choice)), bug);

        let images = AtomicUsize::new(0);
        let found = search(&log, model, |_| images.fetch_add(1, Ordering::Relaxed) < usize::MAX);
        // Before the fence all sixteen; at the end what they became for sure, which was among them.
        assert_eq!((found.possible, found.counted), (17.0, true), "{model:?}: {found:?}");
        assert_eq!((found.images, images.into_inner()), (16, 16), "{model:?}");
    }
}

/// Ninety operations, each data and then a count. In one, nothing stands between the two.
fn ninety(wrong: u64, fence: Kind) -> Log {
    let mut p = Program::new(1);
    for n in 1..=90 {
        p.store(at(0) + 64 * n, n);
        if n != wrong {
            p.flush(at(0) + 64 * n).record(0, fence, 0, 0);
        }
        p.store(at(0), n).flush(at(0) + 64 * n).flush(at(0)).fence().mark(n);
    }
    p.log()
}

fn counted(image: &Candidate<'_>) -> bool {
    let count = word(image, 0, 0).unwrap_or(0);
    count >= image.acknowledged() && (1..=count).all(|n| word(image, 0, 64 * n) == Some(n))
}

#[test]
fn a_mistake_in_the_middle_of_a_run_is_found_on_every_machine_that_has_it() {
    for model in MODELS {
        for (fence, wrong) in [(Kind::Sfence, 0), (Kind::Sfence, 20), (Kind::Order, 20), (Kind::Order, 0)] {
            let found = search(&ninety(wrong, fence), model, counted);
            // Where stores persist when they are visible, in the order of the program, nothing is wrong.
            let bug = wrong != 0 && model != Persistency::Strict;
            assert_eq!(found.failures.len(), usize::from(bug), "{model:?} {fence:?} {wrong}: {found:?}");
        }
    }
}

#[test]
fn a_sync_settles_what_is_in_its_range_whoever_stored_it() {
    let both = |i: &Candidate<'_>| (i.acknowledged(), word(i, 0, 0), word(i, 0, 4096));
    for model in MODELS {
        let mut p = Program::new(1);
        p.store(at(0), 1).store(at(0) + 4096, 2);
        // Of the second page only, by its address in the file's space.
        p.call(Call::Msync, file_address(0, 4096), 100).mark(1);
        let images = seen(&p.log(), model, both);
        let first: BTreeSet<_> = images.iter().filter(|i| i.0 == 1).map(|i| (i.1, i.2)).collect();
        let lost = !matches!(model, Persistency::Strict);
        let whole = (Some(1), Some(2));
        let all = if lost { BTreeSet::from([(Some(0), Some(2)), whole]) } else { BTreeSet::from([whole]) };
        assert_eq!(first, all, "{model:?}");

        // So it is after a write that is durable when it returns: what was written elsewhere is not.
        let mut p = Program::new(1);
        p.pwrite(0, 0, 1).pwrite(0, 4096, 2).call(Call::Msync, file_address(0, 4096), 8).mark(1);
        let written = seen(&p.log(), model, both);
        let written: BTreeSet<_> = written.iter().filter(|i| i.0 == 1).map(|i| (i.1, i.2)).collect();
        assert_eq!(written, BTreeSet::from([(Some(0), Some(2)), whole]), "{model:?}");

        for call in [Call::Fsync, Call::Fdatasync, Call::Sync] {
            let mut p = Program::new(1);
            p.store(at(0), 1).pwrite(0, 4096, 2).call(call, file_address(0, 0), 0).mark(1);
            let images = seen(&p.log(), model, both);
            assert!(images.iter().all(|i| i.0 == 0 || (i.1, i.2) == whole), "{model:?} {call:?}: {images:?}");
            assert!(images.contains(&(0, Some(1), Some(0))), "{model:?}: a write awaits its sync");
        }
        for call in [Call::MsyncAsync, Call::SyncFileRange] {
            let mut p = Program::new(1);
            p.pwrite(0, 0, 1).call(call, file_address(0, 0), 8192).mark(1);
            assert!(seen(&p.log(), model, both).contains(&(1, Some(0), Some(0))), "{model:?} {call:?}");
        }
    }
}

/// Under epochs a sync brings what comes before what it syncs.
#[test]
fn a_sync_keeps_the_order_of_epochs() {
    for model in [Persistency::Epoch, Persistency::Release, Persistency::OneSided] {
        let mut p = Program::new(1);
        p.store(at(0), 1).record(0, Kind::Order, 0, 0).store(at(0) + 4096, 2);
        p.call(Call::Msync, at(0) + 4096, 64).mark(1);
        let images = seen(&p.log(), model, |i| (i.acknowledged(), word(i, 0, 0), word(i, 0, 4096)));
        let after: Vec<_> = images.iter().filter(|i| i.0 == 1).collect();
        assert_eq!(after, [&(1, Some(1), Some(2))], "{model:?}");
        assert!(!images.contains(&(0, Some(0), Some(2))), "{model:?}");
    }
}

#[test]
fn a_sync_of_one_file_leaves_the_other_pending() {
    for model in MODELS {
        let mut p = Program::new(2);
        p.pwrite(0, 0, 1).pwrite(1, 0, 2).call(Call::Fdatasync, file_address(0, 0), 0).mark(1);
        let images = seen(&p.log(), model, |i| (i.acknowledged(), word(i, 0, 0), word(i, 1, 0)));
        let after: Vec<_> = images.iter().filter(|i| i.0 == 1).map(|i| (i.1, i.2)).collect();
        assert_eq!(after, [(Some(1), Some(0)), (Some(1), Some(2))], "{model:?}");
    }
}

/// A file that is made without a name is there once the folder is synced in which it has one, and no sooner.
#[test]
fn power_does_not_fail_before_a_file_has_its_first_name() {
    let mut p = Program::default();
    p.trace.about.files.insert(0, File { identity: "8:0".into(), path: String::new(), bytes: 0 });
    p.trace.about.names.insert(1, "/d/f0".into());
    p.pwrite(0, 0, 7).call(Call::Fsync, file_address(0, 0), 0);
    p.call(Call::Link, file_address(0, 0), 1).call(Call::SyncFolder, 0, 0).mark(1);
    let names = |i: &Candidate<'_>| (i.acknowledged(), i.files()[0].names.concat(), word(i, 0, 0));
    for model in MODELS {
        let there = (1, "/d/f0".to_string(), Some(7));
        assert_eq!(seen(&p.log(), model, names), BTreeSet::from([there]), "{model:?}");
    }
    let recording = Recording::of_trace(p.trace).unwrap();
    // The sync of the folder is the thread's fifth record.
    assert_eq!(Facts::of(&recording).begins(&[0], None, None), [(0, 5)]);
}

/// File 0 has the name first, then file 1, of which nothing is made durable: power fails as soon as the first one is there.
#[test]
fn a_file_that_is_saved_by_renaming_is_there_since_its_first_generation() {
    let mut p = Program::new(2);
    p.trace.about.names.extend([(0, "/d/f0".into()), (1, "/d/f1".into())]);
    p.pwrite(0, 0, 7).call(Call::Fsync, file_address(0, 0), 0).mark(1);
    p.pwrite(1, 0, 9).rename(1, 1, 0).mark(2);
    let recording = Recording::of_trace(p.trace.clone()).unwrap();
    let layout = Layout::new(recording.about(), &recording.counts().extents, PM_BASE);
    let facts = Facts::of(&recording);
    assert_eq!(facts.named.bearers(recording.about(), &layout, "/d/f0"), [0, 1]);
    assert_eq!(facts.begins(&[0, 1], None, None), [(0, 7)]);
    let mut log =
        crash::of_trace(&recording, &Recorded { layout: &layout, named: &facts.named, begins: &[(0, 7)] });
    let later = log.begins();
    log.begins_at_once();
    assert_eq!((log.begins(), later > 0), (0, true));
    assert!(!facts.named.empties(0));
    p.call(Call::Resize, file_address(0, 0), 0);
    assert!(Facts::of(&Recording::of_trace(p.trace).unwrap()).named.empties(0));
}

/// What is acknowledged before anything is synced is a lie, and judged. A mark that comes before the file is made, or has number 0, tells
/// nothing of it.
#[test]
fn power_fails_from_the_first_mark_that_may_tell_of_a_file() {
    let mut p = Program::default();
    p.trace.about.files.insert(0, File { identity: "8:0".into(), path: "/d/f0".into(), bytes: 0 });
    p.trace.about.names.insert(1, "/d/f0".into());
    p.mark(7).call(Call::Link, file_address(0, 0), 1).mark(0);
    p.pwrite(0, 0, 7).mark(1).pwrite(0, 8, 7).mark(2);
    let facts = |p: &Program| Facts::of(&Recording::of_trace(p.trace.clone()).unwrap());
    let unsynced = facts(&p);
    assert!(unsynced.begins(&[0], unsynced.first_mark(&[0]), None).is_empty(), "never there: from the start");
    p.call(Call::Fsync, file_address(0, 0), 0).mark(3);
    let facts = facts(&p);
    let first = facts.first_mark(&[0]);
    assert_eq!(
        (facts.begins(&[0], None, None), facts.begins(&[0], first, None)),
        (vec![(0, 10)], vec![(0, 6)])
    );
    assert_eq!(facts.begins(&[0], first, Some(2)), [(0, 6), (0, 9)]);
    assert_eq!(
        (facts.marks_before(&[0], first), facts.marks_before(&[0], None)),
        (Some((7, 7)), Some((1, 7)))
    );
    assert_eq!((facts.first_mark(&[]), facts.first_mark(&[1])), (None, None));
}

/// Files 0 and 1; the second is renamed over the first, which SQLite, LevelDB and editors do.
fn renamed(synced: bool) -> BTreeSet<(u64, Vec<String>, Vec<String>)> {
    let mut p = Program::new(2);
    p.trace.about.names.extend([(1, "/d/f0".into()), (2, "/d/f1".into())]);
    p.store(at(0), 1).call(Call::Fsync, file_address(1, 0), 0).rename(1, 2, 1);
    if synced {
        p.call(Call::SyncFolder, 0, 0);
    }
    p.mark(1);
    let names = |i: &Candidate<'_>, n: usize| i.files()[n].names.clone();
    seen(&p.log(), Persistency::Px86Line, |i| (i.acknowledged(), names(i, 0), names(i, 1)))
}

#[test]
fn a_rename_without_a_sync_may_or_may_not_be_there() {
    let (old, new) =
        ((vec!["/d/f0".to_string()], vec!["/d/f1".to_string()]), (vec![], vec!["/d/f0".to_string()]));
    let after = |synced| {
        let all = renamed(synced).into_iter().filter(|i| i.0 == 1);
        all.map(|(_, a, b)| (a, b)).collect::<BTreeSet<_>>()
    };
    assert_eq!(after(false), BTreeSet::from([old, new.clone()]));
    assert_eq!(after(true), BTreeSet::from([new]));
}

/// What LevelDB and editors must not do: the new file's bytes are not synced before it takes the old one's name.
#[test]
fn what_hangs_on_a_name_can_be_tried_again() {
    let mut p = Program::new(2);
    p.trace.about.names.extend([(1, "/d/f0".into()), (2, "/d/f1".into())]);
    p.pwrite(0, 0, 1).call(Call::Fsync, file_address(0, 0), 0).pwrite(1, 0, 7).rename(1, 2, 1);
    let log = p.log();
    let holds = |i: &Candidate<'_>| {
        let called = i.files().iter().find(|f| f.names == ["/d/f0"]);
        called.is_some_and(|f| f.number == 0 || word(i, 1, 0) == Some(7))
    };
    let found = search(&log, Persistency::Px86Line, holds);
    assert_eq!(found.failures.len(), 1, "{found:?}");
    let text = &found.failures[0].why.replay;
    assert!(text.ends_with("=0,ffffffffffffffff=1"), "the name is there, the bytes are not: {text}");
    let replay = Replay::read(text).unwrap();
    let tracker = replay.tracker(&log).unwrap();
    assert!(!holds(&tracker.candidate(&replay.choice)));
    let more = Replay::read(&text.replace("ff=1", "ff=2")).unwrap();
    let refused = more.tracker(&log).err().unwrap();
    assert!(refused.starts_with("changes of names and sizes that are in flight after"), "{refused}");
    assert!(refused.ends_with(": 1"), "{refused}");
}

/// A store to a page that was there needs neither the file's new size nor its new name.
#[test]
fn a_store_to_a_page_that_was_there_makes_neither_size_nor_name_durable() {
    let mut p = Program::new(2);
    p.trace.about.names.extend([(1, "/d/f0".into()), (3, "/d/g".into())]);
    p.call(Call::Resize, file_address(0, 0), 16384).rename(0, 1, 3).store(at(0), 1).mark(1);
    let after = |i: &Candidate<'_>| (i.acknowledged(), i.files()[0].size, i.files()[0].names.clone());
    let all = seen(&p.log(), Persistency::Px86Line, after).into_iter().filter(|i| i.0 == 1);
    let all: Vec<(u64, String)> = all.map(|i| (i.1, i.2.concat())).collect();
    let expected = [(8192, "/d/f0"), (16384, "/d/f0"), (16384, "/d/g")];
    assert_eq!(all, expected.map(|(size, name)| (size, name.to_string())));
}

#[test]
fn a_file_that_was_cut_off_has_its_old_bytes_or_none() {
    let mut p = Program::new(1);
    p.pwrite(0, 4096, 5).call(Call::Fsync, file_address(0, 0), 0);
    p.call(Call::Resize, file_address(0, 0), 4096).pwrite(0, 4104, 6);
    let images = seen(&p.log(), Persistency::Px86, |i| (word(i, 0, 4096), word(i, 0, 4104)));
    let (before, cut) = ([(Some(0), Some(0)), (Some(5), Some(0))], (None, None));
    // Bytes written since are there only in a file that was cut and grew again, and then the old ones are not.
    let since = [(Some(0), Some(0)), (Some(0), Some(6))];
    assert_eq!(images, before.into_iter().chain([cut]).chain(since).collect());
}

/// The same bytes again where a file was cut off: there or not, they are two images.
#[test]
fn what_is_written_again_over_a_cut_may_be_lost() {
    for model in MODELS {
        let mut p = Program::new(1);
        p.pwrite(0, 4096, 5).call(Call::Fsync, file_address(0, 0), 0);
        p.call(Call::Resize, file_address(0, 0), 4096).pwrite(0, 4096, 5).mark(1);
        let images = seen(&p.log(), model, |i| (i.acknowledged(), i.files()[0].size, word(i, 0, 4096)));
        let after: Vec<_> = images.iter().filter(|i| i.0 == 1).map(|i| (i.1, i.2)).collect();
        let cut = [(4096, None), (4104, Some(0)), (4104, Some(5)), (8192, Some(5))];
        assert_eq!(after, cut, "{model:?}");
    }
}

#[test]
fn two_mappings_of_a_file_are_one_and_a_remap_goes_on() {
    for model in MODELS {
        let mut p = Program::new(1);
        p.map(0x900_0000, 8192, 0, 0);
        // Stored by one name, flushed by the other.
        p.store(at(0) + 64, 1).flush(0x900_0000 + 64).fence();
        p.record(0, Kind::Unmap, at(0), 8192);
        p.store(0x900_0000, 1).flush(0x900_0000).fence().mark(1);
        let log = p.log();
        let images = seen(&log, model, |i| (i.acknowledged(), word(i, 0, 64), word(i, 0, 0)));
        assert!(!images.iter().any(|i| i.1 == Some(0) && i.2 == Some(1)), "{model:?}: {images:?}");
        assert!(images.iter().all(|i| i.0 == 0 || i.2 == Some(1)), "{model:?}: {images:?}");
        assert_eq!(crash::persistence_lint(&log), []);
    }
}

#[test]
fn contents_are_there_and_what_was_observed_may_be_lost() {
    let mut p = Program::new(1);
    p.record(0, Kind::Contents, file_address(0, 64), 9);
    p.record(0, Kind::Observed, at(0), 3);
    let images = seen(&p.log(), Persistency::Px86Line, |i| (word(i, 0, 64), word(i, 0, 0)));
    assert_eq!(images, BTreeSet::from([(Some(9), Some(0)), (Some(9), Some(3))]));
}

/// What is synced before a file is made says nothing of it.
#[test]
fn power_fails_only_once_the_file_that_is_checked_was_made() {
    let mut p = Program::new(2);
    p.trace.about.files.get_mut(&0).unwrap().bytes = 0;
    p.trace.about.names.insert(1, "/d/f0".into());
    p.pwrite(1, 0, 1).call(Call::Fsync, file_address(1, 0), 0).mark(1);
    p.call(Call::Link, file_address(0, 0), 1).pwrite(0, 0, 7).mark(2);
    p.call(Call::Fsync, file_address(1, 0), 0).mark(3).pwrite(0, 0, 8);
    let names = |i: &Candidate<'_>| (i.acknowledged(), i.files()[0].names.concat());
    let images = seen(&p.log(), Persistency::Px86Line, names);
    assert_eq!(images, BTreeSet::from([(3, "/d/f0".to_string())]));
}

#[test]
fn power_fails_only_after_the_mark_asked_for() {
    let log = |after| {
        let mut p = Program::new(1);
        for n in 1..=5 {
            p.store(at(0), n).flush(at(0)).fence().mark(n);
        }
        p.log_after(after)
    };
    let marks = |after| seen(&log(after), Persistency::Px86Line, |i| i.acknowledged());
    assert_eq!(marks(Some(3)), BTreeSet::from([3, 4, 5]));
    assert_eq!(marks(None), BTreeSet::from([0, 1, 2, 3, 4, 5]));
}

/// Forty pending lines, of which the check reads two: the others do not multiply.
#[test]
fn lines_that_the_check_does_not_read_do_not_multiply() {
    let mut p = Program::new(1);
    (0..40).for_each(|n| _ = p.store(at(0) + 64 * n, 1));
    let log = p.log();
    let check = |i: &Candidate<'_>| {
        let lines = [PM_BASE, PM_BASE + 64 * 30];
        let words = lines.map(|l| i.line(line_of(l))[0]);
        // The second line is looked at only where the first is there.
        let read = if words[0] == 0 { &lines[..1] } else { &lines[..] };
        let read = read.iter().map(|line| *line..line + 64).collect();
        let verdict = if words == [1, 0] { Verdict::Fails("half".into()) } else { Verdict::Holds };
        Outcome { verdict, read: Some(read), more: false }
    };
    let found = crash::search_whole(&log, Persistency::Px86Line, BOUNDS, &check, &|| true, &mut |_| {});
    assert_eq!(found.failures.len(), 1, "{found:?}");
    assert!(found.images < 16, "{found:?}");
    let holds = |i: &Candidate<'_>| Outcome { verdict: Verdict::Holds, ..check(i) };
    let found = crash::search_whole(&log, Persistency::Px86Line, BOUNDS, &holds, &|| true, &mut |_| {});
    assert_eq!((found.points, found.bounded_points), (1, 0), "{found:?}");
    assert!(found.images <= 12 && (found.possible - 2f64.powi(40)).abs() < 0.5, "{found:?}");
}

#[test]
fn a_failure_is_kept_as_found_where_there_is_no_time_to_make_it_small() {
    let log = ninety(20, Kind::Sfence);
    let check = |i: &Candidate<'_>| Outcome::of(if counted(i) { Ok(()) } else { Err("wrong".into()) });
    let found = crash::search_whole(&log, Persistency::Px86Line, BOUNDS, &check, &|| false, &mut |_| {});
    assert!(!found.failures.is_empty() && found.failing_points > 0, "{found:?}");
}

#[test]
fn what_begins_to_write_out_is_told_to_make_nothing_durable() {
    let why = |begins: &[(Call, u32)], is_mapped: bool| {
        let mut p = Program::new(2);
        match is_mapped {
            true => p.store(at(0), 1),
            false => p.pwrite(0, 0, 1),
        };
        begins.iter().for_each(|(call, file)| _ = p.call(*call, file_address(*file, 0), 4096));
        p.pwrite(1, 0, 1).call(Call::Fsync, file_address(1, 0), 0);
        let found =
            search(&p.log(), Persistency::Px86Line, |i| word(i, 0, 0) == Some(1) || word(i, 1, 0) == Some(0));
        found.failures[0].why.text.clone()
    };
    for other in [&[][..], &[(Call::SyncFileRange, 1)], &[(Call::MsyncAsync, 1)]] {
        assert!(why(other, false).ends_with(": nothing syncs it"));
        assert!(why(other, true).ends_with(": nothing flushes its line or syncs its file"));
    }
    assert!(
        why(&[(Call::SyncFileRange, 0)], false).ends_with("syncs it (sync_file_range makes nothing durable)")
    );
    let mapped = why(&[(Call::MsyncAsync, 0)], true);
    assert!(mapped.ends_with("syncs its file (msync with MS_ASYNC makes nothing durable)"), "{mapped}");
}

#[test]
fn a_write_that_is_torn_within_a_disks_sector_is_told() {
    let torn = |apart: u64, calls: u64| {
        let mut p = Program::new(1);
        p.call(Call::Fsync, file_address(0, 0), 0);
        let words = apart / 8 + 1;
        p.call(Call::Write, file_address(0, 0), words * 8);
        let location = p.stamp;
        for word in 0..words {
            if word * 8 == apart && calls == 2 {
                p.call(Call::Write, file_address(0, word * 8), 8);
            }
            p.record(0, Kind::Written, file_address(0, word * 8), 7);
            p.trace.threads[0].last_mut().unwrap().location = location;
        }
        p.call(Call::Fsync, file_address(0, 0), 0);
        let found =
            search(&p.log(), Persistency::Px86Line, |i: &Candidate<'_>| word(i, 0, 0) == word(i, 0, apart));
        let why = &found.failures[0].why;
        assert_eq!(why.is_torn, Some(why.text.contains("torn within 512 bytes")), "{why:?}");
        why.is_torn == Some(true)
    };
    assert!(torn(64, 1) && torn(448, 1));
    assert!(!torn(512, 1));
    assert!(!torn(64, 2), "two calls are two writes");
}

/// Any records at all, some of them sound.
fn any_record() -> impl Strategy<Value = Record> {
    let address = prop_oneof![
        (0..3u64, 0..9000u64).prop_map(|(file, offset)| at(file) + offset),
        (0..3u32, 0..9000u64).prop_map(|(file, offset)| file_address(file, offset)),
        any::<u64>(),
        (0..200u64).prop_map(|n| u64::MAX - n),
    ];
    let value = prop_oneof![0..4u64, (0..20u64, 0..9000u64).prop_map(|(c, b)| b << 8 | c), any::<u64>()];
    let kind = (0..27u8).prop_map(|n| Kind::from_number(n).unwrap());
    (address, value, kind, 0..3u16, prop_oneof![Just(8u8), 0..=8u8, any::<u8>()]).prop_map(
        |(address, value, kind, thread, size)| Record {
            address,
            value,
            stamp: 0,
            location: 0,
            instructions: 0,
            thread,
            kind,
            size,
        },
    )
}

proptest! {
    #[test]
    fn hostile_records_never_panic(records in prop::collection::vec(any_record(), 0..40), image in 0..3u32) {
        let mut p = Program::new(2);
        p.trace.about.names.extend([(0, "/d/f0".into()), (1, "/d/f1".into()), (2, "/d/g".into())]);
        for (stamp, record) in records.into_iter().enumerate() {
            p.trace.push(Record { stamp: 100 + stamp as u32, ..record });
        }
        let Ok(recording) = Recording::of_trace(p.trace) else { return Ok(()) };
        let layout = Layout::new(recording.about(), &recording.counts().extents, PM_BASE);
        let facts = Facts::of(&recording);
        let begins = &facts.begins(&[image], None, None);
        let log = crash::of_trace(&recording, &Recorded { layout: &layout, named: &facts.named, begins });
        crash::persistence_lint(&log);
        let check = |i: &Candidate<'_>| Outcome::of(if i.pages().count() % 3 == 2 { Err("x".into()) } else { Ok(()) });
        for model in MODELS {
            let bounds = Bounds { points: 6, images: 8, failures: 2, skip: 0 };
            let found = crash::search_whole(&log, model, bounds, &check, &|| true, &mut |_| {});
            for f in &found.failures {
                prop_assert!(Replay::read(&f.why.replay).is_some(), "{}", f.why.replay);
            }
        }
    }
}
