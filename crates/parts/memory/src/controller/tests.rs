//! Timing of a controller, to the picosecond: not before, and then.

use super::{
    Admission, BufferSpec, Controller, ControllerSpec, Cost, Drain, FixedMedia, FixedSpec, Media, PassThrough,
};
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{
    Accepted, Among, Clocks, ControllerOrdering, EpochTag, Evicted, FlushRequest, Image, Line, LineWrite,
    Mask, Msg, Node, PM_BASE, PostCrash, Retired, StatSink, View, line_of, ports,
};
use units::{Dur, Time};

/// Node 0 is the directory, node 1 core 0, node 2 the controller; every wire takes 5 ns.
const CONTROLLER: NodeId = NodeId(2);
const WIRE: Dur = Dur::ns(5);

fn spec() -> ControllerSpec {
    ControllerSpec {
        base: PM_BASE,
        turns: None,
        acknowledge: Dur::ns(90),
        commit: Dur::ns(50),
        write_pending_queue: 2,
        coalesces: true,
        drain_threshold: 2,
        drain: Drain::First,
        admission: Admission::InTurn,
    }
}

fn media(buffer: Option<BufferSpec>) -> FixedMedia {
    FixedMedia::new(FixedSpec {
        read: Dur::ns(175),
        read_service: Dur::ns(9),
        write_service: Dur::ns(26),
        buffer,
    })
}

fn line(n: u64) -> Line {
    line_of(PM_BASE + n * 64)
}

/// A controller on a bench: messages in at chosen times, answers out with theirs.
struct Bench {
    controller: Controller,
    engine: Engine<Msg>,
    answers: Vec<(u64, NodeId, Msg)>,
}

impl Bench {
    fn new(spec: ControllerSpec) -> Bench {
        Bench::of(spec, media(None))
    }

    fn of(spec: ControllerSpec, media: impl Media + 'static) -> Bench {
        Bench::with(Controller::new(spec, Box::new(media), Box::new(PassThrough)))
    }

    /// What goes to the command port and to other controllers comes out at the directory.
    fn with(controller: Controller) -> Bench {
        let to = |n, port| Link { to: NodeId(n), port, latency: WIRE };
        let links = vec![
            vec![to(2, PortId(0))],
            vec![to(2, ports::from_core(0))],
            vec![to(0, PortId(9)), to(1, PortId(9)), to(0, PortId(9)), to(0, PortId(9)), to(0, PortId(9))],
        ];
        Bench { controller, engine: Engine::new(links, 0, Mode::Fast, Dur::ZERO), answers: Vec::new() }
    }

    /// Sends so that the message arrives at `ns`.
    fn arrive(&mut self, ns: u64, from: u16, msg: Msg) -> &mut Bench {
        let at = Time::ZERO + Dur::ns(ns - 5);
        self.engine.out(NodeId(from), at).send(PortId(0), Dur::ZERO, msg);
        self
    }

    /// Runs to the end; the answers' times in ns, wire included.
    fn run(&mut self) -> Vec<u64> {
        let mut msg = Msg::Wake;
        while let Some((now, to, port)) = self.engine.next(&mut msg) {
            if to == CONTROLLER {
                self.controller.on(now, port, &msg, &mut self.engine.out(to, now));
            } else {
                assert_eq!(now.ps() % 1000, 0, "whole nanoseconds in, whole nanoseconds out");
                self.answers.push((now.ps() / 1000, to, msg));
            }
        }
        self.answers.iter().map(|(at, ..)| *at).collect()
    }
}

fn read(n: u64) -> Msg {
    Msg::Read { line: line(n) }
}

fn flush(n: u64) -> Msg {
    let write = LineWrite { line: line(n), mask: Mask::MAX, data: [n as u8; 64] };
    Msg::Flush(FlushRequest {
        core: 0,
        slot: n as u16,
        epoch: 1,
        early: false,
        retry: false,
        after_core: 0,
        after_epoch: 0,
        write,
    })
}

/// What is complete is durable at once, and is told every 100 ns.
#[derive(Default)]
struct AtOnce {
    durable: Option<EpochTag>,
    untold: Option<EpochTag>,
}

impl ControllerOrdering for AtOnce {
    fn clocks(&mut self) -> Option<&mut dyn Clocks> {
        Some(self)
    }

