use crate::params::WriteBack;
use crate::power::PowerSpec;
use crate::tags::Tags;
use crate::{Cmmh, CmmhSpec};
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use memory::Replacement;
use memory::ddr4::Spec;
use memory::nand::{Array, Collection, Errors, Ftl, FtlSpec, Geometry, MediaSpec, Timed};
use protocol::{Block, Drained, Line, Lost, Mask, Msg, Node, PM_BASE, PostCrash, View};
use units::{Dur, Random, Time};

const PAGES: u32 = 64;
const PAGE_NJ: u64 = 100_000;
/// A page from the NAND: firmware, array, channel.
const FETCH: Dur = Dur::ns(1000 + 20_000 + 5_000);

fn spec() -> CmmhSpec {
    CmmhSpec {
        base: PM_BASE,
        pages: PAGES,
        slots: 4,
        ways: 4,
        replacement: Replacement::Lru,
        tags: 8,
        tag: Dur::ns(500),
        channel: Spec { controller: 16, ..Spec::DDR4_2933 },
        channels: 2,
        acknowledge: Dur::ns(20),
        fills: 2,
        firmware: Dur::ns(1000),
        write_back: WriteBack::Buffered,
        write_buffer: 4,
        power: PowerSpec { saved_pages: 1 << 20, page_nj: PAGE_NJ },
    }
}

fn flash(errors: Errors) -> Ftl<Timed> {
    let geometry = Geometry { blocks: 16, pages_per_block: 16, page_bytes: 4096 };
    let spec =
        FtlSpec { geometry, host_pages: PAGES, collection: Collection::Greedy, reserve: 3, level_above: 0 };
    let media = MediaSpec {
        channels: 2,
        dies: 2,
        read: Dur::ns(20_000),
        program: Dur::ns(100_000),
        erase: Dur::ns(1_000_000),
        transfer: Dur::ns(5_000),
        suspends: true,
    };
    Ftl::new(spec, Timed::new(Array::new(geometry, errors, &[]), media).unwrap(), &[]).unwrap()
}

/// Line `n` of a page.
fn line(page: u64, n: u64) -> Line {
    Line(PM_BASE / 64 + page * 64 + n)
}

fn write(line: Line, value: u8) -> Msg {
    Msg::Write { line, data: [value; 64], mask: Mask::MAX, ack: Some(0), is_owned: true }
}

/// Node 0 is the host and a core, node 1 the device, both 1 ns apart.
struct Bench {
    engine: Engine<Msg>,
    device: Cmmh,
    sent: usize,
    answers: Vec<(Time, Msg)>,
}

impl Bench {
    fn new(spec: CmmhSpec) -> Bench {
        Bench::of(spec, Errors::default())
    }

    fn of(spec: CmmhSpec, errors: Errors) -> Bench {
        let to = |node| Link { to: NodeId(node), port: PortId(0), latency: Dur::ns(1) };
        let links = vec![vec![to(1)], vec![to(0), to(0)]];
        let engine = Engine::new(links, 0, Mode::Fast, Dur::ZERO);
        Bench { engine, device: Cmmh::new(spec, flash(errors)).unwrap(), sent: 0, answers: Vec::new() }
    }

    fn send(&mut self, at: Time, msg: Msg) {
        self.sent += 1;
        self.engine.out(NodeId(0), at).send(PortId(0), Dur::ZERO, msg);
    }

    /// Until nothing is left to do; gives when answers have come.
    fn run(&mut self) -> Vec<Time> {
        let (mut msg, mut times) = (Msg::Wake, Vec::new());
        while let Some((now, node, port)) = self.engine.next(&mut msg) {
            if node.0 == 1 {
                self.device.on(now, port, &msg, &mut self.engine.out(node, now));
            } else if !matches!(msg, Msg::Written { .. }) {
                self.answers.push((now, msg));
                times.push(now);
            }
        }
        times
    }

    /// One request alone; its time from the device's edge and back.
    fn time(&mut self, at: Time, msg: Msg) -> Dur {
        self.send(at, msg);
        let times = self.run();
        assert_eq!(times.len(), 1);
        times[0].since(at) - Dur::ns(2)
    }

    fn read(&mut self, at: Time, line: Line) -> Block {
        self.send(at, Msg::Read { line });
        self.run();
        let Some((_, Msg::ReadReply { data, .. })) = self.answers.pop() else { panic!("no answer") };
        data
    }
}

fn at(us: u64) -> Time {
    Time::ZERO + Dur::ns(us * 1000)
}

