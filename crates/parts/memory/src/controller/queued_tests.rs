//! A controller before a DDR4 channel, to the picosecond.

use super::{Admission, Controller, ControllerSpec, Drain, PassThrough};
use crate::ddr4::{BURST, Ddr4, Interleave, Spec};
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{Drained, Line, Mask, Msg, Node, PM_BASE, PostCrash, Tally, View};
use units::{Dur, Time};

const WIRE: Dur = Dur::ns(5);
const FIRST: u64 = PM_BASE / 64;

/// Node 0 is the directory and core 0, node 1 the controller.
fn answers(messages: &[(u64, Msg)]) -> (Vec<(Time, Msg)>, Tally) {
    let (mut controller, found, last) = served(messages, Time::NEVER);
    let mut tally = Tally::default();
    controller.stats(last, &mut tally);
    (found, tally)
}

/// The same as far as `until`: the controller, what it has sent, and when the last of it happened.
fn served(messages: &[(u64, Msg)], until: Time) -> (Controller, Vec<(Time, Msg)>, Time) {
    let spec = ControllerSpec {
        base: PM_BASE,
        turns: None,
        acknowledge: Dur::ns(20),
        commit: Dur::ns(50),
        write_pending_queue: 4,
        coalesces: true,
        drain_threshold: 2,
        drain: Drain::First,
        admission: Admission::InTurn,
    };
    let media = Ddr4::new(channel(), Interleave { first: FIRST, lines: 4, channels: 1 }).unwrap();
    let mut controller = Controller::of_queued(spec, Box::new(media), Box::new(PassThrough));
    let link = |to, port| Link { to: NodeId(to), port, latency: WIRE };
    let links = vec![vec![link(1, PortId(0))], vec![link(0, PortId(0)), link(0, PortId(1))]];
    let mut engine = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
    engine.stop_after(until);
    for (at, msg) in messages {
        engine.out(NodeId(0), Time::from_ps(*at)).send(PortId(0), Dur::ZERO, *msg);
    }
    let (mut found, mut msg, mut last) = (Vec::new(), Msg::Wake, Time::ZERO);
    while let Some((now, to, port)) = engine.next(&mut msg) {
        if to == NodeId(1) {
            controller.on(now, port, &msg, &mut engine.out(to, now));
        } else {
            found.push((now, msg));
        }
        last = now;
    }
    (controller, found, last)
}

fn channel() -> Spec {
    Spec { controller: 10, queue: 8, ..Spec::DDR4_1600 }
}

fn read(n: u64) -> Msg {
    Msg::Read { line: Line(FIRST + n) }
}

fn write(n: u64) -> Msg {
    Msg::Write { line: Line(FIRST + n), data: [7; 64], mask: Mask::MAX, ack: Some(0), is_owned: true }
}

#[test]
fn a_read_takes_the_wires_and_what_the_channel_takes() {
    let s = channel();
    let (found, tally) = answers(&[(0, read(3))]);
    // It arrives on a clock of the channel.
    let expected = Time::ZERO + WIRE * 2 + Dur::ps((s.rcd + s.cl + BURST + s.controller) * s.clock_ps);
    assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [expected]);
    assert_eq!(["memory.reads", "ddr4.activates"].map(|name| tally.number(name) as u64), [1, 1]);
}

#[test]
fn a_write_is_acknowledged_once_the_write_pending_queue_has_it_and_its_bytes_are_read() {
    let (found, _) = answers(&[(0, write(3)), (40_000, read(3))]);
    let acknowledged = found.iter().find(|(_, msg)| matches!(msg, Msg::CleanAck { .. })).unwrap();
    assert_eq!(acknowledged.0, Time::ZERO + WIRE * 2 + Dur::ns(20));
    let Some((_, Msg::ReadReply { data, .. })) = found.last() else { panic!("{found:?}") };
    assert_eq!(*data, [7; 64]);
}

#[test]
fn more_requests_than_the_channel_holds_wait_and_all_are_served() {
    let messages: Vec<(u64, Msg)> =
        (0..120).map(|n| (n * 200, if n % 3 == 0 { write(n * 130) } else { read(n * 130) })).collect();
    let (found, tally) = answers(&messages);
    let count = |of: fn(&Msg) -> bool| found.iter().filter(|(_, msg)| of(msg)).count();
    assert_eq!(count(|m| matches!(m, Msg::ReadReply { .. })), 80);
    assert_eq!(count(|m| matches!(m, Msg::CleanAck { .. })), 40);
    assert_eq!(["memory.reads", "memory.writes"].map(|name| tally.number(name) as u64), [80, 40]);
    // No more than the pins can carry: four clocks a line.
    let last = found.last().unwrap().0;
    assert!(last > Time::from_ps(120 * BURST * channel().clock_ps), "{last:?}");
}

#[test]
fn a_line_is_to_be_drained_until_its_write_is_issued() {
    let s = channel();
    // They arrive on a clock of the channel, and go to one row.
    let written = Time::ZERO + WIRE + Dur::ps((s.rcd + s.ccd_l) * s.clock_ps);
    let drained = |at: Time| {
        let (controller, ..) = served(&[(0, write(2)), (0, write(3))], at);
        let mut left = PostCrash::new(false);
        left.fails_at = Some(at);
        controller.post_crash(View::Durable, &mut left);
        left.drained()
    };
    let lines = |lines| Drained { lines, ..Drained::default() };
    // Both have left the write pending queue when they have come.
    assert_eq!(drained(Time::ZERO + WIRE), lines(2));
    assert_eq!([written, written + Dur::ps(1)].map(drained), [1, 0].map(lines));
}
