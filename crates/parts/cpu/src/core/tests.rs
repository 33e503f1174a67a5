//! One core before a directory that answers after a fixed time: what each operation takes, and what it leaves.

use super::{Core, CoreSpec, FlushSpec, Program};
use crate::CacheShape;
use engine::{Device, Engine, Link, Mode, NodeId, PortId};
use proptest::prelude::*;
use protocol::{
    Block, Capabilities, CoreOrdering, Cpu, EpochId, FenceKind, Grant, Line, LineWrite, Mask, Msg, Node,
    Order, Outbox, PM_BASE, Peer, Snoop, StatSink, Tally, WouldBlock, messages, ports,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use units::{Dur, Time};

const CORE: NodeId = NodeId(0);
const DIRECTORY: NodeId = NodeId(1);
const WIRE: u64 = 4;
const ANSWER: u64 = 10;
const ISSUE: u64 = 1;
const L1: u64 = 2;
const L2: u64 = 5;
const INTERVAL: u64 = 3;
const LOCKED: u64 = 20;
const FLUSH: u64 = 7;
/// A load of a line that no cache of the core has: both levels are looked up, the directory is asked, and the load is made
/// again.
const MISS: u64 = L1 + L2 + WIRE + ANSWER + WIRE + L1;

/// A machine whose caches persist nothing, with flush instructions and nothing else.
struct Flushes;

impl CoreOrdering for Flushes {
    fn capabilities(&self) -> Capabilities {
        Capabilities { flush_instructions: true, fences: true, ..Capabilities::NONE }
    }

    fn store(&mut self, _: Time, _: &LineWrite, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        unreachable!("nothing is ordered")
    }

    fn fence(&mut self, _: Time, _: FenceKind, _: &mut Outbox) -> Result<(), WouldBlock> {
        unreachable!("nothing is ordered")
    }

    fn holds(&self, _: Line) -> bool {
        false
    }

    fn committed(&self) -> EpochId {
        0
    }

    fn on(&mut self, _: Time, _: Peer, msg: &Msg, _: &mut Outbox) {
        unreachable!("{msg:?} is for nobody")
    }

    fn next(&self) -> Time {
        Time::NEVER
    }

    fn tick(&mut self, _: Time, _: &mut Outbox) {}

    fn level(&self) -> usize {
        0
    }

    fn power_fail(&self, _: &mut dyn FnMut(Time, &LineWrite)) {}

    fn stats(&mut self, _: Time, _: &mut dyn StatSink) {}
}

fn spec() -> CoreSpec {
    CoreSpec {
        issue: Dur::ns(ISSUE),
        l1: CacheShape { sets: 1, ways: 2, latency: Dur::ns(L1), index: crate::Index::Modulo },
        l2: CacheShape { sets: 1, ways: 4, latency: Dur::ns(L2), index: crate::Index::Modulo },
        store_buffer: 2,
        store_prefetch: false,
        outstanding_writes: None,
        outstanding_misses: 2,
        outstanding_store_misses: 2,
        window_references: 100,
        store_interval: Dur::ns(INTERVAL),
        locked: Dur::ns(LOCKED),
        write_combining: 1,
        nontemporal_interval: Dur::ns(INTERVAL),
        flush: FlushSpec { issue: Dur::ns(FLUSH), overlap: true, beside_stores: None, invalidates: false },
        sfence_blocks: true,
        sfence_as: FenceKind::Sfence,
        uncached: Dur::ns(1),
        write_back_buffer: 2,
    }
}

/// What the directory hears, when.
type Heard = Vec<(Time, Msg)>;

struct Bench {
    core: Core,
    engine: Engine<Msg>,
    heard: Heard,
    memory: BTreeMap<u64, Block>,
    /// Snoops that the directory sends, at these times.
    snoops: Vec<(Time, Msg)>,
}

impl Bench {
    fn new(spec: CoreSpec, mode: Mode) -> Bench {
        let wire = |to, port| Link { to, port, latency: Dur::ns(WIRE) };
        let core = vec![wire(DIRECTORY, PortId(0)); 3];
        let links = vec![core, vec![wire(CORE, ports::DIRECTORY)]];
        Bench {
            core: Core::new(0, spec, Box::new(Flushes), 0),
            engine: Engine::new(links, 1, mode, Dur::ZERO),
            heard: Vec::new(),
            memory: BTreeMap::new(),
            snoops: Vec::new(),
        }
    }

    /// What memory holds where nothing was written: the line's number in each byte.
    fn block(&self, line: Line) -> Block {
        self.memory.get(&line.0).copied().unwrap_or([line.0 as u8; 64])
    }

    fn answer(&mut self, now: Time, msg: Msg) {
        self.heard.push((now, msg));
        let data = |line: Line| self.block(line);
        let answer = match msg {
            Msg::GetS { line } => {
                Some(Msg::Data { line, data: data(line), grant: Grant::Exclusive, tag: None })
            }
            Msg::GetM { line } => {
                Some(Msg::Data { line, data: data(line), grant: Grant::Modified, tag: None })
            }
            Msg::LineFlush { line, .. } | Msg::NonTemporal { line, .. } => Some(Msg::CleanAck { line }),
            Msg::PutM { .. }
            | Msg::SnoopReply { .. }
            | Msg::Drained { .. }
            | Msg::Untag { .. }
            | Msg::WriteBack { .. } => None,
            messages!(timers | grants | memory | ordering | uncached | near) => {
                protocol::unexpected("the directory", &msg)
            }
        };
        if let Msg::PutM { line, data } | Msg::LineFlush { line, data: Some(data), .. } = msg {
            self.memory.insert(line.0, data);
        }
        if let Msg::NonTemporal { line, data, mask } = msg {
            let mut whole = LineWrite { line, mask: Mask::MAX, data: self.block(line) };
            whole.merge(&LineWrite { line, mask, data });
            self.memory.insert(line.0, whole.data);
        }
        if let Some(answer) = answer {
            self.engine.out(DIRECTORY, now).send(PortId(0), Dur::ns(ANSWER), answer);
        }
    }

    fn run(&mut self, program: Program) {
        self.core.load(program);
        self.engine.out(CORE, Time::ZERO).wake(Time::ZERO, Msg::Wake);
        for (at, snoop) in std::mem::take(&mut self.snoops) {
            self.engine.out(DIRECTORY, Time::ZERO).send_at(at, PortId(0), snoop);
        }
        let mut msg = Msg::Wake;
        while let Some((now, to, port)) = self.engine.next(&mut msg) {
            match to {
                CORE => self.core.on(now, port, &msg, &mut self.engine.out(CORE, now)),
                _ => self.answer(now, msg),
            }
        }
        assert!(self.core.finished(), "the program ends");
    }

    /// When the directory hears of something.
    fn when(&self, what: impl Fn(&Msg) -> bool) -> Vec<Time> {
        self.heard.iter().filter(|(_, msg)| what(msg)).map(|(at, _)| *at).collect()
    }
}

fn line(n: u64) -> u64 {
    PM_BASE + 64 * n
}

fn ns(n: u64) -> Time {
    Time::ZERO + Dur::ns(n)
}

/// Runs a program on the usual core; gives the times in nanoseconds that it noted, and the bench.
fn times<F: Future<Output = ()> + 'static>(
    program: impl FnOnce(Cpu, Rc<RefCell<Vec<u64>>>) -> F,
) -> (Vec<u64>, Bench) {
    times_on(spec(), program)
}

