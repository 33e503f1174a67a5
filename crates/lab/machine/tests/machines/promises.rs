//! Random programs whose power fails at any event: what every machine leaves keeps the promises of its persistency model.

use crate::kit::SMALL_CACHES;
use machine::{
    CrashEvery, CrashPoint, Description, PRESETS, RunOptions, WorkloadDescription, can_crash,
    run_with_crashes,
};
use protocol::{PM_BASE, Persistency, line_of, offset_of};
use trace::{FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};
use units::Random;

const FILE: u64 = 0x7000_0000_0000;
const BYTES: u64 = 16384;
/// Lines that programs touch: few, so that they meet, and all in one set of small caches.
const LINES: u64 = 8;
const WORDS: u64 = 4;
const THREADS: u64 = 2;

#[derive(Default)]
struct Program {
    trace: Trace,
    stamp: u32,
    /// Each thread's records: what they are, and of which word of which line.
    threads: [Vec<(Kind, u64, u64)>; THREADS as usize],
}

impl Program {
    /// Two threads, one on the even words of the lines and one on the odd ones. A store's value is the number of its record.
    fn random(seed: u64, steps: usize) -> Program {
        let (mut p, mut random) = (Program::default(), Random::new(seed, 11));
        let thread = THREADS as u16 - 1;
        p.put(0, Kind::Start, 0, 0);
        p.put(0, Kind::Operand, 0, FILE_SPACE | 1 << FILE_SHIFT);
        p.put(0, Kind::Map, FILE, BYTES);
        p.put(0, Kind::Create, 0, u64::from(thread));
        p.put(thread, Kind::Start, 0, 0);
        (0..steps).for_each(|_| p.step(&mut random));
        p.put(thread, Kind::End, 0, 0);
        p.put(0, Kind::Join, 0, u64::from(thread));
        p.put(0, Kind::End, 0, 0);
        p
    }

    fn put(&mut self, thread: u16, kind: Kind, address: u64, value: u64) {
        self.stamp += u32::from(kind.has_stamp());
        let stamp = if kind.has_stamp() { self.stamp } else { 0 };
        let place = address.saturating_sub(FILE);
        self.threads[usize::from(thread)].push((kind, place / 1024, place % 1024 / 8));
        self.trace.push(Record {
            address,
            value,
            stamp,
            location: 0,
            instructions: 3,
            thread,
            kind,
            size: 8,
        });
    }

    fn step(&mut self, random: &mut Random) {
        let thread = random.below(THREADS) as u16;
        let (line, word) = (random.below(LINES), THREADS * random.below(WORDS / THREADS) + u64::from(thread));
        let kind = match random.below(12) {
            0..5 => Kind::Store,
            5 => Kind::StoreNonTemporal,
            6..8 => Kind::Clwb,
            8 => Kind::Clflushopt,
            9 => Kind::Load,
            10 => Kind::Sfence,
            _ => Kind::Mfence,
        };
        let address =
            if matches!(kind, Kind::Sfence | Kind::Mfence) { 0 } else { FILE + line * 1024 + word * 8 };
        let number = self.threads[usize::from(thread)].len() as u64 + 1;
        self.put(thread, kind, address, number);
    }