#[test]
fn a_tag_is_there_after_its_fetch_and_not_before_and_then_at_hand() {
    let mut tags = Tags::new(8, Dur::ns(500));
    assert_eq!(tags.look_up(at(1), 7), at(1) + Dur::ns(500));
    assert_eq!(tags.look_up(at(1) + Dur::ns(499), 7), at(1) + Dur::ns(500), "on its way");
    assert_eq!(tags.look_up(at(2), 7), at(2));
    (0..100).for_each(|page| _ = tags.look_up(at(3), 100 + page));
    assert_eq!(tags.look_up(at(4), 7), at(4) + Dur::ns(500), "pushed out");
}

#[test]
fn a_miss_takes_tag_firmware_array_and_channel_and_a_hit_what_dram_takes() {
    let mut bench = Bench::new(spec());
    let missed = bench.time(at(1), Msg::Read { line: line(3, 5) });
    let dram = missed - Dur::ns(500) - FETCH;
    assert!(dram >= Dur::ns(20) && dram <= Dur::ns(2000), "{dram:?}");
    let hit = bench.time(at(100), Msg::Read { line: line(3, 6) });
    assert!(hit >= Dur::ns(20) && hit <= Dur::ns(500), "{hit:?}");
    // Of a page whose tag has left, the same and the tag.
    (10..13).for_each(|page| _ = bench.time(at(200 + 100 * page), Msg::Read { line: line(page, 0) }));
    assert_eq!(bench.time(at(5000), write(line(3, 7), 1)), Dur::ns(20), "a write is taken at once");
}

#[test]
fn requests_of_a_page_on_its_way_join_it_and_one_beyond_the_fills_waits_its_turn() {
    let mut bench = Bench::new(spec());
    for msg in [line(0, 0), line(0, 1), line(1, 0), line(2, 0)].map(|line| Msg::Read { line }) {
        bench.send(at(1), msg);
    }
    let times = bench.run();
    assert_eq!(times.len(), 4);
    let first = times[0].since(at(1));
    assert!(first < FETCH + Dur::ns(2500));
    // Two dies: pages 0 and 1 come beside each other, page 2 is asked for when one of them is there.
    assert!(times[2].since(at(1)) < FETCH + Dur::ns(2500));
    assert!(times[3].since(at(1)) >= FETCH * 2, "{:?}", times[3]);
}

#[test]
fn what_was_written_comes_back_from_dram_and_from_the_nand() {
    let mut bench = Bench::new(spec());
    let (mut random, mut now) = (Random::new(3, 0), Time::ZERO);
    let mut wanted = vec![0_u8; 64 * 20];
    for n in 0..600_u64 {
        now += Dur::ns(10_000_000);
        let (page, own) = (random.below(20), random.below(64));
        let value = &mut wanted[(page * 64 + own) as usize];
        if random.chance(500) {
            *value = n as u8;
            bench.send(now, write(line(page, own), *value));
            bench.run();
        } else {
            assert_eq!(bench.read(now, line(page, own)), [*value; 64], "page {page}, line {own}");
        }
    }
    assert!(bench.device.ftl.counts().host_writes > 50, "pages went to the NAND and came back");
    let durable = after(&bench.device, View::Durable).parts.remove(0);
    assert!(durable == after(&bench.device, View::Visible).parts.remove(0), "all of it is saved");
    for (n, value) in (0..).zip(&wanted) {
        assert_eq!(durable.read(line(n / 64, n % 64)), [*value; 64]);
    }
}

/// A changed page that makes room: on its way beside the page that comes, or on the NAND before that is asked for.
#[test]
fn a_changed_page_that_makes_room_is_waited_for_where_it_goes_first() {
    // Its DRAM's clock is what times differ by besides.
    let clock = Dur::ns(1);
    let miss_behind_changed = |write_back| {
        let mut bench = Bench::new(CmmhSpec { slots: 1, ways: 1, write_back, ..spec() });
        let clean = [0, 1].map(|page| bench.time(at(1000 * (page + 1)), Msg::Read { line: line(page, 0) }));
        assert!(clean[0] <= clean[1] + clock && clean[1] <= clean[0] + clock, "one that was not is let go");
        bench.send(at(4000), write(line(1, 0), 1));
        bench.run();
        let took = bench.time(at(5000), Msg::Read { line: line(2, 0) });
        assert_eq!(bench.read(at(6000), line(1, 0)), [1; 64]);
        took + clock - clean[0]
    };
    // A page's way to its die and its program.
    let first = miss_behind_changed(WriteBack::First);
    assert!(first >= Dur::ns(105_000) && first <= Dur::ns(105_000) + clock * 2, "{first:?}");
    let buffered = miss_behind_changed(WriteBack::Buffered);
    assert!(buffered <= Dur::ns(5_000) + clock * 2, "{buffered:?}");
}

