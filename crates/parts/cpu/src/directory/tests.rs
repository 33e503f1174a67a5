use super::{Awaited, Directory, DirectorySpec, Replacement};
use crate::CacheShape;
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{AddressMap, EpochTag, Grant, Line, Mask, Msg, PM_BASE, Snoop};
use units::{Dur, Time};

const CORES: u16 = 2;
const DIRECTORY: NodeId = NodeId(CORES);
const CONTROLLER: NodeId = NodeId(CORES + 1);
const LINE: Line = Line(PM_BASE / 64);

/// Cores, then the directory, then the controller; every wire is 5 ns long. The controller answers reads at once; cores
/// do what the test says.
struct Bench {
    directory: Directory,
    engine: Engine<Msg>,
    /// What the controller heard.
    heard: Vec<Msg>,
    now: Time,
    /// What the controller says of the lines that are read.
    waits: bool,
}

impl Bench {
    fn new(keeps_data: bool) -> Bench {
        let to = |n: NodeId, port| Link { to: n, port: PortId(port), latency: Dur::ns(5) };
        let mut links: Vec<Vec<Link>> = (0..CORES).map(|core| vec![to(DIRECTORY, core as u8)]).collect();
        let cores = (0..CORES).map(|core| to(NodeId(core), 0));
        links.push(cores.chain([to(CONTROLLER, 0)]).collect());
        links.push(vec![to(DIRECTORY, CORES as u8)]);
        let map = AddressMap::new(1, 0, 4096);
        let spec = DirectorySpec {
            replacement: Replacement::Lru,
            cores: CORES as u8,
            shape: CacheShape { sets: 4, ways: 2, latency: Dur::ns(10), index: crate::Index::Modulo },
            latency: Dur::ns(10),
            snoop: Dur::ns(1),
            retry: Dur::ns(50),
            keeps_data,
            caches_persist: false,
        };
        let engine = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
        Bench {
            directory: Directory::new(spec, map),
            engine,
            heard: Vec::new(),
            now: Time::ZERO,
            waits: false,
        }
    }

    fn send(&mut self, core: u16, msg: Msg) {
        self.engine.out(NodeId(core), self.now).send(PortId(0), Dur::ZERO, msg);
    }

    fn controller_says(&mut self, msg: Msg) {
        self.engine.out(CONTROLLER, self.now).send(PortId(0), Dur::ZERO, msg);
        assert!(self.next_for_a_core().is_none());
    }

    /// Runs until a core hears something, or all are idle.
    fn next_for_a_core(&mut self) -> Option<(u16, Msg)> {
        let mut msg = Msg::Wake;
        while let Some((now, to, port)) = self.engine.next(&mut msg) {
            self.now = now;
            let out = &mut self.engine.out(to, now);
            match (to, msg) {
                (DIRECTORY, _) => self.directory.on(now, port, &msg, out),
                (CONTROLLER, _) => {
                    self.heard.push(msg);
                    if let Msg::Read { line } = msg {
                        out.send(
                            PortId(0),
                            Dur::ZERO,
                            Msg::ReadReply { line, data: [7; 64], waits: self.waits },
                        );
                    }
                }
                (NodeId(core), _) => return Some((core, msg)),
            }
        }
        None
    }

    /// The same, for a request that only its sender hears of.
    fn ask(&mut self, core: u16, msg: Msg) -> Msg {
        self.send(core, msg);
        let (heard, answer) = self.next_for_a_core().expect("an answer");
        assert_eq!(heard, core);
        answer
    }

    fn reads(&self) -> usize {
        self.heard.iter().filter(|m| matches!(m, Msg::Read { .. })).count()
    }
}

#[test]
fn clwb_keeps_a_line_in_the_shared_cache_and_clflush_drops_it() {
    let mut b = Bench::new(true);
    let reply = |b: &mut Bench| {
        b.send(0, Msg::SnoopReply { line: LINE, data: None, tag: None, held: false });
        b.next_for_a_core()
    };
    b.ask(0, Msg::GetS { line: LINE });
    assert_eq!(b.reads(), 1);
    b.send(0, Msg::LineFlush { line: LINE, data: None, invalidate: false });
    b.next_for_a_core();
    b.ask(0, Msg::GetS { line: LINE });
    assert_eq!(b.reads(), 1, "it is there");
    let asked = b.ask(0, Msg::LineFlush { line: LINE, data: None, invalidate: true });
    assert!(matches!(asked, Msg::Snoop { kind: Snoop::Invalidate, .. }), "{asked:?}");
    reply(&mut b);
    b.ask(0, Msg::GetS { line: LINE });
    assert_eq!(b.reads(), 2, "it comes from memory again");
}