fn times_on<F: Future<Output = ()> + 'static>(
    spec: CoreSpec,
    program: impl FnOnce(Cpu, Rc<RefCell<Vec<u64>>>) -> F,
) -> (Vec<u64>, Bench) {
    let mut bench = Bench::new(spec, Mode::Fast);
    let noted = Rc::new(RefCell::new(Vec::new()));
    bench.run(Box::pin(program(bench.core.cpu(), Rc::clone(&noted))));
    let noted = noted.borrow().clone();
    (noted, bench)
}

/// Nanoseconds of an operation; whole ones, or it is not what a test expects.
async fn took<T>(cpu: &Cpu, operation: impl Future<Output = T>) -> (u64, T) {
    let before = cpu.now();
    let value = operation.await;
    let picoseconds = (cpu.now() - before).as_ps();
    assert_eq!(picoseconds % 1000, 0);
    (picoseconds / 1000, value)
}

#[test]
fn a_load_takes_what_its_level_takes_to_the_picosecond() {
    let (noted, bench) = times(|cpu, noted| async move {
        for address in [line(0), line(0), line(1), line(2), line(0)] {
            let (time, value) = took(&cpu, cpu.load(address)).await;
            let byte = address / 64 % 256;
            assert_eq!(value, u64::from_le_bytes([byte as u8; 8]));
            noted.borrow_mut().push(time);
        }
    });
    // The first level has two places: line 0 is in the second when it is asked for last.
    assert_eq!(noted, [MISS, L1, MISS, MISS, L2]);
    assert_eq!(bench.heard.len(), 3);
    assert_eq!(bench.heard[0].0, ns(L1 + L2 + WIRE));
}

