//! In which order crash points and images are tried, and what one failure leaves of the others.

use super::candidate::{Candidate, Outcome};
use super::files::FileState;
use super::images::{Bounds, Failure, Search};
use super::log::{Event, Kind, Log};
use super::search_whole;
use super::{Change, StoreNote, What};
use protocol::Persistency;
use protocol::{FenceKind, FlushKind, PM_BASE, line_of};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

const BOUNDS: Bounds = Bounds { points: 1000, images: 64, failures: 8, skip: 0 };

#[derive(Default)]
struct Program(Log);

impl Program {
    fn new() -> Program {
        let file = FileState { number: 0, base: PM_BASE, names: vec!["f".into()], size: 1 << 20 };
        Program(Log { threads: 1, files: vec![file], ..Log::default() })
    }

    fn event(&mut self, kind: Kind, line: u64, value: u64, site: &str) {
        let known = self.0.sites.iter().position(|s| s == site);
        let site = known.unwrap_or_else(|| {
            self.0.sites.push(site.into());
            self.0.sites.len() - 1
        });
        let address = PM_BASE + 64 * line;
        self.0.events.push(Event { kind, address, value, site: site as u32, thread: 0, size: 8 });
    }

    fn change(&mut self, file: usize, what: What, cuts: Option<(u64, u64)>, site: &str) {
        self.0.changes.push(Change { file, what, cuts });
        self.event(Kind::Change, 0, self.0.changes.len() as u64 - 1, site);
    }

    fn store(&mut self, line: u64, value: u64, site: &str) {
        self.event(Kind::Store, line, value, site);
    }

    /// Stored, flushed and fenced.
    fn persist(&mut self, line: u64, value: u64) {
        self.store(line, value, "counter");
        self.event(Kind::Flush(FlushKind::Clwb), line, 0, "counter");
        self.event(Kind::Fence(FenceKind::Sfence), 0, 0, "counter");
    }
}

fn value(image: &Candidate<'_>, line: u64) -> u8 {
    image.line(line_of(PM_BASE + 64 * line))[0]
}

/// A counter up to `n`, made durable at each step.
fn count(p: &mut Program, n: u64) {
    (1..=n).for_each(|i| p.persist(0, i));
}

fn search(p: &Program, check: &(dyn Fn(&Candidate<'_>) -> Result<(), String> + Sync)) -> Search {
    let check = |image: &Candidate<'_>| Outcome::of(check(image));
    search_whole(&p.0, Persistency::Px86Line, BOUNDS, &check, &|| true, &mut |_| {})
}

/// Lines 1 and 2 are never flushed; the counter says that they are there.
fn two_mistakes() -> Program {
    let mut p = Program::new();
    count(&mut p, 50);
    p.store(1, 7, "first");
    count(&mut p, 50);
    p.store(2, 7, "second");
    p.persist(0, 100);
    count(&mut p, 50);
    p
}

#[test]
fn one_mistake_does_not_hide_another() {
    let lost = |image: &Candidate<'_>| match (value(image, 0), value(image, 1), value(image, 2)) {
        (100, 0, _) => Err("first".into()),
        (100, _, 0) => Err("second".into()),
        _ => Ok(()),
    };
    let found = search(&two_mistakes(), &lost);
    let missing: Vec<&str> = found.failures.iter().map(|f| f.why.missing[0].site.as_str()).collect();
    assert_eq!(missing, ["first", "second"], "{found:?}");
    assert!(
        found.failures.iter().all(|f| f.why.present.len() == 1),
        "what is there in spite of it: {found:?}"
    );
}

/// One function writes for all: a record and the flag that publishes it, for one fence.
fn published(records: u64) -> Program {
    let mut p = Program::new();
    for flag in (0..records).map(|n| 2 * n) {
        p.store(flag, 7, "put");
        p.store(flag + 1, 9, "put");
        p.event(Kind::Flush(FlushKind::Clwb), flag, 0, "put");
        p.event(Kind::Flush(FlushKind::Clwb), flag + 1, 0, "put");
        p.event(Kind::Fence(FenceKind::Sfence), 0, 0, "put");
    }
    p
}

#[test]
fn two_mistakes_in_one_place_of_the_program_are_told_apart_and_a_loop_is_not() {
    let lacks = |image: &Candidate<'_>, n: u64| value(image, 2 * n) == 7 && value(image, 2 * n + 1) == 0;
    let check = |image: &Candidate<'_>| match [lacks(image, 0), lacks(image, 1)] {
        [true, _] => Err("no header".into()),
        [_, true] => Err("no tree".into()),
        [false, false] => Ok(()),
    };
    let found = search(&published(2), &check);
    let said: Vec<(&str, usize)> = found.failures.iter().map(|f| (f.message.as_str(), f.points)).collect();
    assert_eq!(said, [("no header", 1), ("no tree", 1)], "{found:?}");
    assert_eq!(found.failing_points, 2);

    let check = |image: &Candidate<'_>| {
        let lost = (0..20).find(|n| lacks(image, *n));
        lost.map_or(Ok(()), |n| Err(format!("record {n} is not whole")))
    };
    let found = search(&published(20), &check);
    let said: Vec<(usize, usize)> = found.failures.iter().map(|f| (f.points, f.others.len())).collect();
    assert_eq!((said, found.failing_points), (vec![(20, 0)], 20), "{found:?}");
}

