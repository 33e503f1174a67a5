//! Recorded programs on machines: what computation, addresses, syncs, locks and threads cost.

use engine::Mode;
use machine::{
    CrashEvery, CrashPoint, Description, Fidelity, PRESETS, Report, RunOptions, WorkloadDescription,
    can_crash, run, run_with_crashes,
};
use trace::{Call, FILE_SHIFT, FILE_SPACE, Kind, Record, Recording, Trace};

const FILE: u64 = 0x7000_0000_0000;
const NODE: u64 = 64;

/// Writes recordings.
#[derive(Default)]
struct Writer {
    trace: Trace,
    stamp: u32,
}

impl Writer {
    /// One thread with a mapped file.
    fn new(bytes: u64) -> Writer {
        let mut w = Writer::default();
        w.put(0, Kind::Start, 0, 0, 0);
        w.put(0, Kind::Operand, 0, FILE_SPACE | 1 << FILE_SHIFT, 0);
        w.put(0, Kind::Map, FILE, bytes, 0);
        w.put(0, Kind::Load, FILE, 0, 1);
        w
    }

    fn put(&mut self, thread: u16, kind: Kind, address: u64, value: u64, instructions: u32) {
        self.stamp += u32::from(kind.has_stamp());
        let stamp = if kind.has_stamp() { self.stamp } else { 0 };
        let location = if matches!(kind, Kind::Lock | Kind::Unlock) { kind as u32 } else { 0 };
        self.trace.push(Record { address, value, stamp, location, instructions, thread, kind, size: 8 });
    }

    fn workload(&self) -> WorkloadDescription {
        WorkloadDescription::replay("t", Recording::of_trace(self.trace.clone()).unwrap())
    }
}

fn runs(machine: &str, w: &Writer, settings: &[(&str, &str)]) -> Report {
    let (mut machine, mut workload) = (Description::preset(machine).unwrap(), w.workload());
    for (key, value) in settings {
        if key.starts_with("workload.") {
            workload.set(key, value).unwrap();
        } else {
            machine.set(key, value).unwrap();
        }
    }
    let report =
        |mode| run(&machine, &workload, &RunOptions { seed: 1, mode, ..RunOptions::default() }).unwrap();
    let (fast, reference) = (report(Mode::Fast), report(Mode::Reference));
    assert_eq!(fast.to_json(), reference.to_json(), "both engines give the same");
    fast
}

fn ns(machine: &str, w: &Writer, settings: &[(&str, &str)]) -> f64 {
    runs(machine, w, settings).time.as_ns()
}

/// `count` persists with so many instructions between them.
fn persists(count: u64, instructions: u32) -> Writer {
    let mut w = Writer::new(1 << 20);
    for n in 0..count {
        let at = FILE + n % 64 * NODE;
        w.put(0, Kind::Store, at, n, instructions);
        w.put(0, Kind::Clwb, at, 0, 1);
        w.put(0, Kind::Sfence, 0, 0, 1);
    }
    w
}

#[test]
fn computation_takes_its_time() {
    let (little, much) = (persists(100, 1), persists(100, 30_001));
    let times = [&little, &much].map(|w| ns("intel", w, &[]));
    // 30,000 instructions at 1.5 a cycle of 0.5 ns.
    let each = (times[1] - times[0]) / 100.0;
    assert!((each - 10_000.0).abs() < 20.0, "{each} ns");
    let slow = ns("intel", &much, &[("cpu.ipc", "0.5")]);
    assert!((slow - times[0]) / (times[1] - times[0]) > 2.9, "{slow}");
    // What a machine can gain shrinks with the share of the work.
    let gain = |w: &Writer| ns("intel", w, &[]) / ns("eadr", w, &[]);
    assert!(gain(&little) > 1.5 && gain(&much) < 1.1, "{} {}", gain(&little), gain(&much));
}

/// A ring of nodes far from each other, made by stores, flushed, and walked; with `independent`, through an array.
fn chase(hops: u64, independent: bool) -> (Writer, Writer) {
    let (bytes, place) = (64 << 20, |n: u64| FILE + n * 7919 % hops * (64 << 20) / hops / NODE * NODE);
    let mut w = Writer::new(bytes);
    for n in 0..hops {
        w.put(0, Kind::Store, place(n), if independent { 1 } else { place(n + 1) }, 1);
        w.put(0, Kind::Clflushopt, place(n), 0, 1);
    }
    w.put(0, Kind::Mfence, 0, 0, 1);
    let built = Writer { trace: w.trace.clone(), stamp: w.stamp };
    (0..hops).for_each(|n| w.put(0, Kind::Load, place(n), 0, 1));
    (built, w)
}