/// A directory without data writes back what a core evicts, and reads what another asks for. The write was first.
#[test]
fn a_read_does_not_overtake_the_write_back_that_it_has_to_see() {
    let mut b = Bench::new(false);
    let granted = b.ask(0, Msg::GetM { line: LINE });
    assert!(matches!(granted, Msg::Data { grant: Grant::Modified, .. }), "{granted:?}");
    b.send(1, Msg::GetM { line: LINE });
    let (core, asked) = b.next_for_a_core().expect("the owner is asked");
    assert!(core == 0 && matches!(asked, Msg::Snoop { .. }), "{core} {asked:?}");
    // It has just evicted the line.
    b.send(0, Msg::PutM { line: LINE, data: [9; 64] });
    b.send(0, Msg::SnoopReply { line: LINE, data: None, tag: None, held: false });
    b.heard.clear();
    b.next_for_a_core();
    assert!(matches!(b.heard[..], [Msg::Write { mask: Mask::MAX, .. }, Msg::Read { .. }]), "{:?}", b.heard);
}

/// Whether a flush of a line that is clean in the shared cache asks the controller, too.
fn asks_controller(b: &mut Bench, core: u16) -> bool {
    b.heard.clear();
    b.send(core, Msg::LineFlush { line: LINE, data: None, invalidate: false });
    while let Some((to, msg)) = b.next_for_a_core() {
        if let Msg::Snoop { .. } = msg {
            b.send(to, Msg::SnoopReply { line: LINE, data: None, tag: None, held: false });
        }
    }
    let behind = |m: &Msg| matches!(*m, Msg::Write { mask: 0, ack: Some(a), .. } if u16::from(a) == core);
    b.heard.iter().any(behind)
}

#[test]
fn a_flush_of_a_line_that_another_core_is_flushing_waits_for_that_write() {
    let mut b = Bench::new(true);
    b.ask(0, Msg::GetM { line: LINE });
    assert!(!asks_controller(&mut b, 1), "nothing of it was ever written");
    b.ask(0, Msg::GetM { line: LINE });
    b.send(0, Msg::LineFlush { line: LINE, data: Some([9; 64]), invalidate: false });
    assert!(asks_controller(&mut b, 1));
    // Both are durable: the first with its bytes, the second because it came behind.
    for _ in 0..2 {
        b.controller_says(Msg::Written { line: LINE });
    }
    assert!(!asks_controller(&mut b, 1));
}

#[test]
fn a_flush_of_a_line_that_was_read_while_its_write_back_waits_waits_too() {
    for waits in [false, true] {
        let mut b = Bench::new(true);
        b.waits = waits;
        b.ask(0, Msg::GetS { line: LINE });
        assert_eq!(asks_controller(&mut b, 0), waits);
    }
}

#[test]
fn a_directory_without_data_asks_for_lines_that_it_wrote_back() {
    let mut b = Bench::new(false);
    b.ask(0, Msg::GetM { line: LINE });
    b.send(0, Msg::PutM { line: LINE, data: [9; 64] });
    assert!(asks_controller(&mut b, 0));
}

/// A line of the same set as [`LINE`]: there are four sets of two places.
fn beside(n: u64) -> Line {
    Line(LINE.0 + 4 * n)
}

/// Answers a snoop as a core that has the line, changed to these bytes or unchanged.
fn reply(b: &mut Bench, core: u16, line: Line, data: Option<[u8; 64]>) {
    b.send(core, Msg::SnoopReply { line, data, tag: None, held: false });
}

/// The line, right and first byte that a core is given.
fn given(msg: &Msg) -> (Line, Grant, u8) {
    let Msg::Data { line, grant, data, .. } = *msg else { panic!("{msg:?}") };
    (line, grant, data[0])
}

