//! What is found in recordings of hosts: each mistake with its places, nothing where there is none.

use super::*;
use crate::finding::Kind;

/// Hosts 0 and 1, a line of data and a line with a word that tells; `line` of the program in the place of an access.
#[derive(Clone)]
struct Program(Recorded);

const DATA: usize = 0;
const TOLD: usize = 1;

impl Program {
    fn new() -> Program {
        Program(Recorded {
            hosts: 2,
            lines: vec![4096, 4160],
            coherent: vec![false; 2],
            accesses: Vec::new(),
        })
    }

    fn with(mut self, host: usize, act: Act, line: usize, value: u64) -> Program {
        let place = SourceLine::recorded("kv.c", self.0.accesses.len() as u32 + 1);
        let looks = line != DATA;
        self.0.accesses.push(Access {
            host,
            thread: host,
            act,
            line,
            offset: 0,
            size: 8,
            value,
            looks,
            place,
        });
        self
    }

    /// The same at an offset in the line.
    fn at(self, host: usize, act: Act, (line, offset): (usize, usize), value: u64) -> Program {
        let mut program = self.with(host, act, line, value);
        program.0.accesses.last_mut().unwrap().offset = offset;
        program
    }

    /// The same after these steps, but for the one with the number `skip`.
    fn with_all(self, steps: &[(usize, Act, usize, u64)], skip: usize) -> Program {
        let kept = steps.iter().enumerate().filter(|(n, _)| *n != skip);
        kept.fold(self, |program, (_, (host, act, line, value))| program.with(*host, *act, *line, *value))
    }

    fn found(&self) -> Vec<(Kind, String)> {
        let machine = Settings::defaults(SharedParameters::TABLE);
        let outcome = replay(&machine, &self.0);
        outcome.found.into_iter().map(|f| (f.finding.kind, f.finding.message)).collect()
    }

    fn finds(&self, kind: Kind, words: &[&str]) {
        let found = self.found();
        let is_told = |(k, text): &(Kind, String)| *k == kind && words.iter().all(|w| text.contains(w));
        assert!(found.len() == 1 && is_told(&found[0]), "{found:#?}");
    }
}

const CLWB: Act = Act::Flush(FlushKind::Clwb);
const DROP: Act = Act::Flush(FlushKind::Clflushopt);

/// Host 1 has looked at both lines; host 0 then stores 7 into the data and tells by a 1. `skip` leaves one of its steps out.
fn published(skip: usize) -> Program {
    let steps = [
        (1, Act::Load, DATA, 0),
        (1, Act::Load, TOLD, 0),
        (0, Act::Store, DATA, 7),
        (0, CLWB, DATA, 0),
        (0, Act::Fence, 0, 0),
        (0, Act::Store, TOLD, 1),
        (0, CLWB, TOLD, 0),
        (0, Act::Fence, 0, 0),
        (1, DROP, TOLD, 0),
        (1, Act::Load, TOLD, 1),
        (1, DROP, DATA, 0),
        (1, Act::Load, DATA, 7),
    ];
    Program::new().with_all(&steps, skip)
}

#[test]
fn a_right_recording_is_clean() {
    assert_eq!(published(usize::MAX).found(), []);
    // To look again at what told is to look.
    let again = published(usize::MAX).with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, 1);
    assert_eq!(again.found(), []);
}

#[test]
fn each_step_that_lacks_is_found() {
    published(3).finds(
        Kind::StaleRead,
        &["this load at kv.c:11 on host 1", "replaced", "at kv.c:3", "never flushed"],
    );
    published(4).finds(
        Kind::PublicationBeforeData,
        &["kv.c:11", "kv.c:3", "flushed the line at kv.c:4, but no fence"],
    );
    published(6).finds(Kind::StaleRead, &["this load at kv.c:9", "at kv.c:6", "never flushed"]);
    published(8)
        .finds(Kind::StaleRead, &["this load at kv.c:9", "at kv.c:6", "host 1 never invalidated its copy"]);
    published(10)
        .finds(Kind::StaleRead, &["this load at kv.c:11", "at kv.c:3", "host 1 never invalidated its copy"]);
    // Whether the word that tells arrives soon is no mistake.
    assert_eq!(published(7).found(), []);
}