#[test]
fn a_pointer_that_is_followed_costs_its_load_and_independent_loads_overlap() {
    let hops = 5000;
    let hop = |independent, settings: &[(&str, &str)]| {
        let (built, walked) = chase(hops, independent);
        (ns("intel", &walked, settings) - ns("intel", &built, settings)) / hops as f64
    };
    let dependent = hop(false, &[]);
    assert!((175.0..300.0).contains(&dependent), "{dependent} ns a hop");
    assert!(hop(true, &[]) < 40.0);
    assert!(hop(false, &[("workload.pointer_reach", "0")]) < 40.0);
}

#[test]
fn a_sync_flushes_what_was_changed_and_waits() {
    let mut w = Writer::new(1 << 20);
    for n in 0..50 {
        for line in 0..16 {
            w.put(0, Kind::Store, FILE + (n * 16 + line) % 256 * NODE, n + 1, 4);
        }
        let range = (1 << 20) << 8 | Call::Msync as u64;
        w.put(0, Kind::Call, FILE_SPACE | 1 << FILE_SHIFT, range, 20);
    }
    let (intel, eadr) = (runs("intel", &w, &[]), runs("eadr", &w, &[]));
    // Each waits at least until the last line is acknowledged.
    let more = intel.time.as_ns() - eadr.time.as_ns();
    assert!(more > 50.0 * 90.0, "{more}");
    let calls = eadr.time.as_ns() - ns("eadr", &w, &[("workload.syscall_ns", "0")]);
    // The first lines' misses pass under the first calls.
    assert!((20_000.0..25_100.0).contains(&calls), "{calls}");
    assert_eq!(intel.get("cpu.flushes"), Some(800.0));
    assert_eq!(intel.durable.number(protocol::PM_BASE, 8), intel.visible.number(protocol::PM_BASE, 8));
    assert_eq!(intel.visible.number(protocol::PM_BASE, 8), 49);
    let device = ns("intel", &w, &[("workload.sync", "page-cache")]);
    // A sync writes one page back, whose lines are next to each other, in 20 us.
    assert!((50.0 * 20_000.0..51.0 * 22_000.0).contains(&device), "{device}");
}

#[test]
fn a_sync_of_some_bytes_makes_their_pages_durable() {
    let mut w = Writer::new(1 << 20);
    for page in 0..2 {
        w.put(0, Kind::Store, FILE + page * 4096 + 64, 7 + page, 4);
    }
    // As behind a write of three bytes through a descriptor that was opened with O_DSYNC.
    w.put(0, Kind::Call, (FILE_SPACE | 1 << FILE_SHIFT) + 300, 3 << 8 | Call::Msync as u64, 20);
    let run = runs("intel", &w, &[]);
    let durable = [0, 1].map(|page| run.durable.number(protocol::PM_BASE + page * 4096 + 64, 8));
    assert_eq!(durable, [7, 0]);
}

/// Two threads under one lock, the first of them in all its turns before the other in the recording.
fn contenders(rounds: u64) -> Writer {
    let mut w = Writer::new(1 << 20);
    w.put(0, Kind::Create, 0, 1, 1);
    w.put(1, Kind::Start, 0, 0, 1);
    for thread in [1, 0] {
        for n in 0..rounds {
            w.put(thread, Kind::Lock, 0x1000, 0, 5);
            w.put(thread, Kind::Store, FILE + u64::from(thread) * NODE, n, 50);
            w.put(thread, Kind::Unlock, 0x1000, 0, 5);
            w.put(thread, Kind::Load, 0x9000 + u64::from(thread) * 4096, 0, 3000);
        }
    }
    w.put(1, Kind::End, 0, 0, 1);
    w.put(0, Kind::Join, 0, 1, 1);
    w
}

