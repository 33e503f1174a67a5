//! The network's times, the protocol's answers, and words from memory.

use super::*;
use protocol::{Block, Image, Line, Mask, PM_BASE};
use std::collections::BTreeMap;
use units::{Dur, Time};

#[derive(Default)]
struct Lines(BTreeMap<u64, Block>);

impl Bytes for Lines {
    fn read(&self, line: Line) -> Block {
        self.0.get(&line.0).copied().unwrap_or([0; 64])
    }

    fn write(&mut self, line: Line, data: &Block) {
        self.0.insert(line.0, *data);
    }
}

fn state(walks: Walks) -> AgentState {
    let spec = AgentStateSpec {
        frames: 2,
        page_lines: 64,
        walks,
        critical_line_first: true,
        attempts: 2,
        mutant: None,
    };
    AgentState::new(spec)
}

fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

fn network(faults: Faults) -> Network {
    Network::new(NetworkSpec { latency: Dur::ns(1000), byte: Dur::ps(100), faults })
}

fn fetch(number: u64) -> Packet {
    Packet::Fetch { number, page: 0, lines: 1 }
}

#[test]
fn a_packet_arrives_after_its_latency_and_its_bytes_and_not_before() {
    let mut net = network(Faults::default());
    net.send(at(0), fetch(1));
    net.send(at(0), fetch(2));
    // 64 bytes of header each, one after the other.
    let first = 1_000_000 + 6400;
    assert_eq!(net.take(at(first - 1)), None);
    assert_eq!(net.take(at(first)), Some(fetch(1)));
    assert_eq!(net.take(at(first + 6400 - 1)), None);
    assert_eq!(net.take(at(first + 6400)), Some(fetch(2)));
    // The other direction is free.
    net.send(at(0), Packet::Stored { number: 1 });
    assert_eq!(net.next(), at(first));
}

/// However late packets come and however often, they are taken by time, and of those that arrive at once the one that was
/// sent first.
#[test]
fn packets_are_taken_in_the_order_in_which_they_arrive() {
    for (late_one_in, duplicate_one_in, late) in
        [(0, 0, 0), (3, 0, 700), (0, 2, 0), (4, 3, 64), (2, 2, 5_000)]
    {
        let faults = Faults { lose_one_in: 0, late_one_in, duplicate_one_in, late: Dur::ns(late) };
        let (mut net, mut random) = (network(faults), units::Random::new(7, late));
        // When each is due: a line for each way, as the times say.
        let (mut free, mut due, mut taken) = ([0; 2], Vec::new(), Vec::new());
        for number in 1..=3_000 {
            // Two at once: one each way, they arrive together.
            let now = number / 2 * 9_000;
            while let Some(packet) = net.take(at(now)) {
                taken.push(packet.number());
            }
            let packet = if random.below(2) == 0 { fetch(number) } else { Packet::Stored { number } };
            let way = usize::from(matches!(packet, Packet::Stored { .. }));
            net.send(at(now), packet);
            free[way] = now.max(free[way]) + 6_400;
            let hits = |one_in: u64| one_in > 0 && number % one_in == 0;
            let (arrives, late) = (free[way] + 1_000_000, late * 1_000);
            if hits(duplicate_one_in) {
                free[way] += 6_400;
                let arrives = arrives + 6_400;
                due.push((arrives + late, due.len(), number));
            }
            due.push((arrives + if hits(late_one_in) { late } else { 0 }, due.len(), number));
        }
        while let Some(packet) = net.take(at(u64::MAX / 2)) {
            taken.push(packet.number());
        }
        due.sort_unstable();
        assert!(taken.into_iter().eq(due.into_iter().map(|(_, _, number)| number)), "late by {late} ns");
    }
}

/// An image that moves lines alone.
struct LineByLine(Image);

impl Bytes for LineByLine {
    fn read(&self, line: Line) -> Block {
        self.0.read(line)
    }

