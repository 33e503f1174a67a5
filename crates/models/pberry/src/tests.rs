//! The network's times, the protocol's answers, and words from memory.

use super::*;
use protocol::{Block, Line};
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

#[test]
fn faults_come_by_count() {
    let mut net = network(Faults { lose_one_in: 3, ..Faults::default() });
    (1..=6).for_each(|n| net.send(at(0), fetch(n)));
    let numbers: Vec<u64> = std::iter::from_fn(|| net.take(at(u64::MAX / 2))).map(|p| p.number()).collect();
    assert_eq!(numbers, [1, 2, 4, 5]);
    let mut net = network(Faults { duplicate_one_in: 1, late: Dur::ns(50), ..Faults::default() });
    net.send(at(0), fetch(1));
    assert_eq!(net.take(at(1_006_400)), Some(fetch(1)));
    assert_eq!(net.take(at(1_056_399)), None);
    assert_eq!(net.take(at(1_056_400)), Some(fetch(1)));
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