/// Two threads that persist lines of their own, in turn, each reading a word in between, which one of them may change.
fn neighbours(rounds: u64, changes: bool) -> Writer {
    let mut w = Writer::new(1 << 20);
    w.put(0, Kind::Create, 0, 1, 1);
    w.put(1, Kind::Start, 0, 0, 0);
    for n in 0..rounds {
        for thread in 0..2_u16 {
            let at = FILE + (u64::from(thread) << 16) + n % 64 * NODE;
            w.put(thread, Kind::Store, at, n + 1, 4);
            w.put(thread, Kind::Clwb, at, 0, 1);
            w.put(thread, Kind::Sfence, 0, 0, 1);
            let kind = if changes { Kind::Rmw } else { Kind::LoadAcquire };
            w.put(thread, kind, 0x2000, n, 4);
        }
    }
    w
}

#[test]
fn keeping_turns_orders_nothing_that_the_program_did_not() {
    for (machine, schedule) in [("asap-rp", "simulated"), ("asap-rp", "recorded"), ("asap-ep", "simulated")] {
        let settings = [("ordering.sfence", "ofence"), ("workload.schedule", schedule)];
        let dependences = |changes| {
            let report = runs(machine, &neighbours(500, changes), &settings);
            report.get("ordering.cross_dependences").unwrap() as u64
        };
        assert_eq!(dependences(false), 0, "{machine}, {schedule}: each read a word that nobody changes");
        assert!(dependences(true) > 100, "{machine}, {schedule}: each is ordered after the other");
    }
}

/// Two threads that load what they have stored after it has left the caches, and tell each other by such operations.
fn misread(kind: Kind) -> Writer {
    let mut w = Writer::new(1 << 21);
    w.put(0, Kind::Create, 0, 1, 1);
    w.put(1, Kind::Start, 0, 0, 0);
    for n in 0..60 {
        for thread in 0..2_u16 {
            let base = FILE + (u64::from(thread) << 20);
            w.put(thread, Kind::Store, base + n % 8 * NODE, n + 1, 1);
            for other in 0..100 {
                w.put(thread, Kind::Load, base + 0x10000 + (n * 100 + other) % 4000 * NODE, 0, 1);
            }
            w.put(thread, Kind::Load, base + n % 8 * NODE, 0, 1);
            w.put(thread, kind, 0x2000, n, 1);
        }
    }
    w
}

#[test]
fn turns_are_kept_by_cores_that_go_back() {
    let settings = [
        ("memory.controllers", "1"),
        ("l1.size_bytes", "1024"),
        ("l1.ways", "2"),
        ("l2.size_bytes", "1024"),
        ("l2.ways", "2"),
        ("llc.size_bytes", "4096"),
        ("llc.ways", "8"),
        ("ordering.speculation_window_ns", "5005"),
        ("ordering.persist_path_ns", "5000"),
    ];
    for kind in [Kind::StoreRelease, Kind::Rmw, Kind::LoadAcquire] {
        for schedule in ["recorded", "simulated"] {
            let all = [&settings[..], &[("workload.schedule", schedule)]].concat();
            let report = runs("pmem-spec", &misread(kind), &all);
            assert!(report.get("ordering.rollbacks").unwrap() > 1.0, "{kind:?}, {schedule}");
            assert_eq!(report.get("replay.turns_given_up"), None, "{kind:?}, {schedule}");
        }
    }
}

#[test]
fn locks_go_to_whoever_comes_first_in_simulated_time() {
    let w = contenders(200);
    let recorded = ns("asap-rp", &w, &[("workload.schedule", "recorded")]);
    let simulated = runs("asap-rp", &w, &[]);
    assert!(recorded > 1.8 * simulated.time.as_ns(), "{recorded} {:?}", simulated.time);
    assert_eq!(simulated.get("replay.turns_given_up"), None);
}

#[test]
fn a_lock_that_never_comes_back_is_given_up_and_counted() {
    // Thread 0 never gives its lock back, and thread 1 wants it.
    let mut w = Writer::new(1 << 20);
    w.put(0, Kind::Create, 0, 1, 1);
    w.put(1, Kind::Start, 0, 0, 1);
    w.put(0, Kind::Lock, 0x1000, 0, 1);
    w.put(0, Kind::Rmw, 0x2000, 1, 1);
    w.put(1, Kind::Rmw, 0x2000, 2, 1);
    w.put(1, Kind::End, 0, 0, 1);
    w.put(1, Kind::Lock, 0x1000, 0, 1);
    let report = runs("intel", &w, &[("workload.patience_ns", "1000")]);
    assert_eq!(report.get("replay.turns_given_up"), Some(1.0));
}