#[test]
fn a_lookup_takes_its_time_and_memory_its_own() {
    let mut b = Bench::new(true);
    // There, looked up, to memory, back, to the core.
    b.ask(0, Msg::GetS { line: LINE });
    assert_eq!(b.now, Time::ZERO + Dur::ns(5 + 10 + 5 + 5 + 5));
    let begun = b.now;
    b.ask(0, Msg::GetS { line: LINE });
    assert_eq!(b.now, begun + Dur::ns(5 + 10 + 5));
    // A snoop leaves a snoop time after the lookup.
    let begun = b.now;
    b.send(1, Msg::GetM { line: LINE });
    assert_eq!(b.next_for_a_core().unwrap().0, 0);
    assert_eq!(b.now, begun + Dur::ns(5 + 10 + 1 + 5));
    // The answer is passed on at once.
    let begun = b.now;
    reply(&mut b, 0, LINE, None);
    assert_eq!(b.next_for_a_core().unwrap().0, 1);
    assert_eq!(b.now, begun + Dur::ns(5 + 5));
}

#[test]
fn the_first_reader_has_a_line_alone_and_the_second_shares_the_changed_bytes() {
    let mut b = Bench::new(true);
    assert_eq!(given(&b.ask(0, Msg::GetS { line: LINE })), (LINE, Grant::Exclusive, 7));
    b.send(1, Msg::GetS { line: LINE });
    let asked = b.next_for_a_core();
    assert!(matches!(asked, Some((0, Msg::Snoop { kind: Snoop::Share, .. }))), "{asked:?}");
    reply(&mut b, 0, LINE, Some([9; 64]));
    let (core, msg) = b.next_for_a_core().unwrap();
    assert_eq!((core, given(&msg)), (1, (LINE, Grant::Shared, 9)));
    assert_eq!(b.reads(), 1);
    // Whoever wants to write has both copies taken away but its own.
    b.send(1, Msg::GetM { line: LINE });
    let asked = b.next_for_a_core();
    assert!(matches!(asked, Some((0, Msg::Snoop { kind: Snoop::Invalidate, .. }))), "{asked:?}");
    reply(&mut b, 0, LINE, None);
    let (core, msg) = b.next_for_a_core().unwrap();
    assert_eq!((core, given(&msg)), (1, (LINE, Grant::Modified, 9)));
}

#[test]
fn requests_for_a_line_are_served_in_the_order_of_their_arrival() {
    let mut b = Bench::new(true);
    b.send(0, Msg::GetM { line: LINE });
    b.send(1, Msg::GetM { line: LINE });
    assert_eq!(b.next_for_a_core().unwrap().0, 0);
    let asked = b.next_for_a_core();
    assert!(matches!(asked, Some((0, Msg::Snoop { .. }))), "{asked:?}");
    reply(&mut b, 0, LINE, Some([3; 64]));
    let (core, msg) = b.next_for_a_core().unwrap();
    assert_eq!((core, given(&msg)), (1, (LINE, Grant::Modified, 3)));
}

#[test]
fn a_line_without_copies_leaves_before_one_that_a_core_has() {
    let mut b = Bench::new(true);
    b.ask(0, Msg::GetM { line: beside(0) });
    b.ask(0, Msg::GetM { line: beside(1) });
    // The younger one has no copy any more.
    b.send(0, Msg::PutM { line: beside(1), data: [4; 64] });
    b.heard.clear();
    b.ask(1, Msg::GetS { line: beside(2) });
    let [Msg::Write { line, data, .. }, Msg::Read { .. }] = b.heard[..] else { panic!("{:?}", b.heard) };
    assert_eq!((line, data[0]), (beside(1), 4));
}

#[test]
fn a_set_of_lines_that_cores_have_recalls_the_least_recently_used_one() {
    let mut b = Bench::new(true);
    b.ask(0, Msg::GetM { line: beside(0) });
    b.ask(1, Msg::GetM { line: beside(1) });
    b.heard.clear();
    b.send(1, Msg::GetS { line: beside(2) });
    let (core, asked) = b.next_for_a_core().unwrap();
    assert!(
        core == 0 && matches!(asked, Msg::Snoop { line, kind: Snoop::Invalidate } if line == beside(0)),
        "{asked:?}"
    );
    reply(&mut b, 0, beside(0), Some([5; 64]));
    assert_eq!(given(&b.next_for_a_core().unwrap().1), (beside(2), Grant::Exclusive, 7));
    let [Msg::Write { line, data, .. }, Msg::Read { .. }] = b.heard[..] else { panic!("{:?}", b.heard) };
    assert_eq!((line, data[0]), (beside(0), 5));
}