/// Each word of a line that was never flushed is loaded elsewhere: one mistake.
#[test]
fn a_mistake_is_told_once_for_all_words_of_a_line() {
    let mut program = published(3);
    let mut second = program.0.accesses[2];
    (second.offset, second.value) = (8, 8);
    program.0.accesses.insert(3, second);
    let mut load = *program.0.accesses.last().unwrap();
    (load.offset, load.value, load.place) = (8, 8, SourceLine::recorded("kv.c", 99));
    program.0.accesses.push(load);
    program.finds(Kind::StaleRead, &["kv.c:11", "kv.c:3", "never flushed"]);
}

#[test]
fn a_flush_after_the_word_that_tells_comes_too_late() {
    let late = Program::new()
        .with(0, Act::Store, DATA, 7)
        .with(0, Act::Store, TOLD, 1)
        .with(0, CLWB, TOLD, 0)
        .with(0, Act::Fence, 0, 0)
        .with(1, Act::Load, TOLD, 1)
        .with(1, Act::Load, DATA, 7)
        .with(0, CLWB, DATA, 0)
        .with(0, Act::Fence, 0, 0);
    late.finds(Kind::PublicationBeforeData, &["kv.c:6", "told of them at kv.c:2", "later, at kv.c:7"]);
}

/// However the recording went: a ring's consumer that comes later, when all has landed, was lucky.
#[test]
fn a_fence_that_lacks_is_found_although_all_has_landed_meanwhile() {
    let lucky = published(4).with(0, Act::Fence, 0, 0);
    lucky.finds(
        Kind::PublicationBeforeData,
        &["may return", "no fence had waited for that when host 0 told of them at kv.c:5"],
    );
    let flushed_late = Program::new()
        .with(0, Act::Store, DATA, 7)
        .with(0, Act::Store, TOLD, 1)
        .with(0, CLWB, TOLD, 0)
        .with(0, CLWB, DATA, 0)
        .with(0, Act::Fence, 0, 0)
        .with(1, Act::Load, TOLD, 1)
        .with(1, Act::Load, DATA, 7);
    flushed_late
        .finds(Kind::PublicationBeforeData, &["may return", "told of them at kv.c:2", "later, at kv.c:4"]);
}

#[test]
fn two_hosts_that_store_into_one_line_destroy_each_others_bytes() {
    let two = Program::new().with(0, Act::Store, DATA, 7).at(1, Act::Store, (DATA, 8), 8);
    two.finds(
        Kind::WriteConflict,
        &["this store at kv.c:2", "at kv.c:1", "host 0 has not written the line back"],
    );
    let old_copy = Program::new()
        .with(1, Act::Load, DATA, 0)
        .with(0, Act::Store, DATA, 7)
        .with(0, CLWB, DATA, 0)
        .with(0, Act::Fence, 0, 0)
        .at(1, Act::Store, (DATA, 8), 8);
    old_copy.finds(Kind::WriteConflict, &["host 1's copy of the line is older"]);
}

#[test]
fn a_lock_orders_and_flushes_nothing() {
    let locked = |flushes: bool| {
        let mut program = Program::new().with(0, Act::Lock, TOLD, 0).with(0, Act::Store, DATA, 7);
        if flushes {
            program = program.with(0, CLWB, DATA, 0).with(0, Act::Fence, 0, 0);
        }
        program.with(0, Act::Unlock, TOLD, 0).with(1, Act::Lock, TOLD, 0).with(1, Act::Load, DATA, 7)
    };
    assert_eq!(locked(true).found(), []);
    locked(false).finds(Kind::StaleRead, &["kv.c:5", "kv.c:2", "never flushed"]);
}

#[test]
fn coherent_lines_need_nothing() {
    let mut coherent = published(3);
    coherent.0.coherent = vec![true; 2];
    assert_eq!(coherent.found(), []);
}

#[test]
fn more_hosts_than_the_machine_has_are_refused() {
    let machine = Settings::defaults(SharedParameters::TABLE);
    assert!(check_recorded(&machine, 2).is_ok());
    assert!(check_recorded(&machine, 5).unwrap_err().contains("5 hosts"));
    assert!(check_recorded(&machine, 1).unwrap_err().contains("--host-per-process"));
}