#[test]
fn what_is_never_flushed_is_found_at_once_and_told_where_it_first_fails() {
    let mut p = Program::new();
    count(&mut p, 200);
    p.store(1, 7, "link");
    (1..=100).for_each(|i| p.persist(2, i));
    let tried = AtomicUsize::new(0);
    let check = |image: &Candidate<'_>| {
        tried.fetch_add(1, Ordering::Relaxed);
        let holds = value(image, 2) == 0 || value(image, 1) == 7;
        Outcome::of(if holds { Ok(()) } else { Err("no link".into()) })
    };
    let at_first = Cell::new(None);
    let mut look = |found: &Search| {
        if !found.failures.is_empty() && at_first.get().is_none() {
            at_first.set(Some(tried.load(Ordering::Relaxed)));
        }
    };
    let found = search_whole(&p.0, Persistency::Px86Line, BOUNDS, &check, &|| true, &mut look);
    assert!(at_first.get().unwrap() < 100, "{at_first:?} of {tried:?}");
    let [failure] = &found.failures[..] else { panic!("{found:?}") };
    assert_eq!(
        (failure.why.missing[0].site.as_str(), failure.why.present[0].site.as_str()),
        ("link", "counter")
    );
    let first = p.0.events.iter().position(|e| e.site == 1).unwrap();
    assert!(failure.point < first + 8, "the earliest point is told: {failure:?}");
    assert!(found.failing_points >= 99, "{found:?}");
}

#[test]
fn one_line_among_many_is_found_in_few_checks() {
    for bad in [0, 77, 299] {
        let mut p = Program::new();
        (0..300).for_each(|line| p.store(line, 7, &format!("line {line}")));
        (0..100).for_each(|i| p.store(bad, 8 + i, &format!("line {bad}")));
        let tried = AtomicUsize::new(0);
        let check = |image: &Candidate<'_>| {
            tried.fetch_add(1, Ordering::Relaxed);
            if value(image, bad) < 60 { Err("lost".into()) } else { Ok(()) }
        };
        let found = search(&p, &check);
        let [failure] = &found.failures[..] else { panic!("{found:?}") };
        let [missing] = &failure.why.missing[..] else { panic!("{failure:?}") };
        assert_eq!((missing.address, missing.value), (PM_BASE + 64 * bad, 60), "lost as late as can be");
        assert!(failure.why.present.is_empty(), "{failure:?}");
        assert!(tried.load(Ordering::Relaxed) < 64 + 80, "{tried:?}");
    }
}

