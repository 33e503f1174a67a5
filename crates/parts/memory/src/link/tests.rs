use super::cxl::{CxlParameters, spec};
use super::flits::{Flits, Format};
use super::{LinkPorts, LinkSpec, MemoryLink};
use ::params::Parameters;
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{Line, Mask, Msg, Node, PM_BASE, Settings, Tally};
use units::{Dur, Time};

const FLIT: Dur = Dur::ps(2159);

/// The ports of a link's only controller, on a machine without cores.
const ALONE: LinkPorts = LinkPorts { own: 0, controllers: 1, cores: 0 };

fn of_cxl(requests: usize) -> LinkSpec {
    let (way, device) = (Dur::ns(40), Dur::ns(25));
    LinkSpec { flit: FLIT, format: Format::CXL, requests, way, device, links: 1, home: None }
}

fn settings(sets: &[(&str, &str)]) -> Settings {
    let mut s = Settings::defaults(CxlParameters::TABLE);
    for (key, value) in sets {
        let param = CxlParameters::TABLE.iter().find(|p| p.key == *key).unwrap();
        s.set(param.key, param.kind.read(value).unwrap());
    }
    s
}

#[test]
fn a_flit_takes_what_lanes_and_transfers_give_it() {
    // 68 bytes on eight lanes of 32 Gbit/s, of which 128 of 130 bits are data: 2.159 ns.
    assert_eq!(spec(&settings(&[])).flit, FLIT);
    assert_eq!(spec(&settings(&[("memory.cxl.lanes", "16")])).flit, Dur::ps(1080));
    assert_eq!(
        spec(&settings(&[("memory.cxl.rate_gt", "8"), ("memory.cxl.lanes", "1")])).flit,
        Dur::ps(69063)
    );
    let far = spec(&settings(&[("memory.cxl.switches", "2"), ("memory.cxl.switch_ns", "7")]));
    assert_eq!(
        far.way,
        Dur::ns(20 * 6 + 7 * 2),
        "a message passes the ports of both ends and of each switch"
    );
}

#[test]
fn a_width_that_does_not_exist_is_refused_with_those_that_do() {
    let lanes = CxlParameters::TABLE.iter().find(|p| p.key == "memory.cxl.lanes").unwrap();
    let refused = lanes.kind.read("12").unwrap_err();
    assert!(refused.contains("12") && refused.contains("16"), "{refused}");
}

#[test]
fn lines_fill_three_slots_of_each_flit_and_headers_the_fourth() {
    let mut flits = Flits::new(FLIT, Format::CXL);
    let left: Vec<Time> = (0..300).map(|_| flits.send(Time::ZERO, 4)).collect();
    // Four slots of data a line, three a flit.
    assert_eq!((flits.count(), left[299]), (400, Time::ZERO + FLIT * 400));
    assert_eq!(left[0], Time::ZERO + FLIT * 2, "the first line's last slot is in the second flit");
    let mut requests = Flits::new(FLIT, Format::CXL);
    (0..8).for_each(|_| _ = requests.send(Time::ZERO, 0));
    assert_eq!(requests.count(), 2, "four requests a flit");
}

#[test]
fn a_flit_that_has_begun_takes_no_more() {
    let mut flits = Flits::new(FLIT, Format::CXL);
    assert_eq!(flits.send(Time::from_ps(10), 0), Time::from_ps(10) + FLIT);
    assert_eq!(flits.send(Time::from_ps(10), 0), Time::from_ps(10) + FLIT, "the same flit");
    assert_eq!(
        flits.send(Time::from_ps(11), 0),
        Time::from_ps(10) + FLIT * 2,
        "the next, once that has left"
    );
}