#[test]
fn a_wait_for_a_condition_ends_after_the_recorded_signal() {
    // Thread 0 waits (unlock and lock at one place); thread 1 computes long, takes the lock, changes something, gives it back.
    let mut w = Writer::new(1 << 20);
    w.put(0, Kind::Create, 0, 1, 1);
    w.put(1, Kind::Start, 0, 0, 1);
    w.put(0, Kind::Lock, 0x1000, 0, 1);
    w.put(0, Kind::Unlock, 0x1000, 0, 1);
    w.trace.threads[0].last_mut().unwrap().location = 77;
    w.put(1, Kind::Load, 0x5000, 0, 60_000);
    w.put(1, Kind::Lock, 0x1000, 0, 1);
    w.put(1, Kind::Unlock, 0x1000, 0, 1);
    w.put(0, Kind::Lock, 0x1000, 0, 1);
    w.trace.threads[0].last_mut().unwrap().location = 77;
    w.put(0, Kind::Unlock, 0x1000, 0, 1);
    w.put(0, Kind::Load, 0x7000, 0, 60_000);
    let together = ns("intel", &w, &[]);
    assert!(together > 39_000.0, "one after the other: {together}");
}

#[test]
fn five_thousand_threads_share_cores_and_sixty_five_at_once_are_refused() {
    let mut w = Writer::new(1 << 20);
    for thread in 1..5000 {
        w.put(0, Kind::Create, 0, thread.into(), 1);
        w.put(thread, Kind::Start, 0, 0, 1);
        w.put(thread, Kind::Store, FILE + u64::from(thread) * 8, thread.into(), 10);
        w.put(thread, Kind::End, 0, 0, 1);
        w.put(0, Kind::Join, 0, thread.into(), 1);
    }
    assert_eq!(w.workload().threads(), 2);
    let report = runs("eadr", &w, &[]);
    assert_eq!(report.durable.number(protocol::PM_BASE + 4999 * 8, 8), 4999);
    let mut at_once = Writer::new(1 << 20);
    for thread in 1..66 {
        at_once.put(0, Kind::Create, 0, thread.into(), 1);
        at_once.put(thread, Kind::Start, 0, 0, 1);
        at_once.put(thread, Kind::Load, FILE, 0, 1);
    }
    let machine = Description::preset("intel").unwrap();
    let refused = run(&machine, &at_once.workload(), &RunOptions::default()).err().map(|e| e.to_string());
    assert!(refused.unwrap().contains("66 of its 66 threads run at once; a machine has at most 64 cores"));
}

#[test]
fn what_a_shorter_file_lost_does_not_come_back() {
    let file = FILE_SPACE | 1 << FILE_SHIFT;
    let mut w = Writer::new(1 << 20);
    for at in [0, 64, 72, 4096] {
        w.put(0, Kind::Store, FILE + at, u64::MAX, 1);
    }
    w.put(0, Kind::Call, file, 74 << 8 | Call::Resize as u64, 1);
    w.put(0, Kind::Call, file, 8192 << 8 | Call::Resize as u64, 1);
    w.put(0, Kind::Call, file | 512, 8 << 8 | Call::Write as u64, 1);
    w.put(0, Kind::Written, file | 512, 9, 1);
    let report = runs("intel", &w, &[]);
    let word = |at| report.visible.number(protocol::PM_BASE + at, 8);
    assert_eq!([0, 64, 72, 4096, 512].map(word), [u64::MAX, u64::MAX, 0xFFFF, 0, 9]);
}

