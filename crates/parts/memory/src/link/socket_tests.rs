use super::flits::{Flits, Format};
use super::socket::{SocketParameters, spec};
use super::{LinkPorts, LinkSpec, MemoryLink};
use ::params::Parameters;
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{Line, Mask, Msg, Node, PM_BASE, Settings, Tally};
use units::{Dur, Time};

/// Twelve transfers of sixteen bits at 10.4 GT/s.
const FLIT: Dur = Dur::ps(1154);
const WAY: Dur = Dur::ps(16_800);
const WIRE: Dur = Dur::ns(1);
const ALONE: LinkPorts = LinkPorts { own: 0, controllers: 1, cores: 0 };

fn preset(key: &str, value: &str) -> LinkSpec {
    let mut s = Settings::defaults(SocketParameters::TABLE);
    let param = SocketParameters::TABLE.iter().find(|p| p.key == key).unwrap();
    s.set(param.key, param.kind.read(value).unwrap());
    spec(&s)
}

#[test]
fn a_flit_takes_what_the_rate_gives_it_and_a_line_three_flits() {
    let at = |rate| preset("memory.socket.rate_gt", rate);
    assert_eq!((at("10.4").flit, at("10.4").way), (FLIT, WAY));
    assert_eq!(at("9.6").flit, Dur::ps(1250));
    let mut flits = Flits::new(FLIT, Format::SOCKET);
    let left: Vec<Time> = (0..100).map(|_| flits.send(Time::ZERO, Format::SOCKET.line)).collect();
    // 18.5 GB/s of data, of 20.8.
    assert_eq!((left[0], left[99]), (Time::ZERO + FLIT * 3, Time::ZERO + FLIT * 300));
    let mut requests = Flits::new(FLIT, Format::SOCKET);
    (0..6).for_each(|_| _ = requests.send(Time::ZERO, 0));
    assert_eq!(requests.count(), 2, "three requests a flit");
    assert_eq!(requests.busy(), FLIT * 2);
}

#[test]
fn a_rate_that_does_not_exist_is_refused_with_those_that_do() {
    let rate = SocketParameters::TABLE.iter().find(|p| p.key == "memory.socket.rate_gt").unwrap();
    let refused = rate.kind.read("16").unwrap_err();
    assert!(refused.contains("16") && refused.contains("10.4"), "{refused}");
}

fn line(n: u64) -> Line {
    Line(PM_BASE / 64 + n)
}

fn write(n: u64, is_owned: bool) -> Msg {
    Msg::Write { line: line(n), data: [1; 64], mask: Mask::MAX, ack: Some(0), is_owned }
}

/// What reaches the other socket, which answers nothing, and when; of each line the number.
fn at_home(sent: &[(Time, Msg)]) -> (Vec<(u64, bool, Time)>, Tally) {
    let to = |node, port| Link { to: NodeId(node), port, latency: WIRE };
    let links = vec![vec![to(1, PortId(0))], vec![to(2, PortId(0)), to(0, PortId(0))], Vec::new()];
    let mut engine: Engine<Msg> = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
    let mut link = MemoryLink::new(preset("memory.socket.directory", "none"), ALONE.controllers, ALONE.cores);
    for (at, msg) in sent {
        engine.out(NodeId(0), Time::ZERO).send_at(*at, PortId(0), *msg);
    }
    let (mut msg, mut found) = (Msg::Wake, Vec::new());
    while let Some((now, node, port)) = engine.next(&mut msg) {
        if node.0 == 1 {
            link.on(now, port, &msg, &mut engine.out(node, now));
        } else if let Msg::Read { line } | Msg::Write { line, .. } = msg {
            found.push((line.0 - PM_BASE / 64, matches!(msg, Msg::Write { .. }), now));
        }
    }
    let mut tally = Tally::default();
    link.stats(Time::ZERO, &mut tally);
    (found, tally)
}

#[test]
fn a_write_of_a_line_that_no_cache_has_crosses_three_times_and_comes_not_before() {
    let (owned, _) = at_home(&[(Time::ZERO, write(0, true))]);
    assert_eq!(owned, [(0, true, Time::ZERO + WIRE * 2 + FLIT * 3 + WAY)]);
    let (claimed, tally) = at_home(&[(Time::ZERO, write(0, false))]);
    // A flit for the claim and one for the word, then the line's three.
    let there = Time::ZERO + WIRE * 2 + FLIT * 5 + WAY * 3;
    assert_eq!(claimed, [(0, true, there)]);
    assert_eq!(tally.number("socket.claims") as u64, 1);
    assert!((tally.number("socket.claim_time") - (FLIT * 2 + WAY * 2).as_ns()).abs() < 1e-6);
    assert!((tally.number("socket.busy_time_out") - (FLIT * 4).as_ns()).abs() < 1e-6);
    assert!((tally.number("socket.busy_time_back") - FLIT.as_ns()).abs() < 1e-6);
}