/// Data and the word that tells in one line, which arrives whole.
#[test]
fn data_in_the_line_of_the_word_that_tells_comes_with_it() {
    let told = Program::new()
        .at(0, Act::Store, (TOLD, 8), 7)
        .with(0, Act::Store, TOLD, 1)
        .with(0, CLWB, TOLD, 0)
        .with(0, Act::Fence, 0, 0)
        .with(1, DROP, TOLD, 0)
        .with(1, Act::Load, TOLD, 1)
        .at(1, Act::Load, (TOLD, 8), 7);
    assert_eq!(told.found(), []);
    // Past the caches words go one by one.
    let past = Program::new()
        .at(0, Act::StorePast, (TOLD, 8), 7)
        .with(0, Act::StorePast, TOLD, 1)
        .with(0, Act::Fence, 0, 0)
        .with(1, Act::Load, TOLD, 1)
        .at(1, Act::Load, (TOLD, 8), 7);
    past.finds(Kind::PublicationBeforeData, &["kv.c:5"]);
}

#[test]
fn a_store_after_a_copy_was_fetched_is_unordered_and_tells_of_nothing() {
    // A reader that takes two words of a line while the other host stores into it and into another line.
    let race = Program::new()
        .with(1, DROP, DATA, 0)
        .at(1, Act::Load, (DATA, 8), 0)
        .with(0, Act::Store, TOLD, 9)
        .with(0, Act::Store, DATA, 7)
        .with(1, Act::Load, DATA, 7)
        .with(1, Act::Load, TOLD, 9)
        .with(0, CLWB, DATA, 0)
        .with(0, CLWB, TOLD, 0)
        .with(0, Act::Fence, 0, 0);
    race.finds(Kind::Unordered, &["kv.c:5 on host 1", "kv.c:4", "nothing orders the two"]);
}

/// Host 1 loads a 0 and host 0 stores one, in the order that `first` says; then host 0 stores a 5 and tells of it, and host 1 has
/// the line from before.
fn cleared(first: [(usize, Act); 2]) -> Program {
    first
        .into_iter()
        .fold(Program::new(), |program, (host, act)| program.with(host, act, DATA, 0))
        .with(0, Act::Store, DATA, 5)
        .with(0, CLWB, DATA, 0)
        .with(0, Act::Fence, 0, 0)
        .with(0, Act::Store, TOLD, 1)
        .with(0, CLWB, TOLD, 0)
        .with(0, Act::Fence, 0, 0)
        .with(1, DROP, TOLD, 0)
        .with(1, Act::Load, TOLD, 1)
        .with(1, Act::Load, DATA, 5)
}

#[test]
fn what_is_in_memory_from_the_beginning_is_no_store_to_come() {
    let cleared = cleared([(1, Act::Load), (0, Act::Store)]);
    cleared.finds(Kind::StaleRead, &["kv.c:11", "never invalidated"]);
}

#[test]
fn a_load_of_what_was_there_before_tells_of_no_store_of_the_same_bytes() {
    let cleared = cleared([(0, Act::Store), (1, Act::Load)]);
    cleared.finds(Kind::StaleRead, &["kv.c:11", "never invalidated"]);
}

#[test]
fn locked_operations_of_two_hosts_on_one_word_are_remarked() {
    let locks = Program::new().with(0, Act::Exchange, TOLD, 1).with(1, Act::Exchange, TOLD, 2);
    let remark = locks.0.exchanged().unwrap();
    assert!(remark.contains("kv.c:1") && remark.contains("kv.c:2"), "{remark}");
    assert_eq!(
        Program::new().with(0, Act::Exchange, TOLD, 1).with(1, Act::Load, TOLD, 1).0.exchanged(),
        None
    );
}