    /// The number of the store that each word of a thread holds at least, once a later one of the thread is there whose
    /// record has the number `seen`, or once it has passed so many records; by (line, word).
    fn promised(
        &self,
        thread: usize,
        before: usize,
        model: Persistency,
        waits: Option<Waits>,
    ) -> Vec<((u64, u64), u64)> {
        let mut promised = Vec::new();
        for (n, (kind, line, word)) in self.threads[thread][..before].iter().enumerate() {
            if !matches!(kind, Kind::Store | Kind::StoreNonTemporal) {
                continue;
            }
            let later = &self.threads[thread][n + 1..before];
            // Past the caches a store needs no flush.
            let needs_flush = model.needs_flushes() && *kind == Kind::Store;
            let flushed =
                later.iter().position(|(k, l, _)| matches!(k, Kind::Clwb | Kind::Clflushopt) && l == line);
            let from = if needs_flush { flushed } else { Some(0) };
            // An mfence waits for flushes, and orders where nothing is flushed.
            let fence = |k: Kind| match waits {
                None => matches!(k, Kind::Sfence | Kind::Mfence),
                Some(Waits { sfence }) => {
                    k == Kind::Sfence && sfence || k == Kind::Mfence && model.needs_flushes()
                }
            };
            let fenced = from.is_some_and(|from| later[from..].iter().any(|(k, ..)| fence(*k)));
            if fenced || waits.is_none() && model == Persistency::Strict {
                promised.push(((*line, *word), n as u64 + 1));
            }
        }
        promised
    }

    fn check(&self, point: &CrashPoint, model: Persistency, waits: Waits, about: &str) {
        let held = |(line, word): (u64, u64)| {
            let address = PM_BASE + line * 1024 + word * 8;
            let block = point.read(line_of(address));
            u64::from_le_bytes(block[offset_of(address)..][..8].try_into().unwrap())
        };
        for (thread, records) in self.threads.iter().enumerate() {
            let passed = point.passed.get(thread).map_or(0, |n| *n as usize).min(records.len());
            for (place, least) in self.promised(thread, passed, model, Some(waits)) {
                let found = held(place);
                assert!(
                    found >= least,
                    "{about}: thread {thread} has passed {passed} records, {place:?} holds {found}, promised {least}"
                );
            }
            let words = (0..LINES)
                .flat_map(|line| (0..WORDS / THREADS).map(move |w| (line, THREADS * w + thread as u64)));
            let newest = words.map(held).max().unwrap_or(0) as usize;
            for (place, least) in self.promised(thread, newest.saturating_sub(1), model, None) {
                let found = held(place);
                assert!(
                    found >= least,
                    "{about}: thread {thread}'s store {newest} is there, {place:?} holds {found}, ordered before it {least}"
                );
            }
        }
    }
}

/// Which fences a program does not pass before what they wait for is done.
#[derive(Clone, Copy)]
struct Waits {
    /// An sfence; where it holds up later stores alone the program goes on.
    sfence: bool,
}

/// Machines whose power can be cut, with caches so small that lines move all the time.
fn machines() -> impl Iterator<Item = Description> {
    let all = PRESETS.iter().map(|preset| Description::preset(preset.name).unwrap());
    all.filter(|machine| can_crash(machine).is_ok()).map(|mut machine| {
        SMALL_CACHES.iter().for_each(|(key, value)| machine.set(key, value).unwrap());
        // As published it loses what waits in its queue.
        if machine.acts("nvdimm.write_queue_survives") {
            machine.set("nvdimm.write_queue_survives", "true").unwrap();
        }
        machine
    })
}

#[test]
fn what_is_left_keeps_what_the_machines_model_promises() {
    let mut points = 0;
    for machine in machines() {
        let model = machine.persistency();
        let stores_alone = machine.rows().any(|(p, v, _)| p.key == "ordering.sfence_blocks" && v == "stores");
        // A program that draws no strand has one, and an sfence is a barrier of it.
        let waits = Waits { sfence: !stores_alone && model != Persistency::Strand };
        for seed in 0..3 {
            let program = Program::random(seed, 80);
            let workload =
                WorkloadDescription::replay("random", Recording::of_trace(program.trace.clone()).unwrap());
            let about = format!("seed {seed} on {} ({model:?})", machine.name);
            run_with_crashes(
                &machine,
                &workload,
                &RunOptions { seed: 1, ..RunOptions::default() },
                CrashEvery::Events(37),
                &mut |point| {
                    points += 1;
                    program.check(&point, model, waits, &format!("{about} at {}", point.at));
                    true
                },
            )
            .unwrap();
        }
    }
    assert!(points > 1_000, "{points}");
}