#[test]
fn a_load_has_its_value_from_stores_that_wait_or_puts_both_together() {
    let (noted, bench) = times(|cpu, noted| async move {
        cpu.load(line(0)).await;
        cpu.store_sized(line(1), 4, 0xAABB_CCDD).await;
        // All of it waits in the store buffer: the line is not needed.
        let (time, value) = took(&cpu, cpu.load_sized(line(1), 4)).await;
        assert_eq!(value, 0xAABB_CCDD);
        noted.borrow_mut().push(time);
        // Half of it does.
        let value = cpu.load(line(1)).await;
        let byte = u64::from(line(1) as u32 / 64 % 256);
        assert_eq!(value, 0xAABB_CCDD | (byte * 0x0101_0101) << 32);
    });
    assert_eq!(noted, [L1]);
    assert_eq!(bench.when(|m| matches!(m, Msg::GetS { .. } | Msg::GetM { .. })).len(), 2);
}

#[test]
fn an_mfence_waits_until_the_last_store_is_visible() {
    let (noted, _) = times(|cpu, noted| async move {
        cpu.load(line(0)).await;
        cpu.store(line(0), 1).await;
        let (time, _) = took(&cpu, cpu.fence(FenceKind::Mfence)).await;
        noted.borrow_mut().push(time);
        let (time, _) = took(&cpu, cpu.fence(FenceKind::Mfence)).await;
        noted.borrow_mut().push(time);
    });
    // The store may act one interval after it was issued, the fence one later, and it takes one; the store's issue is over by
    // the time that the fence begins.
    assert_eq!(noted, [3 * INTERVAL - ISSUE, INTERVAL]);
}

#[test]
fn a_flush_holds_nobody_up_until_a_fence() {
    let (noted, bench) = times(|cpu, noted| async move {
        cpu.load(line(0)).await;
        cpu.store(line(0), 7).await;
        let (time, _) = took(&cpu, cpu.clwb(line(0))).await;
        noted.borrow_mut().push(time);
        let (time, _) = took(&cpu, cpu.fence(FenceKind::Sfence)).await;
        noted.borrow_mut().push(time);
    });
    // The store acts an interval after its issue and makes room an interval later; the flush is in the core for its own time.
    let begun = MISS + INTERVAL + INTERVAL + FLUSH;
    let heard = bench.when(|m| matches!(m, Msg::LineFlush { data: Some(bytes), .. } if bytes[0] == 7));
    assert_eq!(heard, [ns(begun + WIRE)]);
    assert_eq!(noted[0], ISSUE);
    // The fence waits for the answer, and then takes an interval of its own.
    let fenced = begun + WIRE + ANSWER + WIRE + INTERVAL;
    assert_eq!(MISS + ISSUE + noted[0] + noted[1], fenced);
}

/// A core whose flushes and stores contend from so many flushes on, and whose stores ask ahead.
fn contending(beside_stores: Option<usize>) -> CoreSpec {
    let flush = FlushSpec { beside_stores, ..spec().flush };
    CoreSpec { store_buffer: 8, store_prefetch: true, flush, ..spec() }
}

#[test]
fn flushes_wait_for_each_other_only_beside_a_line_to_be_stored_to() {
    let heard = |beside_stores, stores: u64| {
        let (_, bench) = times_on(contending(beside_stores), |cpu, _| async move {
            for n in 0..3 {
                cpu.clwb(line(n)).await;
            }
            for n in 0..stores {
                cpu.store(line(8 + n), n).await;
            }
        });
        bench.when(|m| matches!(m, Msg::LineFlush { .. }))
    };
    let free = heard(None, 0);
    assert_eq!(heard(Some(1), 0), free, "no store, no contention");
    assert_eq!(heard(None, 1), free, "nothing bounds them");
    let bound = heard(Some(1), 1);
    // The first has nobody beside it; the second leaves when the first is answered, or the line is there.
    assert_eq!(bound[0], free[0]);
    assert!(bound[1] > free[1], "{bound:?} {free:?}");
}