/// Another host's work, another line's, and earlier rounds are left out; what the mistake needs stays, in its order.
#[test]
fn the_smallest_part_of_a_recording_that_shows_a_mistake_has_no_more_than_that() {
    let round = |program: Program, flushes: bool, n: u64| {
        let program = program.with(0, Act::Store, DATA, 10 + n);
        let program =
            if flushes { program.with(0, DROP, DATA, 0).with(0, Act::Fence, 0, 0) } else { program };
        let program = program.with(0, Act::Store, TOLD, n).with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0);
        let program = program.with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, n);
        let program = program.with(1, DROP, DATA, 0).with(1, Act::Load, DATA, 10 + n);
        // Something else between the two.
        program.with(1, Act::Store, 2, n).with(1, DROP, 2, 0).with(1, Act::Fence, 0, 0).with(
            0,
            Act::Load,
            2,
            0,
        )
    };
    let mut program = Program::new();
    program.0.lines.push(4224);
    program.0.coherent.push(false);
    for n in 1..6 {
        program = round(program, n != 4, n);
    }
    let machine = Settings::defaults(SharedParameters::TABLE);
    let found = replay(&machine, &program.0).found;
    let [found] = found.as_slice() else { panic!("{found:#?}") };
    let what: Vec<(usize, &str, Option<u64>)> =
        found.steps.iter().map(|s| (s.host, s.what, s.address)).collect();
    // Nothing of either line was in host 1's caches, so that it need not drop them.
    assert_eq!(
        what,
        [
            (0, "stores", Some(4096)),
            (0, "stores", Some(4160)),
            (0, "flushes", Some(4160)),
            (0, "fences", None),
            (1, "loads", Some(4160)),
            (1, "loads", Some(4096)),
        ]
    );
    assert_eq!(found.operations, 6);
    let store = found.steps[0].value;
    assert_eq!(store, Some(14), "the fourth round's: the others flush");
}

const MINE: (usize, usize) = (TOLD, 0);

/// Host 0 takes a lock by a store, and gives it back; host 1, which waited for that, takes it. `gives` is the word's value when
/// it is free after that, `flushes` whether the release is written back.
fn handed(takes: Option<u64>, gives: u64, flushes: bool) -> Program {
    let mut program = Program::new();
    if let Some(taken) = takes {
        program = program.at(0, Act::Store, MINE, taken).with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0);
        program = program.with(1, DROP, TOLD, 0).at(1, Act::Load, MINE, taken);
    } else {
        program = program.at(1, Act::Load, MINE, 0);
    }
    program = program.at(0, Act::Store, MINE, gives);
    if flushes {
        program = program.with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0);
    }
    program = program.with(1, DROP, TOLD, 0).at(1, Act::Load, MINE, gives);
    program.at(1, Act::Store, MINE, gives + 1).with(1, CLWB, TOLD, 0).with(1, Act::Fence, 0, 0)
}

#[test]
fn a_lock_whose_release_was_not_flushed_is_told_as_one() {
    // Set and cleared by its owner; and a ticket that each host hands on.
    for (takes, gives) in [(Some(7), 0), (None, 1)] {
        assert_eq!(handed(takes, gives, true).found(), []);
        let found = handed(takes, gives, false).found();
        assert!(
            found[0].0 == Kind::LockRelease && found[0].1.contains("never flushed the line"),
            "{found:#?}"
        );
    }
    // A word that tells of data is none: nobody takes it.
    let found = published(6).found();
    assert_eq!(found[0].0, Kind::StaleRead);
}

/// Two rings between two hosts of two threads each: what one thread tells says nothing of what the other has begun.
#[test]
fn threads_of_a_host_tell_for_themselves() {
    let of = |mut program: Program, thread: usize| {
        program.0.accesses.last_mut().unwrap().thread = thread;
        program
    };
    let mut program = Program::new();
    program.0.lines = vec![4096, 4160, 4224, 4288];
    program.0.coherent = vec![false; 4];
    let steps = [
        (2, 0, Act::Store, 2, 5),
        (0, 0, Act::Store, DATA, 7),
        (0, 0, CLWB, DATA, 0),
        (0, 0, Act::Fence, 0, 0),
        (0, 0, Act::Store, TOLD, 1),
        (0, 0, CLWB, TOLD, 0),
        (0, 0, Act::Fence, 0, 0),
        (1, 1, Act::Load, TOLD, 1),
        (1, 1, Act::Load, DATA, 7),
        (2, 0, CLWB, 2, 0),
        (2, 0, Act::Fence, 0, 0),
        (2, 0, Act::Store, 3, 1),
        (2, 0, CLWB, 3, 0),
        (2, 0, Act::Fence, 0, 0),
        (1, 1, Act::Load, 3, 1),
        (1, 1, Act::Load, 2, 5),
    ];
    for (thread, host, act, line, value) in steps {
        program = of(program.with(host, act, line, value), thread);
    }
    assert_eq!(program.found(), []);
    let last_look = 14;
    let mut alone = program.0.accesses.clone();
    alone.iter_mut().for_each(|access| access.thread = access.host);
    program.0.accesses.remove(last_look);
    assert_eq!(program.found(), []);
    // Were it one thread, its first word would have told of all that it did before, to who looks at no other.
    program.0.accesses = alone;
    assert_eq!(program.found(), []);
    program.0.accesses.remove(last_look);
    program.finds(Kind::PublicationBeforeData, &["kv.c:16", "kv.c:1", "told of them at kv.c:5"]);
}