/// Whether the checks that make a failure small hold or fail, there are no more of them than there is time for.
#[test]
fn once_there_is_no_time_no_check_makes_a_failure_small() {
    let mut p = Program::new();
    (0..300).for_each(|line| p.store(line, 7, &format!("line {line}")));
    for time_for in [0, 5] {
        let (tried, asked) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let check = |image: &Candidate<'_>| {
            tried.fetch_add(1, Ordering::Relaxed);
            let lost = (0..300).filter(|line| value(image, *line) == 0).count();
            Outcome::of(if lost > 250 { Err("lost".into()) } else { Ok(()) })
        };
        let go_on = || asked.fetch_add(1, Ordering::Relaxed) < time_for;
        let bounds = Bounds { failures: 1, ..BOUNDS };
        let found = search_whole(&p.0, Persistency::Px86Line, bounds, &check, &go_on, &mut |_| {});
        assert_eq!(found.failures.len(), 1, "{found:?}");
        assert_eq!(tried.into_inner() - found.images, time_for, "beside the images of the search");
        assert_eq!(asked.into_inner(), time_for + 1);
    }
}

/// Without time each image that fails loses, and has, other places; the words are those of one mistake.
#[test]
fn one_mistake_takes_one_place_whatever_time_is_left() {
    let mut p = Program::new();
    for n in 1..=20 {
        p.store(n, 7, &format!("place {n}"));
        p.persist(0, n);
    }
    let check = |image: &Candidate<'_>| {
        let said = if value(image, 0) > 10 { "lost" } else { "not there" };
        Outcome::of(if value(image, 0) > 0 { Err(said.into()) } else { Ok(()) })
    };
    let found = search_whole(&p.0, Persistency::Px86Line, BOUNDS, &check, &|| false, &mut |_| {});
    let [failure] = &found.failures[..] else { panic!("{found:?}") };
    assert!(found.points == found.points_in_log && !found.full, "{found:?}");
    assert_eq!((failure.points, failure.others.len()), (found.failing_points, 1), "{found:?}");
    assert!(failure.points >= 20, "{found:?}");
}

/// A mark that comes too early is a cause among others, and only where recovery is told of marks.
#[test]
fn where_nothing_is_missing_the_last_mark_may_have_come_too_early() {
    for (tells_marks, mark) in [(true, 1), (true, 0), (false, 1)] {
        let mut p = Program::new();
        p.0.tells_marks = tells_marks;
        p.persist(1, 7);
        p.event(Kind::Ended, 0, mark, "");
        p.persist(2, 1);
        p.persist(0, 1);
        let check = |image: &Candidate<'_>| {
            let acknowledged = image.acknowledged().max(u64::from(mark == 0 || !tells_marks));
            if u64::from(value(image, 0)) < acknowledged { Err("lost".into()) } else { Ok(()) }
        };
        let found = search(&p, &check);
        let says = |f: &Failure| {
            f.why.text.starts_with("nothing is missing") && f.why.text.contains("the last mark comes before")
        };
        assert!(!found.failures.is_empty(), "{found:?}");
        assert_eq!(found.failures.iter().any(says), tells_marks && mark == 1, "{found:?}");
    }
}

#[test]
fn a_search_that_ends_with_its_failures_says_so() {
    for (mistakes, full) in [(3, false), (20, true)] {
        let mut p = Program::new();
        for n in 1..=20 {
            p.store(n, 7, &format!("place {n}"));
            if n > mistakes {
                p.event(Kind::Flush(FlushKind::Clwb), n, 0, "flush");
                p.event(Kind::Fence(FenceKind::Sfence), 0, 0, "fence");
            }
            p.persist(0, n);
        }
        let check = |image: &Candidate<'_>| {
            let lost = (1..=u64::from(value(image, 0))).find(|n| value(image, *n) == 0);
            lost.map_or(Ok(()), |n| Err(format!("no record {n}")))
        };
        let found = search(&p, &check);
        assert_eq!((found.full, found.failures.len()), (full, mistakes.min(8) as usize), "{found:?}");
    }
}

