//! Several processes that map one file, each a host of its own: their recordings become one, in which the file lies at the same
//! address for all.

use crate::about::{About, File};
use crate::error::TraceError;
use crate::record::{FILE_SHIFT, Kind, Record, Trace};
use crate::recording::Recording;
use crate::space::{Reached, file_address, file_of};
use std::collections::{BTreeMap, BTreeSet};

/// Where the first shared file lies in the joint trace.
const BASE: u64 = 1 << 45;
/// Room of a file there.
const ROOM: u64 = 1 << 42;
/// In the address of what threads or hosts met at that is no memory: barriers, pipes, sockets, the end of a process.
pub const MEETINGS: u64 = 1 << 61;
/// Between a place's text and that of where its function was called.
pub const CALLED: &str = " < ";
/// The most shared files.
const MOST_FILES: usize = 8;

/// A process's records of mapped files, their addresses in the file space.
struct Process<'a> {
    recording: &'a Recording,
    /// Files that it loads from or stores to, by identity.
    touched: BTreeMap<String, File>,
    /// Which lines of each.
    lines: BTreeMap<String, BTreeSet<u64>>,
}

impl<'a> Process<'a> {
    fn new(recording: &'a Recording) -> Process<'a> {
        let mut numbered: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        each_placed(recording, |record, place| {
            if let Some((number, offset)) = place.filter(|_| record.kind.is_load() || record.kind.is_store())
            {
                numbered.entry(number).or_default().insert(offset / 64);
            }
        });
        let (mut touched, mut lines) = (BTreeMap::new(), BTreeMap::<String, BTreeSet<u64>>::new());
        for (number, own) in numbered {
            let Some(file) = recording.about().files.get(&number) else { continue };
            touched.entry(file.identity.clone()).or_insert_with(|| file.clone());
            lines.entry(file.identity.clone()).or_default().extend(own);
        }
        Process { recording, touched, lines }
    }

    /// From where to where in a file it loads and stores.
    fn part(&self, identity: &str) -> Option<(u64, u64)> {
        let lines = self.lines.get(identity)?;
        Some((lines.first()? * 64, (lines.last()? + 1) * 64))
    }

    /// Their paths, for people.
    fn paths(&self) -> String {
        self.touched.values().map(|f| f.path.as_str()).collect::<Vec<_>>().join(" and ")
    }
}

/// Gives each record in order, and the file and offset that its address is of.
fn each_placed(recording: &Recording, mut each: impl FnMut(&Record, Option<(u32, u64)>)) {
    let mut reached = Reached::new(recording.about());
    for record in recording.in_order() {
        reached.follow(&record);
        let has_place =
            record.kind.has_place() || matches!(record.kind, Kind::Turn | Kind::Lock | Kind::Unlock);
        let place = has_place.then(|| reached.space().place(record.address).and_then(file_of)).flatten();
        each(&record, place);
    }
}

/// One trace of several processes' recordings, a host for each that touches a file which another one touches too.
///
/// # Errors
/// When there are no two such processes; the message says what they mapped.
pub fn join(recordings: &[Recording], source: &str) -> Result<Trace, TraceError> {
    let processes: Vec<Process<'_>> = recordings.iter().map(Process::new).collect();
    let mut users: BTreeMap<&str, (usize, &File)> = BTreeMap::new();
    for (identity, file) in processes.iter().flat_map(|p| &p.touched) {
        users.entry(identity).or_insert((0, file)).0 += 1;
    }
    let shared: Vec<(&str, &File)> = users
        .into_iter()
        .filter(|(_, (users, _))| *users > 1)
        .map(|(identity, (_, f))| (identity, f))
        .collect();
    let hosts: Vec<&Process<'_>> = processes
        .iter()
        .filter(|p| shared.iter().any(|(identity, _)| p.touched.contains_key(*identity)))
        .collect();
    if hosts.is_empty() {
        return Err(nothing_shared(&processes));
    }
    let is_met = |(identity, _): &(&str, &File)| {
        let mut all = BTreeSet::new();
        let mut lines = hosts.iter().filter_map(|host| host.lines.get(*identity)).flatten();
        lines.any(|line| !all.insert(*line))
    };
    if !shared.iter().any(is_met) {
        return Err(nowhere_met(&shared, &hosts));
    }
    if shared.len() > MOST_FILES {
        let text =
            format!("the processes share {} files; at most {MOST_FILES} can be told apart", shared.len());
        return Err(TraceError::unfit(text));
    }
    let mut joint = Joint::new(&shared, source);
    hosts.into_iter().for_each(|process| joint.add(process));
    Ok(joint.trace)
}

/// No line is of two hosts.
fn nowhere_met(shared: &[(&str, &File)], hosts: &[&Process<'_>]) -> TraceError {
    let mut parts = Vec::new();
    for (identity, file) in shared {
        let of = |(number, host): (usize, &&Process<'_>)| {
            host.part(identity)
                .map(|(from, to)| format!("host {number} bytes {from:#x} to {to:#x} of {}", file.path))
        };
        parts.extend(hosts.iter().enumerate().filter_map(of));
    }
    let text = format!(
        "the processes share no line of what they map: {}; two that share memory load or store where the other one does",
        parts.join(", ")
    );
    TraceError::unfit(text)
}

fn nothing_shared(processes: &[Process<'_>]) -> TraceError {
    let users: Vec<&Process<'_>> = processes.iter().filter(|p| !p.touched.is_empty()).collect();
    let hint = "a host is a process that uses memory which another one uses too: a file mapped with MAP_SHARED (of shm_open or memfd_create, too), anonymous shared memory that a fork inherits, or a segment of shmget";
    TraceError::unfit(match users.as_slice() {
        [] => format!("no process loads from or stores to memory that may be shared; {hint}"),
        [one] => format!("one process alone uses shared memory ({}); {hint}", one.paths()),
        [first, second, ..] => format!(
            "the processes map different files: host 0 {}, host 1 {}; {hint}",
            first.paths(),
            second.paths()
        ),
    })
}

/// The trace of all hosts, as far as it is.
struct Joint {
    trace: Trace,
    /// By identity: the file's number.
    numbers: BTreeMap<String, u32>,
    places: BTreeMap<String, u32>,
}

impl Joint {
    fn new(shared: &[(&str, &File)], source: &str) -> Joint {
        let mut about = About { source: source.into(), ..About::default() };
        about.files = (1..).zip(shared.iter().map(|(_, file)| (*file).clone())).collect();
        let numbers =
            (1..).zip(shared).map(|(number, (identity, _))| ((*identity).to_string(), number)).collect();
        Joint { trace: Trace { about, ..Trace::default() }, numbers, places: BTreeMap::new() }
    }

    fn add(&mut self, process: &Process<'_>) {
        let first = self.trace.threads.len() as u16;
        let about = process.recording.about();
        self.trace.about.sources.extend(about.sources.iter().cloned());
        let mut used: BTreeSet<u16> = BTreeSet::new();
        let mut mapped = BTreeMap::new();
        let number_of =
            |number: u32| about.files.get(&number).and_then(|f| self.numbers.get(&f.identity)).copied();
        let mut kept: Vec<Record> = Vec::new();
        each_placed(process.recording, |record, place| {
            let file = place.and_then(|(number, offset)| Some((number_of(number)?, offset)));
            let Some(address) = file.map(|(number, offset)| at(number) + offset).filter(|_| fits(file))
            else {
                let is_meeting = record.kind == Kind::Lock && record.address & MEETINGS != 0;
                if matches!(record.kind, Kind::Sfence | Kind::Mfence) || is_meeting {
                    kept.push(Record { instructions: 0, ..*record });
                }
                return;
            };
            let (number, offset) = file.unwrap_or_default();
            let end: &mut u64 = mapped.entry(number).or_default();
            *end = (*end).max(offset + 8);
            used.insert(record.thread);
            kept.push(Record { address, instructions: 0, ..*record });
        });
        let threads: BTreeMap<u16, u16> = used.into_iter().zip(first..).collect();
        self.begin(&kept, &threads, &mapped);
        for record in kept {
            if let Some(thread) = threads.get(&record.thread) {
                let location = self.location(about, record.location);
                self.trace.push(Record { thread: *thread, location, ..record });
            }
        }
        self.trace.about.hosts.push(threads.into_values().collect());
    }

    /// The host's first records: where the files lie.
    fn begin(&mut self, kept: &[Record], threads: &BTreeMap<u16, u16>, mapped: &BTreeMap<u32, u64>) {
        let stamp = kept.iter().find(|r| r.kind.has_stamp()).map_or(0, |r| r.stamp);
        let Some(thread) = threads.values().next().copied() else { return };
        let record = |kind, address, value| Record {
            address,
            value,
            stamp: if kind == Kind::Map { stamp } else { 0 },
            location: 0,
            instructions: 0,
            thread,
            kind,
            size: 1,
        };
        for (number, end) in mapped {
            self.trace.push(record(Kind::Operand, at(*number), file_address(*number, 0)));
            self.trace.push(record(Kind::Map, at(*number), end.next_multiple_of(4096)));
        }
    }

    /// The number of a place in the joint trace; 0 where it is not known.
    fn location(&mut self, about: &About, location: u32) -> u32 {
        let Some(text) = about.locations.get(&location) else { return 0 };
        let next = self.places.len() as u32 + 1;
        let number = *self.places.entry(text.clone()).or_insert(next);
        self.trace.about.locations.entry(number).or_insert_with(|| text.clone());
        number
    }
}

/// Where file `number` lies for all hosts.
fn at(number: u32) -> u64 {
    BASE + u64::from(number) * ROOM
}

fn fits(file: Option<(u32, u64)>) -> bool {
    file.is_some_and(|(_, offset)| offset < ROOM.min(1 << FILE_SHIFT))
}

/// The shared file and offset of an address in a joint trace.
pub fn place_of(address: u64) -> (u32, u64) {
    let above = address.saturating_sub(BASE);
    ((above / ROOM) as u32, above % ROOM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: Kind, address: u64, value: u64, stamp: u32) -> Record {
        Record { address, value, stamp, location: 5, instructions: 3, thread: 0, kind, size: 8 }
    }

    /// A process that maps `file` at `base` and stores there.
    fn process(file: &str, base: u64, from: u32) -> Recording {
        let named = File { identity: format!("8:{file}"), path: format!("/tmp/{file}"), bytes: 8192 };
        let about = About {
            files: BTreeMap::from([(3, named)]),
            locations: BTreeMap::from([(5, format!("{file}.c:9 main"))]),
            ..About::default()
        };
        let mut trace = Trace { about, ..Trace::default() };
        for r in [
            record(Kind::Start, 0, 0, from),
            record(Kind::Operand, base, file_address(3, 4096), 0),
            record(Kind::Map, base, 4096, from + 1),
            record(Kind::Store, 0x10, 7, 0),
            record(Kind::Turn, base + 8, 0, from + 2),
            record(Kind::Store, base + 8, 7, 0),
            record(Kind::Mfence, 0, 0, 0),
            record(Kind::Lock, 0x20, 0, from + 3),
            record(Kind::Lock, MEETINGS | 0x20, 0, from + 4),
        ] {
            trace.push(r);
        }
        Recording::of_trace(trace).unwrap()
    }

    #[test]
    fn what_hosts_share_lies_at_one_address() {
        let joint = join(&[process("a", 0x10_0000, 1), process("a", 0x70_0000, 9)], "./two").unwrap();
        assert_eq!(joint.about.hosts, [[0], [1]]);
        let stores: Vec<(u16, u64, &str)> = (joint.records().filter(|r| r.kind == Kind::Store))
            .map(|r| (r.thread, r.address, joint.about.locations[&r.location].as_str()))
            .collect();
        assert_eq!(stores, [(0, at(1) + 4104, "a.c:9 main"), (1, at(1) + 4104, "a.c:9 main")]);
        assert_eq!(place_of(stores[0].1), (1, 4104));
        assert_eq!(joint.records().filter(|r| r.kind == Kind::Mfence).count(), 2);
        // A lock of the process itself is not, and a pipe is where hosts meet.
        let locks: Vec<u64> = joint.records().filter(|r| r.kind == Kind::Lock).map(|r| r.address).collect();
        assert_eq!(locks, [MEETINGS | 0x20; 2]);
        let read = Recording::of_trace(joint).unwrap();
        assert_eq!(read.counts().files[&1].stores, 2);
    }

    #[test]
    fn processes_that_share_nothing_are_named() {
        let refused = |all: &[Recording]| join(all, "x").unwrap_err().to_string();
        let said = refused(&[process("a", 0x10_0000, 1), process("b", 0x10_0000, 9)]);
        assert!(said.contains("map different files: host 0 /tmp/a, host 1 /tmp/b"), "{said}");
        assert!(
            refused(&[process("a", 0x10_0000, 1)]).contains("one process alone uses shared memory (/tmp/a)")
        );
        assert!(refused(&[]).contains("no process"));
        let elsewhere = {
            let mut trace = Trace::default();
            let whole = process("a", 0x70_0000, 9);
            trace.about = whole.about().clone();
            for r in whole.in_order() {
                let address = r.address + if r.kind == Kind::Store && r.address > 0x1000 { 64 } else { 0 };
                trace.push(Record { address, ..r });
            }
            Recording::of_trace(trace).unwrap()
        };
        let said = refused(&[process("a", 0x10_0000, 1), elsewhere]);
        assert!(
            said.contains("share no line") && said.contains("host 1 bytes 0x1040 to 0x1080 of /tmp/a"),
            "{said}"
        );
    }
}