/// A thread that looks for what comes only when another thread of its host has gone on.
#[test]
fn a_thread_that_waits_keeps_no_other_one_of_its_host() {
    let steps = [
        (0, 0, Act::Store, DATA, 7),
        // Seen here where caches are coherent; elsewhere only when it was flushed, which host 0 does after host 1's other thread told.
        (1, 1, Act::Load, DATA, 7),
        (2, 1, Act::Store, TOLD, 1),
        (2, 1, CLWB, TOLD, 0),
        (2, 1, Act::Fence, 0, 0),
        (0, 0, Act::Load, TOLD, 1),
        (0, 0, CLWB, DATA, 0),
        (0, 0, Act::Fence, 0, 0),
    ];
    let mut program = Program::new();
    for (thread, host, act, line, value) in steps {
        program = program.with(host, act, line, value);
        program.0.accesses.last_mut().unwrap().thread = thread;
    }
    assert_eq!(program.found(), []);
}

/// The turn of Peterson's lock: each host stores it without asking, and the last write-back counts. A count that both raise is not so.
#[test]
fn a_word_that_hosts_overwrite_as_a_whole_is_no_conflict_and_one_that_they_update_is() {
    let turns = Program::new().with(0, Act::Store, DATA, 1).with(1, Act::Store, DATA, 2);
    assert_eq!(turns.found(), []);
    let copies =
        Program::new().with(1, Act::Load, DATA, 0).with(0, Act::Store, DATA, 1).with(0, CLWB, DATA, 0);
    let copies = copies.with(0, Act::Fence, 0, 0).with(1, DROP, TOLD, 0).with(1, Act::Store, DATA, 2);
    assert_eq!(copies.found(), []);
    let count = Program::new().with(0, Act::Load, DATA, 0).with(1, Act::Load, DATA, 0);
    let count = count.with(0, Act::Store, DATA, 1).with(1, Act::Store, DATA, 1);
    count.finds(Kind::WriteConflict, &["this store at kv.c:4", "at kv.c:3"]);
}

/// Host 0 hands a line on, and host 1 fills it: host 0's write-back was still to come when it told.
#[test]
fn a_line_that_is_handed_on_before_it_was_written_back_may_be_destroyed() {
    let handed = |late: bool| {
        let flushed = |p: Program| p.with(0, CLWB, DATA, 0).with(0, Act::Fence, 0, 0);
        let mut program = Program::new().with(0, Act::Store, DATA, 7);
        program = if late { program } else { flushed(program) };
        program = program.with(0, Act::Store, TOLD, 1).with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0);
        program = if late { flushed(program) } else { program };
        program.with(1, Act::Load, TOLD, 1).with(1, Act::Store, DATA, 9)
    };
    assert_eq!(handed(false).found(), []);
    handed(true).finds(Kind::WriteConflict, &["this store at kv.c:8", "at kv.c:1", "told of that at kv.c:2"]);
}

/// One slot of thousands that was not flushed: what came long before is not gone through again and again.
#[test]
fn a_mistake_late_in_a_long_recording_is_made_small() {
    let mut program = Program::new();
    for n in 1..6000 {
        program = program.with(0, Act::Store, DATA, 10 + n);
        if n != 5990 {
            program = program.with(0, DROP, DATA, 0).with(0, Act::Fence, 0, 0);
        }
        program = program.with(0, Act::Store, TOLD, n).with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0);
        program = program.with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, n);
        program = program.with(1, DROP, DATA, 0).with(1, Act::Load, DATA, 10 + n);
    }
    // The rounds are of one program text.
    for access in &mut program.0.accesses {
        let line = 1 + access.host * 10 + access.line * 2 + usize::from(access.act == Act::Load);
        access.place = SourceLine::recorded("kv.c", line as u32);
    }
    let machine = Settings::defaults(SharedParameters::TABLE);
    let outcome = replay(&machine, &program.0);
    let [found] = outcome.found.as_slice() else { panic!("{:#?}", outcome.found) };
    assert_eq!((found.operations, found.steps.len()), (6, 6), "{:#?}", found.steps);
    assert_eq!(outcome.remarks, Vec::<String>::new());
}

