//! Timing of the DIMM's controller, to the picosecond, and what its write pending queue promises.

use super::{DeviceFaults, Dimm, DimmSpec, PowerSpec};
use crate::bus::BusSpec;
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{Line, Lost, Mask, Msg, Node, PM_BASE, PostCrash, View, line_of, ports};
use units::{Dur, Time};

/// Node 0 is the directory, node 1 core 0, node 2 the DIMM; every wire takes 5 ns.
struct Bench {
    dimm: Dimm,
    engine: Engine<Msg>,
    answers: Vec<(u64, Msg)>,
}

fn line(n: u64) -> Line {
    line_of(PM_BASE + n * 64)
}

impl Bench {
    fn new() -> Bench {
        let to = |n, port| Link { to: NodeId(n), port, latency: Dur::ns(5) };
        let links = vec![
            vec![to(2, PortId(0))],
            vec![to(2, ports::from_core(0))],
            vec![to(0, PortId(9)), to(1, PortId(9))],
        ];
        let power = PowerSpec {
            battery_pages: 0,
            page_nj: 100_000,
            write_queue_survives: false,
            slots: 1,
            first_slot: 2,
        };
        let faults = DeviceFaults::default();
        let spec = DimmSpec { bus: BusSpec::POC, acknowledge: Dur::ns(20), power, faults, base: PM_BASE };
        let dimm = Dimm::new(spec, None).unwrap();
        Bench { dimm, engine: Engine::new(links, 0, Mode::Fast, Dur::ZERO), answers: Vec::new() }
    }

    fn arrive(&mut self, ns: u64, msg: Msg) -> &mut Bench {
        let at = Time::ZERO + Dur::ns(ns - 5);
        self.engine.out(NodeId(0), at).send(PortId(0), Dur::ZERO, msg);
        self
    }

    /// Runs to `ns`; the answers' times in ps.
    fn run(&mut self, ns: u64) -> Vec<u64> {
        self.engine.stop_after(Time::ZERO + Dur::ns(ns));
        let mut msg = Msg::Wake;
        while let Some((now, to, port)) = self.engine.next(&mut msg) {
            if to == NodeId(2) {
                self.dimm.on(now, port, &msg, &mut self.engine.out(to, now));
            } else if !matches!(msg, Msg::Written { .. }) {
                // What a program waits for; the directory hears of a write as soon as the queue has it.
                self.answers.push((now.ps(), msg));
            }
        }
        self.answers.iter().map(|(at, _)| *at).collect()
    }

    fn durable(&self) -> PostCrash {
        let mut post_crash = PostCrash::new(false);
        self.dimm.post_crash(View::Durable, &mut post_crash);
        post_crash
    }
}

fn write(n: u64, byte: u8) -> Msg {
    Msg::Write { line: line(n), data: [byte; 64], mask: Mask::MAX, ack: Some(0), is_owned: true }
}

#[test]
fn a_read_of_a_closed_bank_takes_trcd_cl_and_a_burst() {
    let mut b = Bench::new();
    b.arrive(10, Msg::Read { line: line(3) });
    // 8 clocks of arrival, 11 tRCD, 11 CL, 4 of the burst, 1 of the controller, and the wire.
    assert_eq!(b.run(1000), [10_000 + (11 + 11 + 4 + 1) * 1250 + 5_000]);
    // An open row needs no ACTIVATE.
    b.arrive(2000, Msg::Read { line: line(4) });
    assert_eq!(b.run(3000)[1], 2_000_000 + (11 + 4 + 1) * 1250 + 5_000);
}

#[test]
fn a_read_that_comes_in_a_refresh_waits_for_its_end() {
    let mut b = Bench::new();
    // tREFI is 7.8 us; the host sends nothing for 1.25 us after it.
    b.arrive(7_900, Msg::Read { line: line(3) });
    assert_eq!(b.run(20_000), [(6240 + 1000 + 11 + 11 + 4 + 1) * 1250 + 5_000]);
}

#[test]
fn a_write_is_acknowledged_when_the_queue_has_it_and_read_from_there() {
    let mut b = Bench::new();
    b.arrive(10, write(3, 7)).arrive(10, Msg::Read { line: line(3) });
    let times = b.run(1000);
    assert_eq!(times, [10_000 + 1250 + 5_000, 10_000 + 20_000 + 5_000]);
    assert!(matches!(b.answers[0].1, Msg::ReadReply { data, .. } if data == [7; 64]));
    assert_eq!(b.dimm.persists(), 1);
}

#[test]
fn a_full_queue_keeps_the_order_of_writes_and_acknowledges_none_early() {
    let mut b = Bench::new();
    let queue = BusSpec::POC.host.queue as u64;
    // Each in a row of its own of one bank: as slow as can be.
    for n in 0..queue + 2 {
        b.arrive(10, write(n * 128 * 16, n as u8));
    }
    let times = b.run(100_000);
    let early = times.iter().filter(|at| **at == 35_000).count() as u64;
    assert_eq!((early, times.len() as u64), (queue, queue + 2));
    assert!(
        b.durable().parts[0].read(line(0)) == [0; 64] && b.durable().parts[0].read(line(2048)) == [1; 64]
    );
}

#[test]
fn a_dimm_of_dram_alone_loses_nothing_that_it_acknowledged() {
    let mut b = Bench::new();
    b.arrive(10, write(3, 7));
    b.run(36);
    assert_eq!(b.durable().parts[0].read(line(3)), [7; 64]);
    assert_eq!(b.durable().lost, Vec::<Lost>::new());
}