/// Node 0 is the host, node 1 the link, node 2 a device that answers a read after 50 ns. Gives when answers come, and
/// how many reads the device had at most.
fn replies(spec: LinkSpec, reads: u64) -> (Vec<Time>, usize, Tally) {
    let to = |node, port| Link { to: NodeId(node), port, latency: Dur::ns(1) };
    let up = ALONE.up(0);
    let links = vec![vec![to(1, PortId(0))], vec![to(2, PortId(0)), to(0, PortId(0))], vec![to(1, up)]];
    let mut engine: Engine<Msg> = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
    let mut link = MemoryLink::new(spec, 1, 0);
    for n in 0..reads {
        let msg = Msg::Read { line: Line(PM_BASE / 64 + n) };
        engine.out(NodeId(0), Time::ZERO).send(PortId(0), Dur::ZERO, msg);
    }
    let (mut msg, mut found, mut inside, mut most) = (Msg::Wake, Vec::new(), 0, 0);
    while let Some((now, node, port)) = engine.next(&mut msg) {
        match (node.0, msg) {
            (1, _) => {
                inside -= usize::from(port == up);
                link.on(now, port, &msg, &mut engine.out(node, now));
            }
            (2, Msg::Read { line }) => {
                inside += 1;
                most = most.max(inside);
                let reply = Msg::ReadReply { line, data: [0; 64], waits: false };
                engine.out(node, now).send(PortId(0), Dur::ns(50), reply);
            }
            (0, _) => found.push(now),
            (node, msg) => panic!("{msg:?} at node {node}"),
        }
    }
    let mut tally = Tally::default();
    link.stats(Time::ZERO, &mut tally);
    (found, most, tally)
}

#[test]
fn a_read_crosses_ports_and_flits_both_ways_and_comes_not_before() {
    let spec = of_cxl(4);
    let (found, _, tally) = replies(spec, 1);
    // Four wires, a flit for the request and two for the data, 40 ns each way, 50 ns in the device.
    assert_eq!(found, [Time::ZERO + Dur::ns(4 + 80 + 50) + FLIT * 3]);
    let parts = ["cxl.credit_time", "cxl.request_time", "cxl.port_time", "cxl.device_time", "cxl.data_time"];
    let sum: f64 = parts.iter().map(|part| tally.number(part)).sum();
    let all = (found[0].since(Time::ZERO) - Dur::ns(2)).as_ns();
    assert!((sum - all).abs() < 1e-6, "the parts are all of it but the host's wires: {sum} {all}");
}

#[test]
fn credits_bound_what_is_on_its_way_and_the_wires_what_comes_back() {
    let spec = of_cxl(4);
    let (found, most, tally) = replies(spec, 64);
    assert_eq!((found.len(), most), (64, 4));
    assert!(tally.number("cxl.credit_time") > 0.0);
    let (found, most, _) = replies(LinkSpec { requests: 1024, ..spec }, 600);
    assert!(most > 20);
    // Three slots of data a flit: 22.2 GB/s at eight lanes of 32 GT/s.
    let time = found.last().unwrap().since(found[0]).as_ns();
    let rate = 599.0 * 64.0 / time;
    assert!((22.1..22.3).contains(&rate), "{rate}");
}

#[test]
fn a_credit_is_back_with_its_data_and_not_before() {
    let spec = of_cxl(1);
    let (found, most, tally) = replies(spec, 3);
    // Three wires and those beyond them, ports both ways, the device and three flits, one read after the other.
    let each = Dur::ns(2 + 80 + 50) + FLIT * 3;
    let first = Time::ZERO + each + Dur::ns(2);
    assert_eq!((found, most), (vec![first, first + each, first + each * 2], 1));
    assert!((tally.number("cxl.credit_time") - (each * 3).as_ns()).abs() < 1e-6);
    // What the ports take lengthens the way, and with it how long a credit is out.
    let (found, ..) = replies(LinkSpec { way: Dur::ns(1000), ..spec }, 2);
    assert!(found[1].since(found[0]) >= Dur::ns(2050));
}