    fn flush(&mut self, request: &FlushRequest, image: &mut Image, retired: &mut Retired) -> Accepted {
        PassThrough.flush(request, image, retired)
    }

    fn commit(&mut self, _: u8, _: u32, _: &mut Image, _: &mut Retired) {}

    fn evict(&mut self, write: &LineWrite, image: &mut Image) -> Evicted {
        PassThrough.evict(write, image)
    }

    fn stats(&self, _: &mut dyn StatSink) {}
}

impl Clocks for AtOnce {
    fn interval(&self) -> Dur {
        Dur::ns(100)
    }

    fn place(&self) -> Among {
        Among { own: 0, controllers: 2, cores: 1 }
    }

    fn complete(&mut self, tag: EpochTag, _: Option<EpochTag>, _: &mut Image, _: &mut Retired) {
        (self.durable, self.untold) = (Some(tag), Some(tag));
    }

    fn hears(&mut self, _: usize, tag: EpochTag, _: &mut Image, _: &mut Retired) {
        self.durable = Some(tag);
    }

    fn durable(&mut self) -> Option<EpochTag> {
        self.durable.take()
    }

    fn has_news(&self) -> bool {
        self.untold.is_some()
    }

    fn untold(&mut self) -> Option<EpochTag> {
        self.untold.take()
    }
}

#[test]
fn cores_hear_of_what_is_durable_at_once_and_other_controllers_when_clocks_are_told() {
    let mut b = Bench::with(Controller::new(spec(), Box::new(media(None)), Box::new(AtOnce::default())));
    for (ns, epoch) in [(10, 1), (60, 2), (100, 3)] {
        b.arrive(ns, 1, Msg::Complete { epoch, after: None });
    }
    b.run();
    let to = |node: u16| b.answers.iter().filter(move |(_, to, _)| *to == NodeId(node));
    assert_eq!(to(1).map(|(at, ..)| *at).collect::<Vec<_>>(), [65, 115, 155]);
    let told: Vec<_> = to(0).map(|(at, _, msg)| (*at, format!("{msg:?}"))).collect();
    let clock = |epoch| format!("{:?}", Msg::Clock { tag: EpochTag { core: 0, epoch } });
    assert_eq!(told, [(105, clock(2)), (105, clock(3))], "the third comes when the time has");
}

#[test]
fn a_read_takes_the_media_and_the_wire() {
    assert_eq!(Bench::new(spec()).arrive(10, 0, read(0)).run(), [10 + 175 + 5]);
}

#[test]
fn reads_follow_each_other_at_the_rate_of_the_media() {
    let times = Bench::new(spec()).arrive(10, 0, read(0)).arrive(10, 0, read(1)).arrive(10, 0, read(2)).run();
    assert_eq!(times, [190, 199, 208]);
}

#[test]
fn the_host_waits_for_the_media_that_a_unit_beside_it_uses() {
    let mut b = Bench::new(spec());
    b.controller.read_near(Time::ZERO + Dur::ns(10), line(3));
    assert_eq!(b.controller.media_free(), Time::ZERO + Dur::ns(19));
    b.controller.write_near(Time::ZERO + Dur::ns(10), line(4), &[7; 64], Mask::MAX);
    assert_eq!(b.controller.media_free(), Time::ZERO + Dur::ns(19 + 26));
    let counts = &b.controller.stats;
    assert_eq!([counts.reads, counts.writes], [1; 2], "as many as lines of bytes");
    assert_eq!([counts.bytes_read, counts.bytes_written], [64; 2]);
    // Behind the read and the write of the unit.
    assert_eq!(b.arrive(10, 0, read(0)).run(), [45 + 175 + 5]);
    assert_eq!(b.controller.present(line(4)), [7; 64]);
}

#[test]
fn a_flush_is_acknowledged_after_its_acceptance_whatever_the_media_do() {
    let times = Bench::new(spec()).arrive(10, 1, flush(0)).arrive(10, 1, flush(1)).run();
    assert_eq!(times, [105, 105]);
}

#[test]
fn a_flush_that_finds_the_queue_full_waits_for_the_media() {
    let mut b = Bench::new(spec());
    // The first is served at once; two wait; the fourth comes in when the second is served, at 10 + 26.
    for n in 0..4 {
        b.arrive(10, 1, flush(n));
    }
    assert_eq!(b.run(), [105, 105, 105, 131]);
}