    fn write(&mut self, line: Line, data: &Block) {
        self.0.write(line, data, Mask::MAX);
    }
}

/// Whole pages are shared: whoever writes one afterwards writes its own. Contents, masks and the order of moves are random.
#[test]
fn pages_that_move_whole_have_the_bytes_of_pages_that_move_line_by_line() {
    const PAGES: u64 = 5;
    let mut random = units::Random::new(11, 0);
    let mut whole = [Image::new(PM_BASE), Image::new(PM_BASE)];
    let mut lines = [0, 1].map(|_| LineByLine(Image::new(PM_BASE)));
    let mut shared = 0;
    for step in 0..4_000 {
        let (from, page) = (random.below(2) as usize, random.below(PAGES) as u32);
        let to = 1 - from;
        if random.below(3) > 0 {
            let line = packet::line_at(page, random.below(64) as u32);
            let block = [random.below(4) as u8; 64];
            Bytes::write(&mut whole[from], line, &block);
            lines[from].write(line, &block);
        } else {
            let sent = if random.below(2) == 0 { u64::MAX } else { random.below(u64::MAX) };
            let wanted = if random.below(2) == 0 { sent } else { sent & random.below(u64::MAX) };
            let data = packet::Lines::read(&whole[from], page, sent);
            shared += u64::from(matches!(data, packet::Lines::All(Some(_))) && wanted == u64::MAX);
            data.write(&mut whole[to], page, sent, wanted);
            packet::Lines::read(&lines[from], page, sent).write(&mut lines[to], page, sent, wanted);
        }
        assert!(whole[0] == lines[0].0 && whole[1] == lines[1].0, "step {step}");
    }
    assert!(shared > 100, "{shared} moves shared a page with bytes in it");
}

#[test]
fn faults_come_by_count() {
    let mut net = network(Faults { lose_one_in: 3, ..Faults::default() });
    (1..=6).for_each(|n| net.send(at(0), fetch(n)));
    let numbers: Vec<u64> = std::iter::from_fn(|| net.take(at(u64::MAX / 2))).map(|p| p.number()).collect();
    assert_eq!(numbers, [1, 2, 4, 5]);
    let mut net = network(Faults { duplicate_one_in: 1, late: Dur::ns(50), ..Faults::default() });
    net.send(at(0), fetch(1));
    assert_eq!(net.take(at(1_006_400)), Some(fetch(1)));
    // The second one follows the first on the wire, and is there as any packet is.
    assert_eq!(net.take(at(1_062_799)), None);
    assert_eq!(net.take(at(1_062_800)), Some(fetch(1)));
    assert_eq!(net.counts(), (128, 0, 2, 0));
}

/// The requests among effects.
fn requests(effects: &[Effect]) -> Vec<(u64, u64)> {
    let request = |e: &Effect| match e {
        Effect::Send(Packet::Fetch { number, lines, .. }) => Some((*number, *lines)),
        Effect::Send(_)
        | Effect::Serve { .. }
        | Effect::Walk { .. }
        | Effect::Recall { .. }
        | Effect::Done { .. } => None,
    };
    effects.iter().filter_map(request).collect()
}

fn data(number: u64, page: u32, lines: u64, value: u8) -> Packet {
    Packet::Data {
        number,
        page,
        lines,
        data: packet::Lines::Some(vec![[value; 64]; lines.count_ones() as usize]),
    }
}

#[test]
fn a_walk_is_answered_with_the_last_line_of_the_page_or_with_its_first() {
    let mut memory = Lines::default();
    for (walks, after_first) in [(Walks::WholePage, false), (Walks::FirstLine, true)] {
        let (mut state, mut out) = (state(walks), Vec::new());
        state.walk(5, &mut out);
        let asked = requests(&out);
        assert_eq!(asked.iter().fold(0, |all, (_, lines)| all | lines), u64::MAX);
        out.clear();
        // What the first request does not have comes with the second.
        state.answer(&data(asked[0].0, 5, asked[0].1 & 0xFF, 1), &mut memory, &mut out);
        let answered = out.contains(&Effect::Walk { page: 5, failed: false });
        assert_eq!(answered, after_first, "{walks:?}");
    }
}

