use super::{Directory, DirectorySpec};
use crate::CacheShape;
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use protocol::{AddressMap, Line, Msg, PM_BASE, line_of};
use units::{Dur, Time};

/// Node 0 is hart 0, node 1 the directory, node 2 the controller.
struct Bench {
    directory: Directory,
    engine: Engine<Msg>,
    reads: usize,
    now: Time,
}

impl Bench {
    fn new() -> Bench {
        let to = |n, port| Link { to: NodeId(n), port: PortId(port), latency: Dur::ns(5) };
        let links = vec![vec![to(1, 0)], vec![to(0, 0), to(2, 0)], vec![to(1, 1)]];
        let map = AddressMap { pm_controllers: 1, dram_controllers: 0, interleave_bytes: 4096 };
        let spec = DirectorySpec {
            harts: 1,
            shape: CacheShape { sets: 4, ways: 2, latency: Dur::ns(10) },
            latency: Dur::ns(10),
            snoop: Dur::ns(1),
            retry: Dur::ns(50),
            keeps_data: true,
            caches_persist: false,
        };
        Bench {
            directory: Directory::new(spec, map),
            engine: Engine::new(links, 0, Mode::Fast),
            reads: 0,
            now: Time::ZERO,
        }
    }

    /// Hart 0 sends; everybody answers at once; how many reads the controller has seen by the end.
    fn send(&mut self, msg: Msg) -> usize {
        self.engine.out(NodeId(0), self.now).send(PortId(0), Dur::ZERO, msg);
        let mut msg = Msg::Wake;
        while let Some((now, to, port)) = self.engine.next(&mut msg) {
            self.now = now;
            match (to, msg) {
                (NodeId(1), _) => self.directory.on(now, port, &msg, &mut self.engine.out(to, now)),
                (NodeId(2), Msg::Read { line }) => {
                    self.reads += 1;
                    let reply = Msg::ReadReply { line, data: [7; 64] };
                    self.engine.out(to, now).send(PortId(0), Dur::ZERO, reply);
                }
                (NodeId(0), Msg::Snoop { line, .. }) => {
                    let reply = Msg::SnoopReply { line, data: None, tag: None, held: false };
                    self.engine.out(to, now).send(PortId(0), Dur::ZERO, reply);
                }
                _ => {}
            }
        }
        self.reads
    }
}

const LINE: Line = Line(PM_BASE / 64);

#[test]
fn clwb_keeps_a_line_in_the_shared_cache_and_clflush_drops_it() {
    let mut b = Bench::new();
    assert_eq!(line_of(PM_BASE), LINE);
    assert_eq!(b.send(Msg::GetS { line: LINE }), 1);
    b.send(Msg::Clean { line: LINE, data: None, forget: false });
    assert_eq!(b.send(Msg::GetS { line: LINE }), 1, "it is there");
    b.send(Msg::Clean { line: LINE, data: None, forget: true });
    assert_eq!(b.send(Msg::GetS { line: LINE }), 2, "it comes from memory again");
}