#[test]
fn a_write_of_a_queued_line_needs_no_place() {
    let mut b = Bench::new(spec());
    for n in [0, 1, 2, 2, 1] {
        b.arrive(10, 1, flush(n));
    }
    assert_eq!(b.run(), [105; 5]);
}

#[test]
fn reads_go_before_writes_until_the_queue_is_full_to_its_threshold() {
    let mut b = Bench::new(ControllerSpec { write_pending_queue: 8, drain_threshold: 8, ..spec() });
    b.arrive(10, 1, flush(0)).arrive(10, 1, flush(1)).arrive(11, 0, read(5));
    // The media serve the first write from 10 to 36, then the read.
    assert_eq!(b.run()[2], 36 + 175 + 5);
    let mut b = Bench::new(ControllerSpec { write_pending_queue: 8, drain_threshold: 1, ..spec() });
    b.arrive(10, 1, flush(0)).arrive(10, 1, flush(1)).arrive(11, 0, read(5));
    assert_eq!(b.run()[2], 62 + 175 + 5);
}

#[test]
fn a_read_sees_a_write_that_still_waits_in_the_ingress_queue_and_tells() {
    // Reads go first whatever the queue holds, or the write would be in before the read is served.
    let mut b = Bench::new(ControllerSpec { drain_threshold: 3, ..spec() });
    for n in 0..6 {
        b.arrive(10, 1, flush(n));
    }
    let data = [9; 64];
    b.arrive(11, 0, Msg::Write { line: line(7), data, mask: Mask::MAX, ack: None, is_owned: true });
    b.arrive(12, 0, read(7)).arrive(1000, 0, read(7)).run();
    let seen = |(.., m): &(u64, NodeId, Msg)| {
        if let Msg::ReadReply { data, waits, .. } = *m { Some((data, waits)) } else { None }
    };
    assert_eq!(b.answers.iter().filter_map(seen).collect::<Vec<_>>(), [(data, true), (data, false)]);
}

#[test]
fn a_hit_in_the_internal_buffer_is_faster_and_four_lines_share_a_block() {
    let buffer = Some(BufferSpec { blocks: 2, read: Dur::ns(100), hit_service: Dur::ns(4) });
    let mut b = Bench::of(spec(), media(buffer));
    b.arrive(10, 0, read(0)).arrive(1000, 0, read(3)).arrive(2000, 0, read(4));
    assert_eq!(b.run(), [190, 1105, 2180]);
}

#[test]
fn who_comes_in_by_chance_keeps_the_order_of_a_lines_writes_and_leaves_nobody_out() {
    let mut b =
        Bench::new(ControllerSpec { admission: Admission::ByChance { window: 4, stream: 0 }, ..spec() });
    let write = |n: u64, value: u8| Msg::Write {
        line: line(n),
        data: [value; 64],
        mask: Mask::MAX,
        ack: Some(0),
        is_owned: true,
    };
    for round in 0..4 {
        for n in 0..6 {
            b.arrive(10 + round, 0, write(n, round as u8));
        }
    }
    b.run();
    let told = b.answers.iter().filter(|(.., m)| matches!(m, Msg::CleanAck { .. })).count();
    assert_eq!(told, 24);
    assert!((0..6).all(|n| b.controller.latest(line(n)) == [3; 64]));
}

#[test]
fn a_write_joins_the_one_of_its_line_that_waits_only_where_they_coalesce() {
    let ends = |coalesces| {
        let mut b = Bench::new(ControllerSpec { coalesces, ..spec() });
        for _ in 0..3 {
            b.arrive(10, 1, flush(3));
        }
        b.run();
        b.controller.media_free()
    };
    // The media is busy with a write for 26 ns; the first does not wait.
    let [one, two] = [true, false].map(ends);
    assert_eq!((one, two.since(one)), (Time::ZERO + Dur::ns(10 + 2 * 26), Dur::ns(26)));
}

#[test]
fn reads_that_are_in_go_in_turn_and_who_waits_outside_comes_in_by_chance() {
    let order = |window| {
        let mut b =
            Bench::new(ControllerSpec { admission: Admission::ByChance { window, stream: 0 }, ..spec() });
        for n in 0..24 {
            b.arrive(10, 0, read(n));
        }
        b.run();
        let line = |(.., m): &(_, _, Msg)| {
            let Msg::ReadReply { line, .. } = m else { panic!("{m:?}") };
            line.0
        };
        b.answers.iter().map(line).collect::<Vec<u64>>()
    };
    let [in_turn, by_chance] = [order(24), order(4)];
    let first = in_turn[0];
    assert_eq!(in_turn, (first..first + 24).collect::<Vec<u64>>());
    // The one that is served, and four that are in.
    assert_eq!(by_chance[..5], in_turn[..5]);
    assert_ne!(by_chance, in_turn);
    let mut sorted = by_chance;
    sorted.sort_unstable();
    assert_eq!(sorted, in_turn);
}

