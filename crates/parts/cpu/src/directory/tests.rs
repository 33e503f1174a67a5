use super::{Directory, DirectorySpec};
use crate::CacheShape;
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{AddressMap, Grant, Line, Mask, Msg, PM_BASE, Snoop};
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
            cores: CORES as u8,
            shape: CacheShape { sets: 4, ways: 2, latency: Dur::ns(10) },
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

    /// Runs until a core hears something, or all is quiet.
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