/// Host 0 tells by a 1, host 1 looks at that; then host 0 stores into the data what it should have stored before.
fn told_before() -> Program {
    Program::new().with(0, Act::Store, TOLD, 1).with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0)
}

#[test]
fn plain_data_that_is_stored_after_it_was_told_of_is_unordered() {
    let looked = told_before().with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, 1);
    let stored = |program: Program| program.with(0, Act::Store, DATA, 7).with(0, CLWB, DATA, 0);
    let seen = |program: Program| program.with(0, Act::Fence, 0, 0).with(1, Act::Load, DATA, 7);
    let too_late = seen(stored(looked));
    too_late.finds(Kind::Unordered, &["this load at kv.c:9", "at kv.c:6", "nothing orders the two"]);
    // A word of which the program says that others store there is looked at.
    let mut atomic = too_late;
    atomic.0.accesses.last_mut().unwrap().looks = true;
    assert_eq!(atomic.found(), []);
    // Nobody told this host of anything: a fork may have.
    assert_eq!(seen(stored(told_before())).found(), []);
    // A pipe, or the end of a process, may order them.
    let elsewhere = stored(told_before().with(1, Act::Load, TOLD, 1)).with(1, Act::Lock, TOLD, 0);
    assert_eq!(seen(elsewhere).found(), []);
    // A word that is loaded again and again is waited for, whatever it is called.
    let again = Program::new().with(1, DROP, DATA, 0).with(1, Act::Load, DATA, 0).with(1, DROP, DATA, 0);
    let mut again = again.with(1, Act::Load, DATA, 0);
    again.0.accesses[3].place = again.0.accesses[1].place;
    let told = again.with(0, Act::Store, TOLD, 1).with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0);
    let again = stored(told.with(1, Act::Load, TOLD, 1));
    assert_eq!(seen(again.with(1, DROP, DATA, 0)).found(), []);
}

/// Host 1 looked, and then, or while the look took long, host 0 stored data and told of them. The later word is noted where `late`;
/// `skip` leaves a step out.
fn told_late(late: bool, skip: usize) -> Program {
    let looked = told_before().with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, 1);
    let steps = [
        (0, Act::Store, DATA, 7),
        (0, CLWB, DATA, 0),
        (0, Act::Fence, 0, 0),
        (0, Act::Store, TOLD, 2),
        (0, CLWB, TOLD, 0),
        (0, Act::Fence, 0, 0),
        (0, CLWB, DATA, 0),
        (0, Act::Fence, 0, 0),
        (1, if late { Act::Again } else { Act::Fence }, TOLD, 2),
        (1, DROP, DATA, 0),
        (1, Act::Load, DATA, 7),
    ];
    looked.with_all(&steps, skip)
}

#[test]
fn a_look_that_may_have_given_what_came_right_after_it_orders_what_shows_that_it_did() {
    let right = usize::MAX;
    told_late(false, right)
        .finds(Kind::Unordered, &["this load at kv.c:16", "at kv.c:6", "nothing orders the two"]);
    assert_eq!(told_late(true, right).found(), []);
    // What it then shows of the data has to be right: they were flushed after it was told of them.
    told_late(true, 1).finds(Kind::PublicationBeforeData, &["kv.c:15"]);
    // Nothing shows that it knew: a copy that is old is right.
    let mut old = told_late(true, right);
    old.0.accesses.truncate(14);
    assert_eq!(old.with(1, Act::Load, DATA, 0).found(), []);
}

#[test]
fn a_look_that_took_long_may_have_fetched_its_line_late() {
    let told = told_before().with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, 1);
    let stored = told.at(0, Act::Store, (TOLD, 8), 7).with(0, Act::Store, TOLD, 2).with(0, CLWB, TOLD, 0);
    let seen = |act| {
        let mut seen = stored.clone().with(0, Act::Fence, 0, 0).with(1, act, TOLD, 2);
        seen = seen.at(1, Act::Load, (TOLD, 8), 7);
        seen.0.accesses.last_mut().unwrap().looks = false;
        seen
    };
    seen(Act::Fence).finds(Kind::Unordered, &["kv.c:6"]);
    assert_eq!(seen(Act::Again).found(), []);
}