#[test]
fn a_store_asks_for_its_line_when_the_flush_is_answered_and_not_before() {
    let (_, bench) = times_on(contending(Some(1)), |cpu, _| async move {
        cpu.clwb(line(0)).await;
        cpu.compute(Dur::ns(INTERVAL + FLUSH + 1)).await;
        cpu.store(line(8), 1).await;
    });
    let flushed = bench.when(|m| matches!(m, Msg::LineFlush { .. }));
    let asked = bench.when(|m| matches!(m, Msg::GetM { .. }));
    let answered = flushed[0] + Dur::ns(ANSWER + WIRE);
    assert_eq!(asked, [answered + Dur::ns(L1 + L2 + WIRE)]);
}

/// When stores to lines asked for them, and when flushes left; the lines are in the caches.
fn stores_to_flushed_lines(spec: CoreSpec) -> [Vec<Time>; 2] {
    let (_, bench) = times_on(spec, |cpu, _| async move {
        for n in 0..2 {
            cpu.store(line(n), n).await;
        }
        cpu.fence(FenceKind::Mfence).await;
        for n in 0..2 {
            cpu.clwb(line(n)).await;
        }
        for n in 0..2 {
            cpu.store(line(n), 3).await;
        }
    });
    let asked = bench.when(|m| matches!(m, Msg::GetM { .. }));
    [asked[2..].to_vec(), bench.when(|m| matches!(m, Msg::LineFlush { .. }))]
}

#[test]
fn a_store_asks_again_for_a_line_that_a_flush_drops() {
    let dropping = || {
        let free = contending(None);
        CoreSpec { flush: FlushSpec { invalidates: true, ..free.flush }, ..free }
    };
    let [asked, flushed] = stores_to_flushed_lines(dropping());
    assert_eq!(flushed.len(), 2);
    // Both ask before the first of them is visible.
    assert!(asked[1] < asked[0] + Dur::ns(ANSWER), "{asked:?}");
    let [asked, _] = stores_to_flushed_lines(CoreSpec { store_prefetch: false, ..dropping() });
    assert!(asked[1] > asked[0] + Dur::ns(ANSWER), "one after the other: {asked:?}");
    let [asked, _] = stores_to_flushed_lines(contending(None));
    assert!(asked.is_empty(), "a flush that keeps them: {asked:?}");
}

#[test]
fn the_oldest_store_asks_before_all_others() {
    let narrow = CoreSpec { outstanding_misses: 4, outstanding_store_misses: 1, ..contending(None) };
    let dropping = CoreSpec { flush: FlushSpec { invalidates: true, ..narrow.flush }, ..narrow };
    let (_, bench) = times_on(dropping, |cpu, _| async move {
        cpu.store(line(0), 1).await;
        cpu.fence(FenceKind::Mfence).await;
        cpu.clwb(line(0)).await;
        for n in [0, 8, 9] {
            cpu.store(line(n), 2).await;
        }
    });
    let line_asked = |msg: &Msg| if let Msg::GetM { line } = msg { Some(*line) } else { None };
    let asked = bench.heard.iter().filter_map(|(_, msg)| line_asked(msg));
    // The one behind asks while the first line is still here, and the next one not before that has come back.
    assert_eq!(asked.collect::<Vec<_>>(), [0, 8, 0, 9].map(|n| protocol::line_of(line(n))));
}

#[test]
fn stores_ask_for_as_many_lines_as_they_may() {
    let narrow = CoreSpec { outstanding_misses: 4, outstanding_store_misses: 1, ..contending(None) };
    let (_, bench) = times_on(narrow, |cpu, _| async move {
        cpu.store(line(0), 1).await;
        cpu.store(line(1), 1).await;
        cpu.prefetch(line(2)).await;
    });
    let asked = bench.when(|m| matches!(m, Msg::GetM { .. }));
    let loaded = bench.when(|m| matches!(m, Msg::GetS { .. }));
    // The second store waits for the first one's line, the load for nobody.
    assert_eq!(asked[1], asked[0] + Dur::ns(ANSWER + WIRE + L1 + L2 + WIRE));
    assert_eq!(loaded, [asked[0] + Dur::ns(2 * ISSUE)]);
}