/// A write that is not whole within a sector is told, whatever time is left.
#[test]
fn that_a_write_is_torn_is_tried_without_time() {
    let mut p = Program::new();
    for (line, value) in [(0, 1), (1, 1), (8, 1)] {
        p.event(Kind::Written { call: 0 }, line, value, "record");
    }
    for (other, torn) in [(1, Some(true)), (8, Some(false))] {
        let check = |image: &Candidate<'_>| {
            Outcome::of(if value(image, 0) == value(image, other) { Ok(()) } else { Err("half".into()) })
        };
        let found = search_whole(&p.0, Persistency::Px86Line, BOUNDS, &check, &|| false, &mut |_| {});
        assert!(found.failures.iter().any(|f| f.why.is_torn == torn), "{found:?}");
    }
}

/// One function writes to a log of many lines, to records, and to what says how many there are.
fn three_files_by_one_function() -> Program {
    let mut p = Program::new();
    let file = |number: u32| FileState {
        number,
        base: PM_BASE + (u64::from(number) << 20),
        names: vec![format!("{number}")],
        size: 0,
    };
    p.0.files = (0..3).map(file).collect();
    let mut append = |file: usize, first: u64, lines: u64| {
        for line in first..first + lines {
            let call = p.0.changes.len() as u32;
            p.event(Kind::Written { call }, (file as u64) << 14 | line, 7, "append");
        }
        p.change(file, What::AtLeast(64 * (first + lines)), None, "append");
    };
    for record in 0..4 {
        append(0, 16 * record, 16);
        append(1, record, 1);
        append(2, record, 1);
    }
    p
}

#[test]
fn a_file_that_is_never_synced_is_found_whatever_the_same_function_writes() {
    let check = |image: &Candidate<'_>| {
        let files = image.files();
        let there = |file: u64| {
            let lines = files[file as usize].size / 64;
            (0..lines).filter(|line| value(image, file << 14 | line) == 7).count()
        };
        if there(1) < there(2) { Err("a record is lost".into()) } else { Ok(()) }
    };
    let found = search(&three_files_by_one_function(), &check);
    let failure = found.failures.first().expect("it is found");
    assert!(failure.why.missing.iter().any(|note| note.address >= PM_BASE + (1 << 20)), "{failure:?}");
}

#[test]
fn more_images_than_a_number_holds_are_said_to_be_at_least_so_many() {
    let mut p = Program::new();
    (1..=1100).for_each(|line| p.store(line, 1, "line"));
    p.persist(0, 1);
    let found = search(&p, &|_| Ok(()));
    assert!(found.possible >= f64::MAX && found.possible.is_finite() && !found.counted, "{}", found.possible);
}

/// Of changes of files the one that is there and decides is told, not what came after it.
#[test]
fn the_renaming_of_a_file_that_was_not_synced_is_told_whatever_is_named_after_it() {
    let mut p = Program::new();
    p.event(Kind::Written { call: 0 }, 1, 7, "write");
    p.change(0, What::Link("new".into()), None, "open");
    p.change(0, What::Rename("new".into(), "data".into()), None, "save");
    (0..5).for_each(|n| p.change(0, What::Link(format!("{n}")), None, "other"));
    let check = |image: &Candidate<'_>| {
        let is_named = image.files()[0].names.iter().any(|name| name == "data");
        if is_named && value(image, 1) == 0 { Err("empty".into()) } else { Ok(()) }
    };
    let found = search(&p, &check);
    let [failure] = &found.failures[..] else { panic!("{found:?}") };
    let [there] = &failure.why.present[..] else { panic!("{failure:?}") };
    assert_eq!((there.site.as_str(), there.event), ("save (the renaming of new to data)", 2));
    let begins = "the renaming of new to data at save can persist before the write at write";
    assert!(failure.why.text.starts_with(begins), "{failure:?}");
}

#[test]
fn a_write_is_told_with_its_file_beside_a_change_at_the_same_place() {
    let mut p = Program::new();
    p.change(0, What::Link("new".into()), None, "open");
    p.event(Kind::Written { call: 1 }, 1, 7, "save");
    p.change(0, What::Rename("new".into(), "data".into()), None, "save");
    let check = |image: &Candidate<'_>| {
        let is_named = image.files()[0].names.iter().any(|name| name == "data");
        if is_named && value(image, 1) == 0 { Err("empty".into()) } else { Ok(()) }
    };
    let failure = search(&p, &check).failures.swap_remove(0);
    let begins = "the renaming of new to data at save can persist before the write to f+0x40 at save: ";
    assert!(failure.why.text.starts_with(begins), "{failure:?}");
}