/// A log that is made empty at the end: until then a power failure leaves what it held, and nothing of that comes back.
#[test]
fn what_a_file_held_at_first_is_there_until_it_is_cut_off() {
    let file = FILE_SPACE | 1 << FILE_SHIFT;
    let mut w = Writer::new(1 << 20);
    [64, 72, 4096].into_iter().for_each(|at| w.put(0, Kind::Contents, file | at, 5, 0));
    let mut records = Vec::new();
    for bytes in [72, 8192] {
        for kind in [Kind::Store, Kind::Clwb, Kind::Sfence] {
            w.put(0, kind, FILE, bytes, 100);
        }
        w.put(0, Kind::Call, file, bytes << 8 | Call::Resize as u64, 1);
        records.push(w.trace.len() as u64);
    }
    w.put(0, Kind::Load, FILE, 0, 1000);
    for machine in ["intel", "bbb", "eadr", "asap-rp", "hops-ep"] {
        let (machine, mut points) = (Description::preset(machine).unwrap(), [0; 2]);
        let (workload, options) = (w.workload(), RunOptions::default());
        let mut look = |point: CrashPoint| {
            let word = |at| point.read(protocol::line_of(protocol::PM_BASE + at))[at as usize % 64];
            let expected = match point.passed[0] {
                passed if passed < records[0] => [5, 5, 5],
                passed if passed >= records[1] => [5, 0, 0],
                _ => return true,
            };
            assert_eq!([64, 72, 4096].map(word), expected, "{} at {}", machine.name, point.at);
            points[usize::from(expected[1] == 0)] += 1;
            true
        };
        run_with_crashes(&machine, &workload, &options, CrashEvery::Event, &mut look).unwrap();
        assert!(points.iter().all(|n| *n > 0), "{points:?}");
    }
}

#[test]
fn accesses_over_the_end_of_a_line_are_two() {
    let mut w = Writer::new(1 << 20);
    for (n, kind) in
        [Kind::Store, Kind::Rmw, Kind::StoreRelease, Kind::StoreNonTemporal].into_iter().enumerate()
    {
        w.put(0, kind, FILE + 60 + n as u64 * 128, 0x1122_3344_5566_7788, 1);
    }
    w.put(0, Kind::LoadAcquire, FILE + 60, 0, 1);
    w.put(0, Kind::Load, FILE + 61, 0, 1);
    let report = runs("bbb", &w, &[]);
    for n in 0..4 {
        assert_eq!(
            report.durable.bytes(protocol::PM_BASE + 60 + n * 128, 8),
            0x1122_3344_5566_7788_u64.to_le_bytes()
        );
    }
}

/// Windows of `inside` persists each; before each, and after the last, `outside` which are not of it.
fn windows(count: u64, outside: u64, inside: u64) -> Writer {
    let mut w = Writer::new(1 << 20);
    let persists = |w: &mut Writer, from: u64, n: u64| {
        for i in from..from + n {
            let at = FILE + i % 16 * NODE;
            w.put(0, Kind::Store, at, i, 100);
            w.put(0, Kind::Clwb, at, 0, 1);
            w.put(0, Kind::Sfence, 0, 0, 1);
        }
    };
    persists(&mut w, 0, 16);
    for _ in 0..count {
        persists(&mut w, 0, outside);
        w.put(0, Kind::Region, 0, 1, 0);
        persists(&mut w, 0, inside);
        w.put(0, Kind::Region, 0, 0, 0);
    }
    persists(&mut w, 0, outside);
    w
}

#[test]
fn what_lies_between_windows_is_not_counted() {
    for machine in ["intel", "asap-rp", "eadr", "nvdimmc-poc", "pberry"] {
        let [few, many] = [10, 500].map(|outside| runs(machine, &windows(8, outside, 100), &[]));
        for name in ["cpu.fences", "cpu.references", "cpu.stores"] {
            assert_eq!(few.get(name), many.get(name), "{machine}: {name}");
        }
        assert_eq!(many.get("cpu.fences"), Some(800.0), "{machine}");
        let (a, b) = (few.time.as_ns(), many.time.as_ns());
        assert!((a - b).abs() < a * 0.05, "{machine}: {a} ns and {b} ns");
        assert_eq!(many.get("sampling.windows"), Some(8.0), "{machine}");
        let mean = many.get("sampling.window_time").unwrap();
        assert!((mean * 8.0 - b).abs() < 1e-3 * b, "{machine}: {mean} ns of {b} ns");
        let spent: f64 = many.stats.iter().filter(|s| s.name.starts_with("time.")).map(|s| s.value).sum();
        assert!((spent - b).abs() < 1e-3 * b, "{machine}: causes are {spent} ns of {b} ns");
    }
}