/// What reaches a device that answers nothing, behind a link with one credit, in its order: port and line.
fn at_device(sent: &[(PortId, Msg)]) -> (Vec<(u8, Option<u64>, Time)>, Tally) {
    let spec = of_cxl(1);
    let to = |node, port| Link { to: NodeId(node), port, latency: Dur::ns(1) };
    // The host sends memory and commands by its two ports.
    let command = ALONE.command_down();
    let of_link = [to(2, PortId(0)), to(0, PortId(0)), to(2, PortId(1)), to(0, PortId(1))];
    let links = vec![vec![to(1, PortId(0)), to(1, command)], of_link.to_vec()];
    let mut engine: Engine<Msg> = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
    let mut link = MemoryLink::new(spec, 1, 0);
    for (port, msg) in sent {
        engine.out(NodeId(0), Time::ZERO).send(*port, Dur::ZERO, *msg);
    }
    let (mut msg, mut at_device) = (Msg::Wake, Vec::new());
    while let Some((now, node, port)) = engine.next(&mut msg) {
        if node.0 == 1 {
            link.on(now, port, &msg, &mut engine.out(node, now));
        } else {
            at_device.push((port.0, super::line_of(&msg).map(|line| line.0 - PM_BASE / 64), now));
        }
    }
    let mut tally = Tally::default();
    link.stats(Time::ZERO, &mut tally);
    (at_device, tally)
}

fn line(n: u64) -> Line {
    Line(PM_BASE / 64 + n)
}

fn write(n: u64) -> Msg {
    Msg::Write { line: line(n), data: [1; 64], mask: Mask::MAX, ack: None, is_owned: true }
}

#[test]
fn a_write_does_not_pass_a_read_of_its_line_that_waits_nor_what_is_said_of_the_line_afterwards() {
    let down = |msg| (PortId(0), msg);
    let reads = [down(Msg::Read { line: line(0) }), down(Msg::Read { line: line(1) })];
    let later = [down(write(1)), down(Msg::Recalled { line: line(1) }), down(write(2))];
    let lines =
        |sent: &[(PortId, Msg)]| -> Vec<_> { at_device(sent).0.iter().map(|found| found.1).collect() };
    let found = lines(&[&reads[..], &[later[0], later[2]]].concat());
    // The device answers nothing: the second read waits, and the write of its line behind it; the other write has gone.
    assert_eq!(found, [Some(0), Some(2)]);
    let found = lines(&[&reads[..], &later].concat());
    assert_eq!(found, [Some(0), Some(2)], "a line that was recalled is given back after its last write");
}

#[test]
fn what_is_asked_of_a_devices_registers_goes_to_its_port_for_them_and_shares_the_flits() {
    let status = (PortId(1), Msg::NearStatus { core: 0 });
    let alone = at_device(&[status]).0;
    // Two wires and 40 ns.
    assert_eq!(alone, [(1, None, Time::ZERO + Dur::ns(42) + FLIT)]);
    let behind = at_device(&[(PortId(0), write(3)), status]).0;
    assert_eq!(behind[1], (1, None, Time::ZERO + Dur::ns(42) + FLIT * 2), "it shares the line's second flit");
}

#[test]
fn a_flush_of_a_line_that_no_cache_has_changed_is_a_header() {
    let empty = |n: u64| Msg::Write { line: line(n), data: [0; 64], mask: 0, ack: Some(0), is_owned: true };
    let sent: Vec<_> = (0..8).map(|n| (PortId(0), empty(n))).collect();
    let (found, tally) = at_device(&sent);
    // Four to a flit.
    let times = [1, 1, 1, 1, 2, 2, 2, 2].map(|flits| Time::ZERO + Dur::ns(42) + FLIT * flits);
    assert!(found.iter().map(|found| found.2).eq(times), "{found:?}");
    assert_eq!((tally.number("cxl.flits_down") as u64, tally.number("cxl.writes") as u64), (2, 0));
}