#[test]
fn a_full_store_buffer_holds_the_program_up_until_its_head_is_visible() {
    let (noted, _) = times(|cpu, noted| async move {
        for n in 0..4 {
            let (time, _) = took(&cpu, cpu.store(line(n), n)).await;
            noted.borrow_mut().push(time);
        }
    });
    // The first store asks for its line when it is at the head, an interval after its issue.
    let visible = INTERVAL + L1 + L2 + WIRE + ANSWER + WIRE;
    assert_eq!(noted[..3], [ISSUE, ISSUE, visible - 2 * ISSUE + ISSUE]);
    // From then on one line after the other.
    assert_eq!(noted[3], INTERVAL + L1 + L2 + WIRE + ANSWER + WIRE);
}

#[test]
fn a_store_asks_for_its_line_as_soon_as_a_miss_register_is_free() {
    let wide = CoreSpec { store_buffer: 8, store_prefetch: true, ..spec() };
    let (_, bench) = times_on(wide, |cpu, _| async move {
        for n in 0..4 {
            cpu.store(line(n), n).await;
        }
    });
    let asked: Vec<Time> =
        bench.heard.iter().filter(|(_, msg)| matches!(msg, Msg::GetM { .. })).map(|(at, _)| *at).collect();
    let first = L1 + L2 + WIRE;
    let (again, late) = (first + ANSWER + WIRE + first, first + ISSUE);
    // Two registers: the third and the fourth store wait for the first and the second line, and not for their turn.
    assert_eq!(asked, [first, late, again, again + ISSUE].map(|n| Time::ZERO + Dur::ns(n)));
}

#[test]
fn touches_overlap_as_far_as_there_are_miss_registers() {
    let (noted, _) = times(|cpu, noted| async move {
        for n in 0..3 {
            let (time, _) = took(&cpu, cpu.prefetch(line(n))).await;
            noted.borrow_mut().push(time);
        }
    });
    let arrives = L1 + L2 + WIRE + ANSWER + WIRE;
    assert_eq!(noted, [ISSUE, ISSUE, arrives - 2 * ISSUE + ISSUE]);
}

#[test]
fn hits_and_misses_are_what_their_meanings_say() {
    let (_, mut bench) = times(|cpu, _| async move {
        // A miss, found once more when the line is there; a miss, and one that joins it; a hit.
        cpu.load(line(0)).await;
        cpu.prefetch(line(1)).await;
        cpu.prefetch(line(1)).await;
        cpu.load(line(0)).await;
    });
    let mut counted = Tally::default();
    bench.core.stats(bench.core.now(), &mut counted);
    let told = ["cpu.references", "cpu.l1.hits", "cpu.misses"].map(|name| counted.number(name) as u64);
    assert_eq!(told, [4, 2, 2]);
}

#[test]
fn the_window_ends_where_an_older_touch_still_waits() {
    let narrow = CoreSpec { window_references: 2, outstanding_misses: 8, ..spec() };
    let (noted, _) = times_on(narrow, |cpu, noted| async move {
        for n in 0..3 {
            let (time, _) = took(&cpu, cpu.prefetch(line(n))).await;
            noted.borrow_mut().push(time);
        }
    });
    let arrives = L1 + L2 + WIRE + ANSWER + WIRE;
    assert_eq!(noted, [ISSUE, ISSUE, arrives - 2 * ISSUE + ISSUE]);
}

#[test]
fn a_locked_operation_gives_the_old_value_and_writes_where_it_succeeds() {
    let (noted, _) = times(|cpu, noted| async move {
        cpu.store(line(0), 5).await;
        cpu.fence(FenceKind::Mfence).await;
        let (time, old) = took(&cpu, cpu.fetch_add(line(0), 2, Order::Plain)).await;
        assert_eq!(old, 5);
        noted.borrow_mut().push(time);
        assert_eq!(cpu.compare_exchange(line(0), 6, 9, Order::Plain).await, 7);
        assert_eq!(cpu.load(line(0)).await, 7, "it expected another value");
        assert_eq!(cpu.compare_exchange(line(0), 7, 9, Order::Plain).await, 7);
        assert_eq!(cpu.load(line(0)).await, 9);
    });
    assert_eq!(noted, [INTERVAL + LOCKED]);
}