#[test]
fn pages_count_a_region_alone_too() {
    let windows = |outside: u64, warm: u64| {
        let mut w = Writer::new(1 << 20);
        let stores = |w: &mut Writer, pages: std::ops::Range<u64>| {
            pages.for_each(|page| w.put(0, Kind::Store, FILE + page % 64 * 4096, page, 100));
        };
        stores(&mut w, 0..warm);
        for _ in 0..3 {
            stores(&mut w, 0..outside);
            w.put(0, Kind::Region, 0, 1, 0);
            stores(&mut w, 0..64);
            w.put(0, Kind::Region, 0, 0, 0);
        }
        stores(&mut w, 0..outside);
        w
    };
    for machine in ["amf", "unified", "tiering"] {
        let [few, many] = [2, 640].map(|outside| runs(machine, &windows(outside, 64), &[]));
        assert_eq!([&few, &many].map(|told| told.get("os.visits")), [Some(192.0); 2], "{machine}");
        assert_eq!([&few, &many].map(|told| told.get("os.minor_faults")), [Some(0.0); 2], "{machine}");
        assert!((few.time.as_ns() / many.time.as_ns() - 1.0).abs() < 0.05, "{machine}");
        assert_eq!(
            runs(machine, &windows(2, 0), &[]).get("os.minor_faults"),
            Some(62.0),
            "{machine}: none was warm"
        );
        let user = many.get("os.user_time").unwrap();
        assert!(user <= many.time.as_ns() && user > 0.9 * few.get("os.user_time").unwrap(), "{machine}");
    }
    // One thread begins windows, the other ends them; all is on one page, a stretch in each window.
    let two = runs("amf", &windows_of_two_threads([100, 100]), &[]);
    assert_eq!(two.get("os.visits"), Some(6.0));
    let (inside, all) = (two.time.as_ns(), 12.0 * 120.0 * 100.0 / 1.5 / 2.0);
    assert!((inside / all - 0.5).abs() < 0.05, "half of the instructions: {inside} ns of {all} ns");
}

/// Two threads, of which one says where six windows begin and the other where they end; instructions between their records.
fn windows_of_two_threads(between: [u32; 2]) -> Writer {
    let mut w = Writer::new(1 << 20);
    w.put(0, Kind::Create, 0, 1, 0);
    w.put(1, Kind::Start, 0, 0, 0);
    // Each has a line of its own, so that it may run far ahead of the other.
    let work = |w: &mut Writer| {
        for i in 0..60 {
            for thread in 0..2 {
                let at = FILE + u64::from(thread) * NODE;
                let kind = if i % 3 == 0 { Kind::Store } else { Kind::Load };
                w.put(thread, kind, at, i, between[usize::from(thread)]);
            }
        }
    };
    for window in 0..6 {
        work(&mut w);
        w.put(0, Kind::Region, 0, 2 * window + 1, 0);
        work(&mut w);
        w.put(1, Kind::Region, 0, 2 * window + 2, 0);
    }
    w
}

#[test]
fn windows_that_one_thread_begins_and_another_ends_are_all_counted() {
    for between in [[100, 140], [140, 100], [100, 1000], [1000, 100]] {
        for machine in ["intel", "asap-rp", "pberry"] {
            let told = runs(machine, &windows_of_two_threads(between), &[]);
            assert_eq!(told.get("sampling.windows"), Some(6.0), "{machine} {between:?}");
            // Where the one that ends them is ahead, it waits for their beginnings, and little is left of them.
            if between[0] < between[1] {
                assert!(told.get("cpu.references").unwrap() >= 6.0 * 60.0, "{machine}");
            }
            let time = told.time.as_ns();
            let spent: f64 = told.stats.iter().filter(|s| s.name.starts_with("time.")).map(|s| s.value).sum();
            assert!(
                (spent - 2.0 * time).abs() < 0.1 * time,
                "{machine} {between:?}: {spent} ns of {time} ns"
            );
        }
    }
}