/// A reader of a sequence lock: it looks at the number, loads data that is stored meanwhile, and looks at the number again where `is_checked`.
fn sequence(is_checked: bool) -> Program {
    let begun = Program::new()
        .with(1, DROP, TOLD, 0)
        .with(1, Act::Load, TOLD, 0)
        .with(1, DROP, DATA, 0)
        .at(1, Act::Load, (DATA, 8), 0)
        .with(0, Act::Store, TOLD, 1)
        .with(0, CLWB, TOLD, 0)
        .with(0, Act::Fence, 0, 0)
        .with(0, Act::Store, DATA, 7)
        .with(0, CLWB, DATA, 0)
        .with(0, Act::Fence, 0, 0)
        .with(1, Act::Load, DATA, 7);
    if is_checked { begun.with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, 1) } else { begun }
}

#[test]
fn a_reader_that_finds_out_that_data_changed_is_right() {
    assert_eq!(sequence(true).found(), []);
    sequence(false).finds(Kind::Unordered, &["this load at kv.c:11", "at kv.c:8", "nothing orders the two"]);
    // The number is looked at before the next time alone: at the same place as before.
    let mut unchecked = sequence(true);
    unchecked.0.accesses.last_mut().unwrap().place = unchecked.0.accesses[1].place;
    unchecked.finds(Kind::Unordered, &["this load at kv.c:11", "nothing orders the two"]);
    // One function looks at both: twice wherever the number is found as it was.
    for (looks, is_right) in [(2, true), (1, false)] {
        let mut first = Program::new();
        for round in 0..2 {
            for look in 0..looks {
                if round == 1 || look == 0 {
                    first = first.with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, 0);
                }
            }
            if round == 0 {
                first = first.with(1, DROP, DATA, 0).at(1, Act::Load, (DATA, 8), 0);
            }
        }
        let mut program = unchecked.0.accesses.clone();
        first.0.accesses.extend(program.drain(2..));
        let place = first.0.accesses[1].place;
        first
            .0
            .accesses
            .iter_mut()
            .filter(|a| a.act == Act::Load && a.line == TOLD)
            .for_each(|a| a.place = place);
        assert_eq!(first.found().is_empty(), is_right, "{looks} {:?}", first.found());
    }
}

#[test]
fn bytes_that_no_recorded_store_left_are_remarked() {
    let remarks =
        |program: &Program| replay(&Settings::defaults(SharedParameters::TABLE), &program.0).remarks;
    let program = Program::new().with(0, Act::Store, TOLD, 1).with(1, Act::Load, TOLD, 1);
    assert_eq!(remarks(&program), Vec::<String>::new());
    let unseen = program.with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, 2);
    let remarks = remarks(&unseen);
    assert!(
        remarks[0].starts_with("a load got bytes that no recorded store left, the first on host 1 at kv.c:4"),
        "{remarks:?}"
    );
}

/// A reader whose data are stored each time while it loads them: no time hides the next.
#[test]
fn a_reader_that_is_overtaken_many_times_is_right_if_it_finds_out() {
    let mut program = Program::new();
    let mut last = 0;
    for version in 1..=40 {
        let stored =
            |program: Program, act| program.with(0, act, DATA, version).at(0, act, (DATA, 8), version);
        let told = |program: Program, number| {
            program.with(0, Act::Store, TOLD, number).with(0, CLWB, TOLD, 0).with(0, Act::Fence, 0, 0)
        };
        program = program.with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, last).with(1, DROP, DATA, 0);
        program = told(program.at(1, Act::Load, (DATA, 16), 0), last + 1);
        program = stored(program, Act::Store).with(0, CLWB, DATA, 0).with(0, Act::Fence, 0, 0);
        program = program.with(1, Act::Load, DATA, version).at(1, Act::Load, (DATA, 8), version);
        program = told(program.with(1, DROP, TOLD, 0).with(1, Act::Load, TOLD, last + 1), last + 2);
        last += 2;
    }
    assert_eq!(program.found(), []);
}
