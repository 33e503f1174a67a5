//! Random programs on every machine: in the end memory holds what they stored, and what they flushed and fenced is durable.

use crate::kit::SMALL_CACHES;
use engine::Mode;
use machine::{Description, PRESETS, Report, RunOptions, WorkloadDescription, can_crash, run};
use protocol::PM_BASE;
use trace::{FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};
use units::Random;

const FILE: u64 = 0x7000_0000_0000;
const BYTES: u64 = 16384;
/// Lines that programs touch: few, so that they meet.
const LINES: u64 = 12;
const THREADS: u64 = 2;

#[derive(Default)]
struct Program {
    trace: Trace,
    stamp: u32,
    /// What the file holds in the end.
    bytes: Vec<u8>,
}

impl Program {
    /// Two threads, one on the even words of the lines and one on the odd ones: whatever order they come in, it ends alike.
    fn random(seed: u64, steps: usize) -> Program {
        let mut p = Program { bytes: vec![0; BYTES as usize], ..Program::default() };
        let mut random = Random::new(seed, 7);
        let thread = THREADS as u16 - 1;
        p.put(0, Kind::Start, 0, 0, 0);
        p.put(0, Kind::Operand, 0, FILE_SPACE | 1 << FILE_SHIFT, 0);
        p.put(0, Kind::Map, FILE, BYTES, 0);
        p.put(0, Kind::Create, 0, u64::from(thread), 0);
        p.put(thread, Kind::Start, 0, 0, 0);
        for _ in 0..steps {
            p.step(&mut random);
        }
        for of in (0..THREADS as u16).rev() {
            (0..LINES).for_each(|line| p.put(of, Kind::Clwb, place(line, 0), 0, 1));
            p.put(of, Kind::Mfence, 0, 0, 0);
        }
        p.put(thread, Kind::End, 0, 0, 0);
        p.put(0, Kind::Join, 0, u64::from(thread), 0);
        p.put(0, Kind::End, 0, 0, 0);
        p
    }

    fn put(&mut self, thread: u16, kind: Kind, address: u64, value: u64, size: u8) {
        self.stamp += u32::from(kind.has_stamp());
        let stamp = if kind.has_stamp() { self.stamp } else { 0 };
        self.trace.push(Record { address, value, stamp, location: 0, instructions: 3, thread, kind, size });
    }

    fn step(&mut self, random: &mut Random) {
        let thread = random.below(THREADS) as u16;
        let (line, word) = (random.below(LINES), 2 * random.below(4) + u64::from(thread));
        let address = place(line, word);
        match random.below(16) {
            0..5 => self.store(random, thread, Kind::Store, address),
            5..7 => self.store(random, thread, Kind::StoreNonTemporal, address),
            7..10 => self.put(thread, Kind::Load, address, 0, 8),
            10 => self.store(random, thread, Kind::Rmw, address),
            11 => self.put(thread, Kind::Clwb, address, 0, 1),
            12 => self.put(thread, Kind::Clflushopt, address, 0, 1),
            13 => self.put(thread, Kind::Clflush, address, 0, 1),
            14 => self.put(thread, Kind::Sfence, 0, 0, 0),
            _ => self.put(thread, Kind::Mfence, 0, 0, 0),
        }
    }

    fn store(&mut self, random: &mut Random, thread: u16, kind: Kind, address: u64) {
        let size = if kind == Kind::Store { 1 << random.below(4) } else { 8 };
        let value = random.next_u64() >> (64 - 8 * u32::from(size));
        self.put(thread, kind, address, value, size);
        let at = (address - FILE) as usize;
        self.bytes[at..at + usize::from(size)].copy_from_slice(&value.to_le_bytes()[..usize::from(size)]);
    }

    /// A line of the file that was not zero, and holds a lock that the program also stores to.
    fn with_a_lock(seed: u64, steps: usize) -> Program {
        let mut p = Program::random(seed, 0);
        let lock = place(LINES, 0);
        p.trace.threads[0].truncate(3);
        p.put(0, Kind::Contents, FILE_SPACE | 1 << FILE_SHIFT, 77, 8);
        let mut random = Random::new(seed, 9);
        for _ in 0..steps {
            p.store(&mut random, 0, Kind::Store, lock);
            p.put(0, Kind::Lock, lock, 0, 8);
            let other = place(random.below(LINES), 0);
            p.store(&mut random, 0, Kind::Store, other);
            p.put(0, Kind::Unlock, lock, 0, 8);
            p.put(0, Kind::Rmw, place(random.below(LINES), 1), random.next_u64(), 8);
            p.put(0, Kind::Load, place(random.below(LINES), 0), 0, 8);
            p.put(0, Kind::Clflush, lock, 0, 1);
        }
        p.trace.threads.truncate(1);
        p
    }

    fn on(&self, machine: &Description, mode: Mode) -> Report {
        self.told(machine, &RunOptions { seed: 1, mode, ..RunOptions::default() })
    }

    fn told(&self, machine: &Description, options: &RunOptions) -> Report {
        let recording = Recording::of_trace(self.trace.clone()).unwrap();
        run(machine, &WorkloadDescription::replay("random", recording), options).unwrap()
    }
}

/// All of one set of a small private cache, and of two of a small shared one.
fn place(line: u64, word: u64) -> u64 {
    FILE + line * 1024 + word * 8
}

/// Every machine of the list that simulates lines, with caches of its own and with tiny ones.
fn machines() -> impl Iterator<Item = Description> {
    let all = PRESETS.iter().map(|preset| Description::preset(preset.name).unwrap());
    all.filter(|machine| machine.is_line()).flat_map(|machine| {
        let mut small = machine.clone();
        for (key, value) in SMALL_CACHES {
            small.set(key, value).unwrap();
        }
        small.name = format!("{} with tiny caches", machine.name);
        [machine, small].into_iter().filter(|machine| machine.check().is_ok())
    })
}

#[test]
fn memory_holds_what_was_stored_and_what_was_fenced_is_durable() {
    let mut seen = 0;
    for machine in machines() {
        for seed in 0..6 {
            let program = Program::random(seed, 150);
            for mode in [Mode::Fast, Mode::Reference] {
                let report = program.on(&machine, mode);
                let about = format!("seed {seed} on {}, {mode:?}", machine.name);
                let held = |image: &protocol::Image| image.bytes(PM_BASE, BYTES as usize);
                assert_eq!(first_difference(&held(&report.visible), &program.bytes), None, "{about}");
                if can_crash(&machine).is_ok() {
                    assert_eq!(
                        first_difference(&held(&report.durable), &program.bytes),
                        None,
                        "durable, {about}"
                    );
                }
            }
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn whether_somebody_looks_at_bytes_changes_no_time() {
    for machine in machines() {
        for seed in 0..2 {
            for program in [Program::random(seed, 120), Program::with_a_lock(seed, 40)] {
                let options = RunOptions { seed: 1, ..RunOptions::default() };
                let looked = program.told(&machine, &options);
                let unseen = program.told(&machine, &RunOptions { without_images: true, ..options });
                assert_eq!(looked.to_json(), unseen.to_json(), "seed {seed} on {}", machine.name);
            }
        }
    }
}

fn first_difference(found: &[u8], wanted: &[u8]) -> Option<(usize, u8, u8)> {
    let pairs = found.iter().zip(wanted).enumerate();
    pairs.map(|(n, (a, b))| (n, *a, *b)).find(|(_, a, b)| a != b)
}