#[test]
fn a_pinned_line_stays_and_the_set_is_looked_at_again_until_it_drains() {
    let mut b = Bench::new(true);
    for n in [0, 1] {
        b.ask(0, Msg::GetM { line: beside(n) });
        b.send(1, Msg::GetM { line: beside(n) });
        b.next_for_a_core();
        b.send(0, Msg::SnoopReply { line: beside(n), data: Some([1; 64]), tag: None, held: true });
        b.next_for_a_core();
    }
    b.send(0, Msg::GetS { line: beside(2) });
    b.engine.stop_after(b.now + Dur::ns(500));
    assert!(b.next_for_a_core().is_none(), "both places are pinned");
    b.engine.stop_after(Time::NEVER);
    b.send(0, Msg::Drained { line: beside(1) });
    let (core, asked) = b.next_for_a_core().unwrap();
    assert!(core == 1 && matches!(asked, Msg::Snoop { line, .. } if line == beside(1)), "{asked:?}");
    reply(&mut b, 1, beside(1), None);
    assert_eq!(given(&b.next_for_a_core().unwrap().1).0, beside(2));
}

/// What cores hear until all are idle; each answers snoops as one that has the line unchanged.
fn settle(b: &mut Bench) -> Vec<Msg> {
    let mut heard = Vec::new();
    while let Some((core, msg)) = b.next_for_a_core() {
        if let Msg::Snoop { line, .. } = msg {
            reply(b, core, line, None);
        }
        heard.push(msg);
    }
    heard
}

#[test]
fn who_takes_a_line_from_memory_depends_on_its_epoch_until_it_commits() {
    for commits in [false, true] {
        let mut b = Bench::new(true);
        for n in [0, 1] {
            b.ask(0, Msg::GetM { line: beside(n) });
            b.send(1, Msg::GetS { line: beside(n) });
            b.next_for_a_core();
            let tag = Some(EpochTag { core: 0, epoch: 3 });
            b.send(0, Msg::SnoopReply { line: beside(n), data: Some([1; 64]), tag, held: false });
            while b.next_for_a_core().is_some() {}
        }
        // Both places of the set are taken by such lines, so that one has to go.
        b.send(0, Msg::GetS { line: beside(2) });
        settle(&mut b);
        if commits {
            b.send(0, Msg::Untag { line: LINE, epoch: 3 });
        }
        let read = b.reads();
        b.send(1, Msg::GetS { line: LINE });
        let dependent = settle(&mut b).iter().any(|m| matches!(m, Msg::AddDependent { epoch: 3, .. }));
        assert_eq!(dependent, !commits);
        assert_eq!(b.reads(), read + 1, "it had left");
    }
}

#[test]
fn an_epoch_that_wrote_a_line_is_told_of_its_reader_until_it_commits() {
    for commits in [false, true] {
        let mut b = Bench::new(true);
        b.ask(0, Msg::GetM { line: LINE });
        b.send(1, Msg::GetS { line: LINE });
        b.next_for_a_core();
        let tag = EpochTag { core: 0, epoch: 3 };
        b.send(0, Msg::SnoopReply { line: LINE, data: Some([1; 64]), tag: Some(tag), held: false });
        let dependent = b.next_for_a_core();
        assert!(
            matches!(dependent, Some((0, Msg::AddDependent { epoch: 3, dependent: 1 }))),
            "{dependent:?}"
        );
        let read = b.next_for_a_core();
        assert!(matches!(read, Some((1, Msg::Data { tag: Some(t), .. })) if t == tag), "{read:?}");
        if commits {
            b.send(0, Msg::Untag { line: LINE, epoch: 3 });
        }
        b.send(1, Msg::GetS { line: LINE });
        let again =
            std::iter::from_fn(|| b.next_for_a_core()).any(|(_, m)| matches!(m, Msg::AddDependent { .. }));
        assert_eq!(again, !commits);
    }
}