/// With fewer changes it fails in another way: what is told belongs to what recovery says.
#[test]
fn the_change_that_decides_is_the_last_of_those_that_fail_alike() {
    let mut p = Program::new();
    p.event(Kind::Written { call: 0 }, 1, 7, "write");
    for name in ["a", "b", "c", "d", "e"] {
        p.change(0, What::Link(name.into()), None, name);
    }
    let check = |image: &Candidate<'_>| {
        let names = &image.files()[0].names;
        let has = |name: &str| names.iter().any(|n| n == name);
        if has("b") && !has("c") {
            return Err("b alone".into());
        }
        if has("e") && value(image, 1) == 0 { Err("e too soon".into()) } else { Ok(()) }
    };
    let found = search(&p, &check);
    let failure = found.failures.iter().find(|failure| failure.message == "e too soon").expect("it is found");
    let there: Vec<_> = failure.why.present.iter().map(|note| note.site.as_str()).collect();
    assert_eq!(there, ["e (the name e)"]);
}

/// What was written to a file is told by the name that it had then, also where a later one is durable.
#[test]
fn a_file_is_called_as_it_was_when_it_was_written() {
    let mut p = Program::new();
    p.0.files = vec![FileState { base: PM_BASE, ..FileState::default() }];
    p.change(0, What::Link("new".into()), None, "open");
    p.event(Kind::Written { call: 1 }, 1, 7, "write");
    p.change(0, What::AtLeast(1 << 12), None, "write");
    p.change(0, What::Rename("new".into(), "data".into()), None, "save");
    p.event(Kind::Sync, 0, 0, "sync the folder");
    let check = |image: &Candidate<'_>| {
        let file = &image.files()[0];
        let is_empty = file.names == ["data"] && value(image, 1) == 0;
        if is_empty { Err("empty".into()) } else { Ok(()) }
    };
    let found = search(&p, &check);
    let failure = found.failures.first().expect("it is found");
    let files: Vec<_> = failure.why.missing.iter().map(|note| note.file.as_deref()).collect();
    assert_eq!(files, [Some("new")], "{failure:?}");
}

/// A file is cut off and written again: the cut is what is there, and not what was durable before.
#[test]
fn a_change_that_is_there_is_told_beside_the_one_after_it_that_is_lost() {
    let mut p = Program::new();
    p.change(0, What::Link("other".into()), None, "other");
    p.change(0, What::Size(0), Some((PM_BASE, PM_BASE + (1 << 20))), "cut");
    p.change(0, What::AtLeast(64), None, "grow");
    p.change(0, What::AtLeast(128), None, "grow more");
    let check = |image: &Candidate<'_>| if image.files()[0].size == 0 { Err("empty".into()) } else { Ok(()) };
    let found = search(&p, &check);
    let [failure] = &found.failures[..] else { panic!("{found:?}") };
    let sites = |notes: &[StoreNote]| notes.iter().map(|n| n.site.clone()).collect::<Vec<_>>();
    let (missing, there) = (sites(&failure.why.missing), sites(&failure.why.present));
    assert_eq!(
        (missing, there),
        (
            vec!["grow (the size of 64 bytes of f)".into()],
            vec!["cut (the truncation of f to 0 bytes)".into()]
        )
    );
    assert!(failure.why.text.ends_with("at grow after it: the two are not one"), "{failure:?}");
}