#[test]
fn a_changed_line_that_leaves_takes_its_bytes_along() {
    let (_, bench) = times(|cpu, _| async move {
        cpu.store(line(0), 5).await;
        cpu.fence(FenceKind::Mfence).await;
        // The second level has four places.
        for n in 1..5 {
            cpu.load(line(n)).await;
        }
        assert_eq!(cpu.load(line(0)).await, 5, "from memory");
    });
    let put: Vec<&Msg> =
        bench.heard.iter().map(|(_, m)| m).filter(|m| matches!(m, Msg::PutM { .. })).collect();
    assert!(
        matches!(put[..], [Msg::PutM { line: l, data }] if l.0 == line(0) / 64 && data[0] == 5),
        "{put:?}"
    );
}

/// What left past the caches, in order: lines, and which of their bytes.
fn past_the_caches(bench: &Bench) -> impl Iterator<Item = (Line, u64)> {
    bench.heard.iter().filter_map(|(_, m)| {
        if let Msg::NonTemporal { line, mask, .. } = m { Some((*line, *mask)) } else { None }
    })
}

#[test]
fn stores_past_the_caches_leave_as_a_line_or_at_a_fence() {
    let (_, bench) = times(|cpu, _| async move {
        by_words(&cpu, 0, 3).await;
        cpu.store_nontemporal(line(1), 1).await;
        cpu.fence(FenceKind::Sfence).await;
    });
    let masks: Vec<u64> = past_the_caches(&bench).map(|(_, mask)| mask).collect();
    assert_eq!(masks, [u64::MAX, 0xFF]);
}

/// A line's words past the caches, one after the other.
async fn by_words(cpu: &Cpu, at: u64, value: u64) {
    for word in 0..8 {
        cpu.store_nontemporal(line(at) + 8 * word, value).await;
    }
}

#[test]
fn a_line_that_is_stored_whole_has_its_value_in_each_word() {
    const VALUE: u64 = 0x0123_4567_89AB_CDEF;
    let (_, bench) = times(|cpu, _| async move {
        cpu.store_line_nontemporal(line(0), VALUE).await;
        assert_eq!(cpu.load_sized(line(0) + 13, 2).await, 0x2345, "the store buffer has it");
        cpu.fence(FenceKind::Sfence).await;
    });
    assert_eq!(past_the_caches(&bench).collect::<Vec<_>>(), [(Line(line(0) / 64), u64::MAX)]);
    assert_eq!(bench.block(Line(line(0) / 64)).as_chunks().0, [VALUE.to_le_bytes(); 8]);
}

/// A core whose stores past the caches are made faster than the one that may be on its way is answered.
fn held_up() -> CoreSpec {
    let fast = Dur::ps(100);
    let buffers = CoreSpec { store_buffer: 16, write_combining: 2, outstanding_writes: Some(1), ..spec() };
    CoreSpec { nontemporal_interval: fast, store_interval: fast, issue: fast, ..buffers }
}

proptest! {
    /// Where issuing takes no time and the store buffer has room for all.
    #[test]
    fn a_line_that_is_stored_whole_leaves_when_its_words_would(
        lines in prop::collection::vec(0..3_u64, 1..12),
        buffers in 1..4_usize,
        outstanding in prop::option::of(1..3_usize),
    ) {
        let heard = |is_whole: bool| {
            let spec = CoreSpec {
                issue: Dur::ZERO,
                store_buffer: 128,
                write_combining: buffers,
                outstanding_writes: outstanding,
                nontemporal_interval: Dur::ns(3),
                ..spec()
            };
            let mut bench = Bench::new(spec, Mode::Fast);
            let (cpu, lines) = (bench.core.cpu(), lines.clone());
            bench.run(Box::pin(async move {
                cpu.load(line(0)).await;
                cpu.prefetch(line(1)).await;
                for (n, at) in lines.into_iter().enumerate() {
                    if is_whole {
                        cpu.store_line_nontemporal(line(at), n as u64).await;
                    } else {
                        by_words(&cpu, at, n as u64).await;
                    }
                }
                cpu.fence(FenceKind::Sfence).await;
            }));
            format!("{:?}", bench.heard)
        };
        prop_assert_eq!(heard(true), heard(false));
    }
}