#[test]
fn a_thread_that_waits_across_bounds_is_charged_for_what_lies_inside_alone() {
    let mut w = Writer::new(1 << 20);
    let work = |w: &mut Writer, thread, count: u64| {
        (0..count).for_each(|i| w.put(thread, Kind::Store, FILE + i % 16 * NODE, i, 100));
    };
    work(&mut w, 0, 50);
    w.put(0, Kind::Region, 0, 1, 0);
    w.put(0, Kind::Create, 0, 1, 0);
    w.put(1, Kind::Start, 0, 0, 0);
    work(&mut w, 1, 50);
    for (bound, count) in [(2, 900), (3, 50), (4, 900), (5, 50), (6, 100)] {
        w.put(1, Kind::Region, 0, bound, 0);
        work(&mut w, 1, count);
    }
    w.put(1, Kind::End, 0, 0, 0);
    w.put(0, Kind::Join, 0, 1, 0);
    work(&mut w, 0, 10);
    for machine in ["intel", "asap-rp"] {
        let told = runs(machine, &w, &[]);
        let time = told.time.as_ns();
        let spent: f64 = told.stats.iter().filter(|s| s.name.starts_with("time.")).map(|s| s.value).sum();
        assert!(time > 0.0 && (spent - 2.0 * time).abs() < 0.1 * time, "{machine}: {spent} ns of {time} ns");
    }
}

#[test]
fn nobody_is_told_of_a_mark_whose_fence_still_waits() {
    let mut w = Writer::new(1 << 20);
    for i in 0..40 {
        let at = FILE + 4096 + i * NODE;
        w.put(0, Kind::Store, at, i + 1, 3);
        w.put(0, Kind::Clwb, at, 0, 1);
        w.put(0, Kind::Sfence, 0, 0, 1);
        w.put(0, Kind::Mark, 0, i, 1);
    }
    let records: Vec<Record> = w.trace.records().copied().collect();
    let mut machine = Description::preset("intel").unwrap();
    machine.set("ordering.sfence_blocks", "stores").unwrap();
    let (mut points, mut told) = (0, 0);
    run_with_crashes(&machine, &w.workload(), &RunOptions::default(), CrashEvery::Events(3), &mut |point| {
        let marks =
            records.iter().take(point.passed[0] as usize).filter(|r| r.kind == Kind::Mark).count() as u64;
        points += 1;
        told = told.max(marks);
        for i in 0..marks {
            let block = point.read(protocol::line_of(protocol::PM_BASE + 4096 + i * NODE));
            assert_eq!(u64::from(block[0]), i + 1, "{marks} marks at {}", point.at);
        }
        true
    })
    .unwrap();
    assert!(points > 20 && told > 30, "{points}, {told}");
}

#[test]
fn the_error_of_sampling_is_that_of_the_windows_times() {
    let alike = runs("intel", &windows(8, 10, 100), &[]).get("sampling.error_percent").unwrap();
    assert!(alike < 1.0, "{alike} %");
    let mut w = windows(4, 10, 100);
    w.put(0, Kind::Region, 0, 1, 0);
    for i in 0..400 {
        w.put(0, Kind::Store, FILE + i % 16 * NODE, i, 100);
        w.put(0, Kind::Clwb, FILE + i % 16 * NODE, 0, 1);
        w.put(0, Kind::Sfence, 0, 0, 1);
    }
    w.put(0, Kind::Region, 0, 0, 0);
    // Four windows of about 1 and one of about 4: the mean is 1.6, its standard error 0.6.
    let unlike = runs("intel", &w, &[]).get("sampling.error_percent").unwrap();
    assert!((unlike - 37.5).abs() < 1.5, "{unlike} %");
    assert_eq!(runs("intel", &windows(1, 10, 100), &[]).get("sampling.windows"), None, "one is no sample");
    let adjoining = runs("intel", &windows(8, 0, 100), &[]);
    assert_eq!(adjoining.get("sampling.windows"), Some(8.0), "with nothing between them");
    assert_eq!(adjoining.get("cpu.fences"), Some(800.0));
}

#[test]
fn what_is_simulated_after_a_region_is_not_counted() {
    let w = windows(1, 300, 100);
    let all = RunOptions { seed: 1, ..RunOptions::default() };
    let short = RunOptions { without_images: true, ..all };
    let [whole, cut] = [all, short]
        .map(|options| run(&Description::preset("intel").unwrap(), &w.workload(), &options).unwrap());
    assert!(cut.references < whole.references, "the rest is simulated for its files alone");
    for name in ["cpu.fences", "cpu.references", "memory.writes"] {
        assert_eq!(whole.get(name), cut.get(name), "{name}");
    }
    assert_eq!(whole.time, cut.time);
}

