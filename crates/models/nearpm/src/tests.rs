use crate::dispatcher::{Dispatcher, Effect, Event};
use crate::dump::{HOST_BYTES, REQUEST_BYTES, recover};
use crate::ppo::{Checker, Invariant};
use crate::spec::{DispatcherSpec, Mutant, Sync};
use engine::PortId;
use protocol::{
    AddressMap, Image, LOG_BYTES, Line, Mask, Msg, NearKind, NearRefusal, NearRequest, PM_BASE, POOL_HEADER,
    line_of,
};
use units::Random;

/// Where pool 0 is for programs.
const VIRTUAL: u64 = 1 << 40;
/// First line of its data, behind one log area.
const DATA: u64 = POOL_HEADER + LOG_BYTES;

fn spec(units: usize, host_queue: usize, mutant: Option<Mutant>) -> DispatcherSpec {
    DispatcherSpec {
        index: 0,
        map: AddressMap::new(1, 1, 4096),
        units,
        fifo: 32,
        host_queue,
        table: 4,
        sync: Sync::Delayed,
        writes_wait_for_all: false,
        mutants: [mutant, None],
    }
}

/// A device with its memory, and what an observer says of it.
struct Bench {
    dispatcher: Dispatcher,
    image: Image,
    checker: Checker,
    numbers: u64,
    refused: Vec<NearRefusal>,
    durable: usize,
    reads: Vec<u8>,
    /// Whether memory has no place for writes, and those that wait for one.
    is_full: bool,
    outside: Vec<Msg>,
}

impl Bench {
    fn new(spec: DispatcherSpec) -> Bench {
        let mut bench = Bench {
            dispatcher: Dispatcher::new(spec),
            image: Image::new(PM_BASE),
            checker: Checker::new(1),
            numbers: 0,
            refused: Vec::new(),
            durable: 0,
            reads: Vec::new(),
            is_full: false,
            outside: Vec::new(),
        };
        bench.ask(NearRequest {
            source: VIRTUAL,
            destination: PM_BASE,
            size: 1024,
            ..request(NearKind::MapPool)
        });
        bench
    }

    fn ask(&mut self, request: NearRequest) {
        self.numbers += 1;
        let request = NearRequest { number: self.numbers, ..request };
        self.checker.sent(&request);
        let mut effects = Vec::new();
        self.dispatcher.request(request, &mut effects);
        self.settle(effects);
    }

    fn host(&mut self, line: u64, data: Option<u8>) {
        let line = line_of(PM_BASE + DATA + line * 64);
        let msg = match data {
            Some(byte) => {
                Msg::Write { line, data: [byte; 64], mask: Mask::MAX, ack: Some(0), is_owned: true }
            }
            None => Msg::Read { line },
        };
        let mut effects = Vec::new();
        self.dispatcher.host(PortId(0), msg, line, data.is_some(), &mut effects);
        self.settle(effects);
    }

    fn step(&mut self, unit: usize) {
        let mut effects = Vec::new();
        self.dispatcher.step(unit, &mut self.image, &mut effects);
        self.settle(effects);
    }

    fn settle(&mut self, mut effects: Vec<Effect>) {
        loop {
            self.carry_out(std::mem::take(&mut effects));
            self.dispatcher.took(self.outside.len(), &mut effects);
            self.dispatcher.advance(&mut effects);
            if effects.is_empty() {
                return;
            }
        }
    }

    /// Memory has places for all that wait for one.
    fn make_room(&mut self) {
        self.is_full = false;
        for msg in std::mem::take(&mut self.outside) {
            self.take(&msg);
        }
        self.settle(Vec::new());
    }

    fn take(&mut self, msg: &Msg) {
        if let Msg::Write { line, data, mask, ack, .. } = *msg {
            self.image.write(line, &data, mask);
            self.durable += usize::from(ack.is_some());
        }
    }