/// A set has no more slots than it may have, and no slot is in none.
#[test]
fn every_slot_holds_a_page_however_many_are_in_a_set() {
    for (slots, ways) in [(8, 5), (8, 3), (9, 4), (7, 7), (5, 1)] {
        let mut bench = Bench::new(CmmhSpec { slots, ways, ..spec() });
        for page in 0..u64::from(PAGES) {
            bench.read(at(1_000_000 * (page + 1)), line(page, 0));
        }
        assert_eq!(bench.device.pages.cache.pages().count() as u32, slots, "{slots} slots, {ways} in a set");
    }
}

fn after(device: &Cmmh, view: View) -> PostCrash {
    let mut left = PostCrash::new(false);
    device.post_crash(view, &mut left);
    left
}

#[test]
fn a_power_failure_saves_as_many_changed_pages_as_energy_lasts_for_and_names_the_others() {
    let mut bench = Bench::new(CmmhSpec { power: PowerSpec { saved_pages: 2, ..spec().power }, ..spec() });
    for page in 0..4 {
        bench.send(at(100 * page), write(line(page, 0), 1 + page as u8));
        bench.run();
    }
    bench.time(at(1000), Msg::Read { line: line(0, 1) });
    let left = after(&bench.device, View::Durable);
    assert_eq!(left.lost, [2, 3].map(|page| Lost::Page(PM_BASE + page * 4096)));
    let all = Drained { lines: 0, pages: [(PAGE_NJ, 4)].into() };
    assert_eq!(left.drained(), all, "what energy for all of it would have to save");
    let values = [0, 1, 2, 3].map(|page| left.parts[0].read(line(page, 0))[0]);
    assert_eq!(values, [1, 2, 0, 0], "the others are as the NAND has them");
}

#[test]
fn whoever_asks_for_more_than_there_is_is_answered_and_the_run_fails_with_the_key() {
    let mut bench = Bench::new(spec());
    assert_eq!(bench.read(at(1), line(u64::from(PAGES), 0)), [0; 64]);
    let failure = bench.device.failure().unwrap();
    assert!(failure.contains("0x40000") && failure.contains("cmmh.capacity_mib"), "{failure}");
}

#[test]
fn a_page_that_cannot_be_read_fails_the_run_by_its_address() {
    let errors = Errors { seed: 1, bits: 100_000_000, corrected: 1, ..Errors::default() };
    let mut bench = Bench::of(spec(), errors);
    for page in 0..6 {
        bench.send(at(1000 * page), write(line(page, 0), 1));
        bench.run();
    }
    bench.read(at(10_000), line(0, 0));
    let failure = bench.device.failure().unwrap();
    assert!(failure.contains("address 0x0 ") && failure.contains("corrected"), "{failure}");
}

/// What a flush of a line that no cache has changed sends.
fn empty(line: Line) -> Msg {
    Msg::Write { line, data: [0; 64], mask: 0, ack: Some(0), is_owned: true }
}

#[test]
fn a_flush_of_nothing_is_acknowledged_at_once_and_fetches_no_page() {
    let mut bench = Bench::new(spec());
    assert_eq!(bench.time(at(1), empty(line(3, 5))), Dur::ns(20));
    assert!(bench.device.pages.cache.find(3).is_none());
    // Of a page that is there, and of one that is on its way, too.
    bench.time(at(100), Msg::Read { line: line(3, 5) });
    assert_eq!(bench.time(at(200), empty(line(3, 5))), Dur::ns(20));
    bench.send(at(300), write(line(4, 0), 1));
    bench.send(at(301), empty(line(4, 1)));
    assert_eq!(bench.run()[0], at(301) + Dur::ns(22));
}

#[test]
fn a_flush_of_nothing_is_acknowledged_behind_writes_of_its_line_that_wait_for_their_page() {
    let mut bench = Bench::new(spec());
    // Two pages are on their way; the third waits for one of them.
    for page in 0..3 {
        bench.send(at(1), write(line(page, 0), 1));
        bench.send(at(2), empty(line(page, 0)));
    }
    bench.run();
    let Some(lines) = bench.answers.iter().map(|(_, msg)| answered(msg)).collect::<Option<Vec<_>>>() else {
        panic!("{:?}", bench.answers)
    };
    assert_eq!(lines, [0, 0, 1, 1, 2, 2].map(|page| line(page, 0)));
    assert!(bench.answers[0].0 >= at(1) + FETCH);
}

fn answered(msg: &Msg) -> Option<Line> {
    if let Msg::CleanAck { line } = *msg { Some(line) } else { None }
}