/// Twenty stores and a long computation behind them; a region that begins before the stores, or after a computation like it.
fn stores_and_a_computation(stores_are_inside: bool) -> Writer {
    let mut w = Writer::new(1 << 20);
    if stores_are_inside {
        w.put(0, Kind::Region, 0, 1, 300_000);
    }
    (0..20).for_each(|i| w.put(0, Kind::Store, FILE + 4096 + i * NODE, i, 1));
    if !stores_are_inside {
        w.put(0, Kind::Region, 0, 1, 300_000);
    }
    w.put(0, Kind::Region, 0, 0, 300_000);
    w
}

#[test]
fn a_store_that_is_visible_long_before_a_bound_is_counted_before_it() {
    for machine in ["intel", "eadr", "bbb", "asap-rp", "hops-rp", "strandweaver", "ppa", "pmem-spec"] {
        for inside in [true, false] {
            let told = runs(machine, &stores_and_a_computation(inside), &[]);
            let expected = Some(if inside { 20.0 } else { 0.0 });
            for name in ["cpu.references", "cpu.pm_stores", "memory.reads"] {
                assert_eq!(told.get(name), expected, "{machine}, inside: {inside}: {name}");
            }
        }
    }
}

#[test]
fn what_is_under_way_at_the_end_of_a_region_is_counted_as_if_the_program_went_on() {
    let w = stores_and_a_computation(true);
    for machine in ["intel", "eadr", "asap-rp", "nvdimmc-poc"] {
        let machine = Description::preset(machine).unwrap();
        let [whole, cut] = [false, true].map(|without_images| {
            run(&machine, &w.workload(), &RunOptions { seed: 1, without_images, ..RunOptions::default() })
                .unwrap()
        });
        assert_eq!((whole.time, &whole.stats), (cut.time, &cut.stats), "{}", machine.name);
    }
}

/// A store to a mapped file, and loads of memory that no file is.
fn heap_and_file(pages: u64) -> Writer {
    let mut w = Writer::new(1 << 12);
    w.put(0, Kind::Store, FILE, 1, 1);
    (0..pages).for_each(|n| w.put(0, Kind::Load, 0x5500_0000_0000 + n * 4096, 0, 1));
    w
}

/// Which memory a program's addresses are in is not asked of it where none of them outlives a power failure.
#[test]
fn all_of_a_program_lies_in_memory_that_forgets_and_its_ranges_in_memory_that_does_not() {
    let w = heap_and_file(300);
    for preset in PRESETS {
        let machine = Description::preset(preset.name).unwrap();
        if machine.fidelity() != Fidelity::Line {
            continue;
        }
        let with = |settings: &[(&str, &str)]| {
            let mut workload = w.workload();
            settings.iter().for_each(|(key, value)| workload.set(key, value).unwrap());
            run(&machine, &workload, &RunOptions::default()).unwrap().to_json()
        };
        let [ranges, all] = ["ranges", "all"].map(|word| with(&[("workload.pm", word)]));
        assert_ne!(ranges["time_ns"], all["time_ns"], "{}: what is set is done", preset.name);
        let forgets = can_crash(&machine).is_err();
        assert_eq!(with(&[]), if forgets { all } else { ranges }, "{}", preset.name);
    }
    let one = |kind: &str| format!("[[memory]]\nkind = \"{kind}\"\n");
    let list = |kinds: [&str; 2]| {
        let text = "extends = \"intel\"\n".to_string() + &kinds.map(one).concat();
        let machine = Description::parse("list", "list.toml", &text).unwrap();
        let report = run(&machine, &w.workload(), &RunOptions::default()).unwrap().to_json();
        report["configuration"]["workload.pm"].clone()
    };
    assert_eq!([list(["ddr4", "pm"]), list(["ddr4", "ddr5"])], ["ranges", "all"]);
}

#[test]
fn a_program_without_a_persistent_range_runs_where_memory_forgets() {
    let mut w = Writer::default();
    w.put(0, Kind::Start, 0, 0, 0);
    w.put(0, Kind::Load, 0x5500_0000_0000, 0, 1);
    assert_eq!(runs("ddr5", &w, &[]).references, 1);
    let refused = |machine: &str, pm: &str| {
        let (machine, mut workload) = (Description::preset(machine).unwrap(), w.workload());
        workload.set("workload.pm", pm).unwrap();
        run(&machine, &workload, &RunOptions::default()).err().unwrap().to_string()
    };
    assert!(refused("intel", "auto").contains("--set workload.pm=all"));
    assert!(refused("ddr5", "ranges").contains("no persistent range"));
}