#[test]
fn a_claim_is_answered_when_it_is_there_and_not_a_picosecond_before() {
    // The claim is back a picosecond before another line comes, or in its picosecond: the wires are the first's then.
    let back = FLIT * 2 + WAY * 2;
    let other = |at: Dur| at_home(&[(Time::ZERO, write(0, false)), (Time::ZERO + at, write(1, true))]).0;
    let first = |found: &[(u64, bool, Time)]| found[0].0;
    assert_eq!(first(&other(back - Dur::ps(1))), 1, "its line was not there yet");
    assert_eq!(first(&other(back + Dur::ps(1))), 0, "its line was there");
}

#[test]
fn what_is_said_of_a_line_that_is_claimed_comes_after_its_write() {
    let now = |msg| (Time::ZERO, msg);
    let sent =
        [now(write(0, false)), now(Msg::Read { line: line(0) }), now(write(1, true)), now(write(0, true))];
    let order: Vec<(u64, bool)> = at_home(&sent).0.iter().map(|found| (found.0, found.1)).collect();
    assert_eq!(order, [(1, true), (0, true), (0, false), (0, true)]);
}

/// Writes of a line's state that come to a memory, when, while the host does these things one after the other; memory answers a read
/// 50 ns after it has come.
fn kept(sent: &[Msg]) -> Vec<Time> {
    let times = (0..).map(|n| Time::ZERO + Dur::ns(1000) * n);
    kept_at(&times.zip(sent.iter().copied()).collect::<Vec<_>>())
}

/// The same of things at these times.
fn kept_at(sent: &[(Time, Msg)]) -> Vec<Time> {
    let to = |node, port| Link { to: NodeId(node), port, latency: WIRE };
    let of_link = vec![to(2, PortId(0)), to(0, PortId(0))];
    let links = vec![vec![to(1, PortId(0))], of_link, vec![to(1, ALONE.up(0))]];
    let mut engine: Engine<Msg> = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
    let mut link =
        MemoryLink::new(preset("memory.socket.directory", "memory"), ALONE.controllers, ALONE.cores);
    for (at, msg) in sent {
        engine.out(NodeId(0), Time::ZERO).send_at(*at, PortId(0), *msg);
    }
    let (mut msg, mut found, mut left) = (Msg::Wake, Vec::new(), 1000);
    while let Some((now, node, port)) = engine.next(&mut msg) {
        left -= 1;
        assert!(left > 0, "it looks again and again");
        if node.0 == 1 {
            link.on(now, port, &msg, &mut engine.out(node, now));
        } else if let (2, Msg::Read { line }) = (node.0, msg) {
            let reply = Msg::ReadReply { line, data: [0; 64], waits: false };
            engine.out(node, now).send(PortId(0), Dur::ns(50), reply);
        } else if matches!(msg, Msg::Write { mask: 0, .. }) {
            found.push(now);
        }
    }
    let mut tally = Tally::default();
    link.stats(Time::ZERO, &mut tally);
    assert_eq!(tally.number("socket.directory_writes") as usize, found.len());
    found
}

#[test]
fn memory_is_written_when_a_line_is_given_away_and_not_when_it_is_read_again() {
    let read = Msg::Read { line: line(0) };
    // There and at memory after two wires, a flit and the ports; its answer a wire and 50 ns later, and the state a wire after that.
    let there = Time::ZERO + WIRE * 2 + FLIT + WAY;
    assert_eq!(kept(&[read]), [there + Dur::ns(50) + WIRE * 2]);
    assert_eq!(kept(&[read, read]).len(), 1);
    assert_eq!(kept(&[read, write(0, true), read]).len(), 2, "it had come back");
}

#[test]
fn what_waits_for_a_claim_does_not_wait_for_a_credit_that_is_back() {
    let later = Time::ZERO + Dur::ns(1000);
    let sent = [(Time::ZERO, Msg::Read { line: line(1) }), (later, write(0, false)), (later, write(0, true))];
    assert_eq!(kept_at(&sent).len(), 2, "both lines are given away");
}

#[test]
fn memory_is_written_when_a_line_is_claimed_before_its_bytes_are_there() {
    let claimed = kept(&[write(0, false)]);
    assert_eq!(claimed, [Time::ZERO + WIRE * 2 + FLIT + WAY]);
    assert_eq!(kept(&[write(0, false), write(0, false)]).len(), 2);
    assert_eq!(kept(&[Msg::Read { line: line(0) }, write(0, false)]).len(), 1, "it had been given away");
}