#[test]
fn the_missing_line_is_asked_for_first_and_its_answer_serves_the_read() {
    let (mut state, mut memory, mut out) = (state(Walks::Untracked), Lines::default(), Vec::new());
    state.walk(7, &mut out);
    assert_eq!(out, [Effect::Walk { page: 7, failed: false }]);
    out.clear();
    state.read(7, 9, &mut out);
    let asked = requests(&out);
    assert_eq!(asked.iter().map(|(_, lines)| *lines).collect::<Vec<_>>(), [1 << 9, !(1 << 9)]);
    out.clear();
    state.answer(&data(asked[0].0, 7, 1 << 9, 3), &mut memory, &mut out);
    assert_eq!(out, [Effect::Serve { page: 7, index: 9 }]);
}

#[test]
fn a_walk_fails_after_so_many_attempts_and_no_access_is_given_up() {
    let (mut state, mut out) = (state(Walks::WholePage), Vec::new());
    state.walk(1, &mut out);
    let (number, _) = requests(&out)[0];
    out.clear();
    state.late(number, &mut out);
    assert_eq!(requests(&out).len(), 1, "the second attempt");
    out.clear();
    state.late(number, &mut out);
    assert_eq!(out, [Effect::Walk { page: 1, failed: true }]);
    // Software waits as long as it takes.
    out.clear();
    state.command(Command::Fetch { page: 1 }, &mut out);
    for _ in 0..10 {
        let (number, _) = requests(&out)[0];
        out.clear();
        state.late(number, &mut out);
        assert_eq!(requests(&out).len(), 1);
    }
}

#[test]
fn commands_are_told_in_order() {
    let (mut state, mut memory, mut out) = (state(Walks::WholePage), Lines::default(), Vec::new());
    state.command(Command::Fetch { page: 1 }, &mut out);
    state.command(Command::Fetch { page: 2 }, &mut out);
    let asked = requests(&out);
    out.clear();
    state.answer(&data(asked[1].0, 2, u64::MAX, 1), &mut memory, &mut out);
    assert!(out.is_empty(), "the first is not done");
    state.answer(&data(asked[0].0, 1, u64::MAX, 1), &mut memory, &mut out);
    assert_eq!(out, [Effect::Done { count: 2 }]);
}

#[test]
fn words_are_commands_or_none() {
    let all = [What::Nothing, What::Page, What::Tracked].map(|what| Command::Reclaim { page: 123, what });
    for command in all.into_iter().chain([Command::Fetch { page: u32::MAX }]) {
        assert_eq!(Command::from_word(command.to_word()), Some(command));
    }
    assert_eq!(Command::from_word(0), None);
    assert_eq!(Command::from_word(u64::MAX), None);
    for initial in [Pte::Absent, Pte::Writable] {
        assert_eq!(Pte::from_word(0, initial), initial);
        for entry in [Pte::Absent, Pte::Protected, Pte::Writable] {
            assert_eq!(Pte::from_word(entry.to_word(initial), initial), entry);
        }
    }
}

#[test]
fn the_remote_host_keeps_the_newest_write_of_a_page() {
    let (mut host, mut memory) = (RemoteHost::new(false), Lines::default());
    let store = |number, value| Packet::Store {
        number,
        page: 3,
        lines: 1,
        data: packet::Lines::Some(vec![[value; 64]]),
    };
    for (number, value) in [(1, 1), (2, 2), (1, 1)] {
        let answer = host.serve(&store(number, value), &mut memory);
        assert_eq!(answer, Some(Packet::Stored { number }));
    }
    let answer = host.serve(&Packet::Fetch { number: 9, page: 3, lines: 1 }, &mut memory);
    assert_eq!(answer, Some(data(9, 3, 1, 2)));
}