/// Which lines left, in order, of whole ones that a program stores past the caches.
fn lines_past_the_caches(spec: CoreSpec, lines: &'static [u64]) -> Vec<u64> {
    let mut bench = Bench::new(spec, Mode::Fast);
    let cpu = bench.core.cpu();
    bench.run(Box::pin(async move {
        for n in lines {
            by_words(&cpu, *n, *n).await;
        }
        cpu.fence(FenceKind::Sfence).await;
    }));
    let whole = past_the_caches(&bench).inspect(|(_, mask)| assert_eq!(*mask, u64::MAX));
    whole.map(|(l, _)| l.0 - line(0) / 64).collect()
}

#[test]
fn a_whole_line_waits_for_the_store_behind_it_that_is_of_the_same_line() {
    let buffers = || CoreSpec { store_buffer: 16, write_combining: 2, ..spec() };
    assert_eq!(lines_past_the_caches(buffers(), &[0, 0, 1]), [0, 1]);
    assert_eq!(lines_past_the_caches(buffers(), &[0, 1, 0, 1]), [0, 1, 0, 1], "nothing held them up");
    assert_eq!(
        lines_past_the_caches(buffers(), &[0, 0, 0, 0, 0]),
        [0, 0, 0],
        "for one line's stores, not for more"
    );
}

#[test]
fn lines_that_may_not_leave_yet_collect_what_is_stored_to_them() {
    assert_eq!(lines_past_the_caches(held_up(), &[0, 1, 2, 1, 2]), [0, 1, 2]);
    let one = CoreSpec { write_combining: 1, ..held_up() };
    assert_eq!(
        lines_past_the_caches(one, &[0, 1, 2, 1, 2]).len(),
        5,
        "a third line finds no buffer, and waits"
    );
}

#[test]
fn a_fence_sends_no_more_lines_than_may_be_on_their_way() {
    let mut bench = Bench::new(held_up(), Mode::Fast);
    let cpu = bench.core.cpu();
    bench.run(Box::pin(async move {
        for n in 0..3 {
            cpu.store_nontemporal(line(n), n).await;
        }
        cpu.fence(FenceKind::Sfence).await;
    }));
    let heard: Vec<Time> = bench.heard.iter().map(|(at, _)| *at).collect();
    let apart = |pair: &[Time]| pair[1].since(pair[0]) >= Dur::ns(2 * WIRE);
    assert!(
        heard.len() == 3 && heard.windows(2).all(apart),
        "each behind the answer to the one before: {heard:?}"
    );
}

#[test]
fn a_snoop_takes_the_bytes_and_the_next_store_asks_for_the_line_again() {
    let mut bench = Bench::new(spec(), Mode::Fast);
    let gone = Line(line(0) / 64);
    bench.snoops = vec![
        (ns(500), Msg::Snoop { line: gone, kind: Snoop::Share }),
        (ns(1000), Msg::Snoop { line: gone, kind: Snoop::Invalidate }),
    ];
    let cpu = bench.core.cpu();
    bench.run(Box::pin(async move {
        cpu.store(line(0), 5).await;
        cpu.compute(Dur::ns(600)).await;
        assert_eq!(took(&cpu, cpu.load(line(0))).await, (L1, 5), "a shared line can be read");
        cpu.store(line(0), 6).await;
        cpu.compute(Dur::ns(600)).await;
        assert_eq!(cpu.load_sized(line(0) + 8, 1).await, line(0) / 64 % 256);
    }));
    let replies: Vec<Option<u8>> = bench
        .heard
        .iter()
        .filter_map(
            |(_, m)| if let Msg::SnoopReply { data, .. } = m { Some(data.map(|d| d[0])) } else { None },
        )
        .collect();
    assert_eq!(replies, [Some(5), Some(6)]);
    let asked = bench.when(|m| matches!(m, Msg::GetM { .. }));
    assert_eq!(asked.len(), 2, "once at first, once more because the line was shared");
}

#[path = "random_tests.rs"]
mod random_tests;