    fn carry_out(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Perform { msg: msg @ Msg::Write { .. }, .. } => {
                    if self.is_full {
                        self.outside.push(msg);
                    } else {
                        self.take(&msg);
                    }
                }
                Effect::Perform { msg: Msg::Read { line }, .. } => self.reads.push(self.image.read(line)[0]),
                Effect::Durable { .. } => self.durable += 1,
                Effect::Taken { refused, .. } => self.refused.extend(refused),
                Effect::Observed(event) => self.checker.saw(0, &event),
                Effect::Perform { .. }
                | Effect::Started { .. }
                | Effect::Copied
                | Effect::Room
                | Effect::Done { .. }
                | Effect::Tell { .. } => {}
            }
        }
    }

    fn finish(&mut self) {
        while let Some(unit) = (0..8).find(|u| *u < self.dispatcher.spec.units && self.dispatcher.is_busy(*u))
        {
            self.step(unit);
        }
        assert_eq!((self.dispatcher.waiting(), self.dispatcher.held()), (0, 0), "everything is done");
    }

    fn byte(&self, line: u64) -> u8 {
        self.image.read(line_of(PM_BASE + DATA + line * 64))[0]
    }
}

fn request(kind: NearKind) -> NearRequest {
    NearRequest {
        number: 0,
        core: 0,
        kind,
        pool: 0,
        thread: 0,
        devices: 1,
        source: 0,
        destination: 0,
        size: 0,
    }
}

fn copy(from: u64, to: u64, lines: u64) -> NearRequest {
    let at = |line: u64| VIRTUAL + DATA + line * 64;
    NearRequest {
        source: at(from),
        destination: at(to),
        size: (lines * 64) as u32,
        ..request(NearKind::Copy)
    }
}

fn log(line: u64, lines: u64) -> NearRequest {
    NearRequest { kind: NearKind::UndoLogCreate, destination: 1, ..copy(line, 0, lines) }
}

#[test]
fn a_write_waits_for_the_line_s_log_alone_and_is_durable_meanwhile() {
    let mut bench = Bench::new(spec(1, 4, None));
    bench.host(0, Some(1));
    bench.ask(log(0, 2));
    bench.host(1, Some(2));
    bench.host(7, Some(3));
    assert_eq!((bench.dispatcher.held(), bench.byte(1), bench.byte(7)), (1, 0, 3));
    assert_eq!(bench.durable, 3, "the held write is in the host queue, which is saved");
    bench.finish();
    assert_eq!(bench.byte(1), 2);
    assert_eq!(bench.checker.broken(), None);
}

#[test]
fn a_read_waits_for_a_copy_to_its_line_and_not_for_one_from_it() {
    let mut bench = Bench::new(spec(1, 4, None));
    bench.host(0, Some(9));
    bench.ask(copy(0, 4, 1));
    bench.host(4, None);
    bench.host(0, None);
    assert_eq!(bench.reads, [9], "only the source was read");
    bench.finish();
    assert_eq!(bench.reads, [9, 9]);
}

#[test]
fn what_no_command_may_ask_is_refused() {
    let mut bench = Bench::new(spec(1, 4, None));
    bench.ask(NearRequest { pool: 3, ..copy(0, 4, 1) });
    bench.ask(NearRequest { thread: 1, ..copy(0, 4, 1) });
    bench.ask(NearRequest { source: VIRTUAL - 64, ..copy(0, 4, 1) });
    bench.ask(NearRequest { source: VIRTUAL + (4 << 20) - 64, ..copy(0, 4, 2) });
    bench.ask(NearRequest { destination: u64::MAX, ..copy(0, 4, 1) });
    bench.ask(copy(0, 4, 0));
    bench.ask(copy(0, 4, 5));
    bench.ask(NearRequest { source: VIRTUAL + DATA + 8, ..copy(0, 4, 1) });
    let (unknown, outside) = (NearRefusal::UnknownPool, NearRefusal::OutsidePool);
    let wanted = [
        unknown,
        unknown,
        outside,
        outside,
        outside,
        NearRefusal::NoCommand,
        NearRefusal::Overlaps,
        NearRefusal::AcrossDevices,
    ];
    assert_eq!(bench.refused, wanted);
    bench.refused.clear();
    for thread in 1..5 {
        bench.ask(NearRequest { thread, size: 1, ..request(NearKind::MapPool) });
    }
    assert_eq!(bench.refused, [NearRefusal::TableFull]);
    bench.refused.clear();
    for _ in 0..4 {
        bench.ask(log(0, 1023));
    }
    assert_eq!(bench.refused, [NearRefusal::LogFull; 2], "128 KiB hold two entries of 64 KiB");
}