/// Media whose buffer has lost a block when its other lines are asked for.
struct Forgetful;

impl Media for Forgetful {
    fn read(&mut self, _: Time, _: Line) -> Cost {
        Cost { latency: Dur::ns(175), busy: Dur::ns(9), hit: Some(false), ..Cost::default() }
    }

    fn write(&mut self, _: Time, _: Line) -> Cost {
        Cost { busy: Dur::ns(26), ..Cost::default() }
    }

    fn note(&mut self, now: Time, line: Line) -> Cost {
        self.write(now, line)
    }

    fn least_read(&self) -> Dur {
        Dur::ns(175)
    }
}

#[test]
fn lines_of_a_block_that_is_read_again_and_again_are_each_answered_once() {
    let spec = ControllerSpec { admission: Admission::ByChance { window: 8, stream: 0 }, ..spec() };
    let mut b = Bench::of(spec, Forgetful);
    for n in 0..4 {
        b.arrive(10, 0, read(n));
    }
    assert_eq!(b.run(), [190, 199, 208, 217]);
}

#[test]
fn those_that_are_not_of_the_block_that_is_read_stay_in_turn() {
    let spec = ControllerSpec { admission: Admission::ByChance { window: 8, stream: 0 }, ..spec() };
    let mut b = Bench::of(spec, Forgetful);
    // The first is served before the others are in.
    for n in [16, 0, 4, 8, 1] {
        b.arrive(10, 0, read(n));
    }
    b.run();
    let line_of = |(.., m): &(_, _, Msg)| {
        let Msg::ReadReply { line: of, .. } = m else { panic!("{m:?}") };
        of.0 - line(0).0
    };
    assert_eq!(b.answers.iter().map(line_of).collect::<Vec<u64>>(), [16, 0, 1, 4, 8]);
}

/// Bytes that the media have written, and of them those for nothing but notes, after these writes.
fn written(buffer: Option<BufferSpec>, writes: &[(u64, bool)]) -> (u64, u64) {
    let mut b = Bench::of(spec(), media(buffer));
    for (at, (n, is_note)) in (10..).step_by(1000).zip(writes) {
        let mask = if *is_note { 0 } else { Mask::MAX };
        b.arrive(at, 0, Msg::Write { line: line(*n), data: [1; 64], mask, ack: None, is_owned: true });
    }
    b.run();
    (b.controller.stats.bytes_written, b.controller.stats.bytes_noted)
}

#[test]
fn what_changes_none_of_a_lines_own_bytes_is_told_apart_from_what_the_program_writes() {
    assert_eq!(written(None, &[(0, false), (1, true), (1, true), (0, true)]), (256, 192));
    // Of blocks that leave a buffer, the two in which nobody has changed bytes.
    let buffer = BufferSpec { blocks: 1, read: Dur::ns(50), hit_service: Dur::ns(5) };
    let blocks = [(0, true), (4, true), (5, false), (8, false), (9, true), (12, true), (16, true)];
    assert_eq!(written(Some(buffer), &blocks), (4 * 256, 2 * 256));
}

#[test]
fn power_failing_twice_is_power_failing_once() {
    let mut b = Bench::new(spec());
    b.arrive(10, 1, flush(3)).run();
    let image = |c: &Controller| {
        let mut post_crash = PostCrash::new(false);
        c.post_crash(View::Durable, &mut post_crash);
        post_crash.parts[0].read(line(3))
    };
    assert_eq!((image(&b.controller), image(&b.controller)), ([3; 64], [3; 64]));
}

#[test]
fn the_same_messages_give_the_same_answers() {
    let once = || {
        let mut b = Bench::new(spec());
        for n in 0..20 {
            b.arrive(10 + n * 3, 1, flush(n % 7)).arrive(11 + n * 3, 0, read(n % 5));
        }
        b.run()
    };
    assert_eq!(once(), once());
}