/// Of a write a half is there, and without that half it fails too: it is not that the halves are not one.
#[test]
fn a_half_that_decides_nothing_is_not_named() {
    let why = |is_one_of_two: bool| {
        let mut p = Program::new();
        p.event(Kind::Written { call: 0 }, 100, 1, "grow");
        p.event(Kind::Sync, 0, 1 << 20, "sync");
        p.event(Kind::Written { call: 1 }, 0, 7, "write");
        p.event(Kind::Written { call: 1 }, 0, 9, "write");
        p.0.events.last_mut().unwrap().address += 8;
        p.event(Kind::Sync, 0, 1 << 20, "sync");
        let second = |image: &Candidate<'_>| image.line(line_of(PM_BASE))[8];
        let check = move |image: &Candidate<'_>| {
            let is_old = is_one_of_two && value(image, 0) == 0;
            if value(image, 100) == 0 || is_old || second(image) == 9 { Ok(()) } else { Err("lost".into()) }
        };
        let found = search(&p, &check);
        let lost = found.failures.iter().find(|failure| !failure.why.missing.is_empty());
        lost.unwrap_or_else(|| panic!("{found:?}")).why.text.clone()
    };
    assert!(why(true).contains("at write after it: the two are not one"), "{}", why(true));
    let text = why(false);
    assert!(text.contains("what was durable before needs it, the write at grow last"), "{text}");
}

#[test]
fn a_failure_that_there_was_no_time_to_make_small_says_so() {
    let mut p = Program::new();
    p.event(Kind::Written { call: 0 }, 1, 7, "one");
    p.event(Kind::Written { call: 1 }, 2, 9, "two");
    p.event(Kind::Sync, 0, 1 << 20, "sync");
    let check =
        |image: &Candidate<'_>| Outcome::of(if value(image, 2) == 9 { Ok(()) } else { Err("lost".into()) });
    let text = |has_time: bool| {
        let found = search_whole(&p.0, Persistency::Px86Line, BOUNDS, &check, &|| has_time, &mut |_| {});
        found.failures[0].why.text.clone()
    };
    assert!(text(true).starts_with("the write at two") && !text(true).contains("no time"), "{}", text(true));
    assert!(
        text(false).contains("there was no time to find which of all that is lost decides"),
        "{}",
        text(false)
    );
}

/// Two writes at one place of the program are told by where they are in their files, as these are called then.
#[test]
fn writes_at_one_place_of_the_program_are_told_by_their_files() {
    let mut p = three_files_by_one_function();
    p.change(1, What::Rename("1".into(), "/d/one".into()), None, "open");
    p.event(Kind::Written { call: 90 }, 1 << 14 | 9, 7, "put");
    p.change(1, What::Rename("/d/one".into(), "/d/1".into()), None, "open");
    p.event(Kind::Written { call: 91 }, 2 << 14, 9, "put");
    let check = |image: &Candidate<'_>| {
        if value(image, 2 << 14) == 9 && value(image, 1 << 14 | 9) == 0 { Err("lost".into()) } else { Ok(()) }
    };
    let found = search(&p, &check);
    let [failure] = &found.failures[..] else { panic!("{found:?}") };
    let says = "the write to 2+0x0 at put can persist before the write to one+0x240 at put: nothing syncs it";
    assert_eq!(failure.why.text, says);
    let (missing, there) = (&failure.why.missing[0], &failure.why.present[0]);
    assert_eq!((missing.file.as_deref(), missing.offset), (Some("/d/one"), Some(0x240)));
    assert_eq!((there.file.as_deref(), there.offset), (Some("2"), Some(0)));
}

/// Of the stores to a line, too, the one that decides is told.
#[test]
fn the_store_of_a_line_that_decides_is_told_whatever_is_stored_there_after_it() {
    let mut p = Program::new();
    p.store(1, 7, "data");
    p.store(0, 1, "valid");
    (2..8).for_each(|n| p.store(0, n, "counter"));
    let check = |image: &Candidate<'_>| {
        if value(image, 0) > 0 && value(image, 1) == 0 { Err("no data".into()) } else { Ok(()) }
    };
    let found = search(&p, &check);
    let [failure] = &found.failures[..] else { panic!("{found:?}") };
    let [there] = &failure.why.present[..] else { panic!("{failure:?}") };
    assert_eq!((there.site.as_str(), there.event), ("valid", 1));
}