#[test]
fn a_deletion_leaves_a_younger_log_alone() {
    let mut bench = Bench::new(spec(4, 4, None));
    bench.ask(log(0, 1));
    bench.ask(request(NearKind::CommitLog));
    bench.ask(NearRequest { destination: 2, ..log(1, 1) });
    // Units in an order that lets the younger log come first, if it could.
    for _ in 0..16 {
        (0..4).rev().for_each(|unit| bench.step(unit));
    }
    bench.finish();
    let head = Image::read(&bench.image, line_of(PM_BASE + POOL_HEADER));
    assert_eq!(u64::from_le_bytes(head.as_chunks::<8>().0[3]), 2, "the second transaction's entry is there");
}

/// A write that was held for a log, and has left for memory that is full.
fn released(mutant: Option<Mutant>) -> Bench {
    let mut bench = Bench::new(spec(1, 4, mutant));
    bench.ask(log(0, 1));
    bench.host(0, Some(5));
    assert_eq!((bench.dispatcher.held(), bench.durable), (1, 1), "in the host queue, which is saved");
    bench.is_full = true;
    bench.finish();
    assert_eq!((bench.outside.len(), bench.byte(0)), (1, 0));
    bench
}

#[test]
fn an_acknowledged_write_is_saved_until_memory_has_a_place_for_it() {
    let mut bench = released(None);
    let dump = bench.dispatcher.power_fail();
    assert_eq!(
        dump.bytes(),
        HOST_BYTES + 8 + REQUEST_BYTES,
        "with the table's entry, and the register of what is done"
    );
    bench.checker.saved(0, &|stamp| dump.has(stamp));
    assert_eq!(bench.checker.broken(), None);
    let mut image = bench.image.clone();
    recover(&[dump], std::slice::from_mut(&mut image)).unwrap();
    assert_eq!(image.read(line_of(PM_BASE + DATA))[0], 5);
    bench.make_room();
    assert_eq!((bench.byte(0), bench.durable), (5, 1), "and is acknowledged once");
    assert!(!bench.dispatcher.power_fail().has(2));
}

#[test]
fn an_acknowledged_write_that_was_not_saved_is_named() {
    let mut bench = released(Some(Mutant::ForgetsReleased));
    let dump = bench.dispatcher.power_fail();
    bench.checker.saved(0, &|stamp| dump.has(stamp));
    let broken = bench.checker.broken().expect("programs count on it");
    assert_eq!(broken.invariant, Invariant::FailureRecovery);
    assert!(broken.access.starts_with("device 0 did not save a host write of line 0x"), "{broken}");
}

#[test]
fn a_released_write_keeps_its_place_in_the_host_queue() {
    let mut bench = released(None);
    bench.ask(log(0, 4));
    (0..4).for_each(|line| bench.host(line, Some(7)));
    assert_eq!((bench.dispatcher.held(), bench.durable), (4, 4), "three and the released one fill the queue");
    let dump = bench.dispatcher.power_fail();
    assert!(dump.bytes() <= bench.dispatcher.spec.persistence_domain_bytes());
    bench.make_room();
    assert_eq!(bench.durable, 5);
    bench.finish();
    assert_eq!(bench.checker.broken(), None);
}

#[test]
fn a_request_waits_for_writes_before_it_that_memory_has_no_place_for() {
    let mut bench = Bench::new(spec(1, 4, None));
    bench.is_full = true;
    bench.host(4, Some(1));
    bench.ask(copy(0, 4, 1));
    bench.ask(copy(4, 8, 1));
    assert_eq!(bench.dispatcher.waiting(), 2, "what it writes must not be overwritten by what came first");
    bench.host(4, Some(2));
    assert_eq!(bench.durable, 0, "a write is not durable before those of its line that came first");
    bench.make_room();
    bench.finish();
    assert_eq!((bench.byte(8), bench.byte(4), bench.durable), (0, 2, 2));
    assert_eq!(bench.checker.broken(), None);
}

/// A random program of copies and host accesses, as its arrivals order it.
fn random_program(r: &mut Random, bench: &mut Bench, model: &mut [u8; 24], reads: &mut Vec<u8>) {
    match r.below(4) {
        0 => {
            let (line, byte) = (r.below(24), r.below(255) as u8 + 1);
            model[line as usize] = byte;
            bench.host(line, Some(byte));
        }
        1 => {
            let line = r.below(24);
            reads.push(model[line as usize]);
            bench.host(line, None);
        }
        _ if bench.dispatcher.waiting() < 30 => {
            let (lines, from, to) = (r.below(4) + 1, r.below(8), 12 + r.below(8));
            let (from, to) = if r.chance(500) { (from, to) } else { (to, from) };
            for i in 0..lines {
                model[(to + i) as usize] = model[(from + i) as usize];
            }
            bench.ask(copy(from, to, lines));
        }
        _ => {}
    }
}