#[test]
fn bytes_past_the_caches_are_laid_over_those_that_a_core_has_changed() {
    let mut b = Bench::new(true);
    b.ask(0, Msg::GetM { line: LINE });
    b.heard.clear();
    b.send(1, Msg::NonTemporal { line: LINE, data: [8; 64], mask: 0b10 });
    b.next_for_a_core();
    reply(&mut b, 0, LINE, Some([6; 64]));
    assert!(b.next_for_a_core().is_none(), "memory tells the core");
    let [Msg::Write { data, mask, ack, .. }] = b.heard[..] else { panic!("{:?}", b.heard) };
    assert_eq!((data[0], data[1], data[2], mask, ack), (6, 8, 6, Mask::MAX, Some(1)));
    b.ask(0, Msg::GetS { line: LINE });
    assert_eq!(b.reads(), 1, "no cache has it");
}

#[test]
fn a_line_that_its_memory_wants_back_leaves_every_cache_and_its_bytes_go_first() {
    let mut b = Bench::new(true);
    b.ask(0, Msg::GetM { line: LINE });
    b.heard.clear();
    b.engine.out(CONTROLLER, b.now).send(PortId(0), Dur::ZERO, Msg::Recall { line: LINE });
    assert!(matches!(b.next_for_a_core(), Some((0, Msg::Snoop { kind: Snoop::Invalidate, .. }))));
    reply(&mut b, 0, LINE, Some([2; 64]));
    assert!(b.next_for_a_core().is_none());
    assert!(
        matches!(b.heard[..], [Msg::Write { data, .. }, Msg::Recalled { .. }] if data[0] == 2),
        "{:?}",
        b.heard
    );
}

#[test]
fn a_flush_of_volatile_memory_that_no_cache_has_changed_writes_nothing() {
    let mut b = Bench::new(true);
    let line = Line(5);
    for invalidate in [false, true] {
        assert!(matches!(b.ask(0, Msg::LineFlush { line, data: None, invalidate }), Msg::CleanAck { .. }));
    }
    assert!(b.next_for_a_core().is_none() && b.heard.is_empty(), "{:?}", b.heard);
}

/// What is refused of what the controller says after core 0 has read the line and its bytes have come.
fn refused(say: impl FnOnce(&mut Bench)) -> Option<String> {
    let mut b = Bench::new(true);
    b.ask(0, Msg::GetS { line: LINE });
    say(&mut b);
    assert!(b.next_for_a_core().is_none());
    b.engine.fault().map(|fault| {
        assert_eq!((fault.node, fault.heard_on), (DIRECTORY, Some(PortId(CORES as u8))));
        fault.what.clone()
    })
}

#[test]
fn an_answer_to_no_read_is_refused_and_changes_no_byte() {
    let answer = |line| Msg::ReadReply { line, data: [9; 64], waits: false };
    let text = "answered a read of the line at 0x10000000000 that nobody asked it for";
    assert_eq!(refused(|b| b.controller_says(answer(LINE))).as_deref(), Some(text), "a second one");
    assert!(refused(|b| b.controller_says(answer(Line(LINE.0 + 1)))).is_some(), "another line's");
    assert_eq!(refused(|_| ()), None);
    let mut b = Bench::new(true);
    b.ask(0, Msg::GetS { line: LINE });
    b.controller_says(answer(LINE));
    assert_eq!(b.directory.state.data(b.directory.state.find(LINE).unwrap()), &[7; 64]);
}

#[test]
fn word_of_a_durable_write_that_nobody_waits_for_is_refused() {
    let text = refused(|b| b.controller_says(Msg::Written { line: LINE })).expect("it is refused");
    assert!(text.starts_with("said that a write of the line at 0x"), "{text}");
}

#[test]
fn what_is_waited_for_is_told_with_the_controller_and_the_time() {
    let mut b = Bench::new(true);
    b.send(0, Msg::GetS { line: LINE });
    let mut msg = Msg::Wake;
    let (now, to, port) = b.engine.next(&mut msg).expect("the request");
    b.directory.on(now, port, &msg, &mut b.engine.out(to, now));
    let since = now + Dur::ns(10);
    assert_eq!(b.directory.awaited(), [Awaited::Read { line: LINE, controller: 0, since }]);
    b.next_for_a_core();
    assert_eq!(b.directory.awaited(), []);
}