#[test]
fn whatever_units_do_first_memory_is_what_the_order_of_arrival_makes_it() {
    for seed in 0..200 {
        let mut r = Random::new(seed, 0);
        let mut bench = Bench::new(spec(1 + (seed % 4) as usize, 1 + r.below(6) as usize, None));
        let (mut model, mut reads) = ([0; 24], Vec::new());
        for _ in 0..120 {
            random_program(&mut r, &mut bench, &mut model, &mut reads);
            (0..r.below(3)).for_each(|_| bench.step(r.below(bench.dispatcher.spec.units as u64) as usize));
        }
        bench.finish();
        let memory: Vec<u8> = (0..24).map(|l| bench.byte(l)).collect();
        assert_eq!(memory, model, "seed {seed}");
        bench.reads.sort_unstable();
        reads.sort_unstable();
        assert_eq!(bench.reads, reads, "seed {seed}");
        assert_eq!(bench.checker.broken(), None, "seed {seed}");
    }
}

#[test]
fn after_a_power_failure_everything_saved_is_as_if_it_had_been_done() {
    for seed in 0..200 {
        let mut r = Random::new(seed, 1);
        // A host queue with room for all: then all that arrived is saved.
        let mut bench = Bench::new(spec(1 + (seed % 4) as usize, 200, None));
        let (mut model, mut reads) = ([0; 24], Vec::new());
        for _ in 0..r.below(120) {
            random_program(&mut r, &mut bench, &mut model, &mut reads);
            (0..r.below(3)).for_each(|_| bench.step(r.below(bench.dispatcher.spec.units as u64) as usize));
        }
        let dump = bench.dispatcher.power_fail();
        assert!(dump.bytes() <= bench.dispatcher.spec.persistence_domain_bytes());
        recover(&[dump], std::slice::from_mut(&mut bench.image)).unwrap();
        let memory: Vec<u8> = (0..24).map(|l| bench.byte(l)).collect();
        assert_eq!(memory, model, "seed {seed}");
    }
}

#[test]
fn every_rule_left_out_is_named() {
    for (name, mutant, _) in Mutant::ALL {
        if matches!(
            mutant,
            Mutant::NoSync
                | Mutant::FifoLost
                | Mutant::ReplaysLate
                | Mutant::ForgetsReleased
                | Mutant::PassesReleased
        ) {
            // These take two devices, a power failure or full memory: the explorer has all of them.
            continue;
        }
        let mut bench = Bench::new(spec(1, 4, Some(mutant)));
        bench.host(0, Some(1));
        bench.ask(copy(0, 4, 2));
        bench.host(5, None);
        bench.host(1, Some(7));
        let broken = bench.checker.broken().unwrap_or_else(|| panic!("{name} was not noticed"));
        assert_eq!(broken.invariant, Invariant::ReadWriteOrdering, "{name}");
        assert!(broken.access.contains("request 2 (copy of thread 0"), "{name}: {broken}");
    }
}

#[test]
fn a_synchronisation_before_another_device_is_done_is_named() {
    let mut checker = Checker::new(2);
    let log = NearRequest { number: 1, devices: 3, ..log(0, 2) };
    let commit = NearRequest { number: 2, devices: 3, ..request(NearKind::CommitLog) };
    checker.sent(&log);
    checker.saw(0, &Event::Local { number: 1 });
    checker.saw(0, &Event::Deleted(commit));
    let broken = checker.broken().expect("device 1 has not persisted its part");
    assert_eq!(broken.invariant, Invariant::PersistBeforeSynchronisation);
    assert!(broken.access.contains("before device 1 had persisted request 1"), "{broken}");
    checker.not_written_back(&log, Line(5));
    assert_eq!(checker.broken().map(|b| b.invariant), Some(Invariant::PersistBeforeSynchronisation));
}

#[test]
fn the_published_structures_take_what_the_paper_says() {
    let spec = DispatcherSpec { fifo: 32, table: 54, host_queue: 51, units: 4, ..spec(4, 51, None) };
    assert_eq!(spec.fifo * REQUEST_BYTES, 2048);
    assert_eq!(spec.units * REQUEST_BYTES, 256);
    assert_eq!(spec.host_queue * HOST_BYTES, 4080);
    assert_eq!(spec.persistence_domain_bytes(), 6816);
}
