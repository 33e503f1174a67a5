use super::*;
use std::collections::HashMap;
use units::Random;

const GOLD: u64 = 0x9E37_79B9_7F4A_7C15;
const STREAM: u64 = 0xD1B5_4A32_D192_ED03;

fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// The reference streams: request `i` of a pattern, two reads for each write where `mixed`.
fn request(pattern: &str, mixed: bool, i: u64) -> Request {
    let draw =
        |stream: u64| mix(GOLD.wrapping_add(stream.wrapping_mul(STREAM)).wrapping_add(i.wrapping_mul(GOLD)));
    let line = if pattern == "seq" { i % (1 << 26) } else { draw(1) >> 38 };
    Request { line, write: mixed && draw(0) % 3 == 0, tag: i as u32 }
}

struct Run {
    read_ns: f64,
    gbps: f64,
}

/// Pushes `count` requests `gap` clocks apart, or as fast as the queues take them.
fn run(channel: &mut Channel, count: u64, gap: u64, next: impl Fn(u64) -> Request) -> Run {
    let (mut now, mut last, mut reads, mut sum) = (Time::ZERO, Time::ZERO, 0u64, 0u64);
    let clock = channel.spec().clock_ps;
    let mut arrived: HashMap<u32, Time> = HashMap::new();
    for i in 0..count {
        let request = next(i);
        now = now.max(Time::from_ps(i * gap * clock));
        let mut done = |d: Done, arrived: &mut HashMap<u32, Time>| {
            sum += (d.at - arrived.remove(&d.tag).unwrap()).as_ps();
            reads += 1;
            last = last.max(d.at);
        };
        channel.advance(now, &mut |d| done(d, &mut arrived));
        while !channel.has_room(request.write) {
            now = now.max(channel.next_at());
            if let Some(d) = channel.issue().and_then(|i| i.done) {
                done(d, &mut arrived);
            }
        }
        if !request.write {
            arrived.insert(request.tag, now);
        }
        if let Some(d) = channel.push(now, request).unwrap() {
            done(d, &mut arrived);
        }
    }
    channel.advance(Time::from_ps(now.ps() + 1_000_000), &mut |d| {
        sum += (d.at - arrived.remove(&d.tag).unwrap()).as_ps();
        reads += 1;
        last = last.max(d.at);
    });
    assert!(arrived.is_empty(), "every read is answered");
    Run {
        read_ns: sum as f64 / reads as f64 / 1e3,
        gbps: count as f64 * 64.0 / (last.max(now).ps() as f64 / 1e3),
    }
}

/// Refresh time of the comparison: 360 ns, as both references have it.
fn reference_spec(speed: &str) -> Spec {
    let s = if speed == "1600" { Spec::DDR4_1600 } else { Spec::DDR4_2400 };
    Spec { rfc: s.clocks(units::Dur::ns(360)), ..s }
}

/// Latency unloaded and lightly loaded within 3 %, bandwidth when saturated within 3 %, of Ramulator 2.1, whose address
/// mapping is the same; where the two references are further apart than that, between them. Latency at higher load
/// follows the depth of queues and is not compared.
#[test]
fn the_reference_streams_take_as_long_as_on_the_reference_simulators() {
    let table = include_str!("../../../../../validation/ddr4.csv");
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        let (speed, mixed, pattern, load) = (f[0], f[1] == "mix", f[2], f[3]);
        let number = |column: usize| f[column].parse::<f64>().unwrap();
        let (gap, count) = (f[4].parse().unwrap(), if load == "gap200" { 50_000 } else { 200_000 });
        if load == "gap8" {
            continue;
        }
        let mut channel = Channel::new(reference_spec(speed)).unwrap();
        let ours = run(&mut channel, count, gap, |i| request(pattern, mixed, i));
        let (got, theirs) = if load == "sat" { (ours.gbps, [7, 12]) } else { (ours.read_ns, [6, 11]) };
        let theirs = theirs.map(number);
        let (low, high) = (theirs[0].min(theirs[1]), theirs[0].max(theirs[1]));
        let near = (got / theirs[0] - 1.0).abs() < 0.03;
        assert!(near || (low < got && got < high), "{line}: {got}");
        compared += 1;
    }
    assert_eq!(compared, 24);
}

/// A busy channel's commands: short rows, both directions, enough banks.
fn busy(spec: Spec, seed: u64, count: u64) -> Channel {
    let mut channel = Channel::new(spec).unwrap();
    channel.keep_log();
    let mut random = Random::new(seed, 0);
    let lines: Vec<(u64, bool)> = (0..count)
        .map(|i| {
            let near = random.chance(700);
            let line = if near { i / 3 * 131 } else { random.below(channel.spec().lines()) };
            (line % channel.spec().lines(), random.chance(350))
        })
        .collect();
    let gap = seed % 3 * 7;
    run(&mut channel, count, gap, |i| Request {
        line: lines[i as usize].0,
        write: lines[i as usize].1,
        tag: i as u32,
    });
    channel
}

fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for spec in [Spec::DDR4_1600, Spec::DDR4_2400, Spec::DDR4_3200] {
        for (gigabits, ranks, postponed) in [(4, 1, 0), (8, 2, 4), (16, 4, 8)] {
            specs.push(Spec { ranks, postponed, ..spec.with_density(gigabits).unwrap() });
        }
    }
    specs
}

#[test]
fn every_command_is_legal_and_comes_as_early_as_each_rule_lets_it() {
    let mut tight = std::collections::BTreeSet::new();
    for (seed, spec) in (0..).zip(specs()) {
        let channel = busy(spec, seed, 6_000);
        let mut legality = Legality::new(spec);
        for c in channel.log() {
            // One clock earlier it would not have been: the rules under which the scheduler waited.
            if let Err(v) = legality.clone().take(&Command { clock: c.clock.saturating_sub(1), ..*c }) {
                tight.insert(v.rule);
                assert!(v.legal_from <= c.clock, "{v}");
            }
            legality.take(c).unwrap_or_else(|v| panic!("{v}"));
        }
    }
    let rules = [
        "one command a clock",
        "read to write",
        "tCCD_L",
        "tCCD_S",
        "tCS",
        "tFAW",
        "tRAS",
        "tRCD",
        "tRFC",
        "tRP",
        "tRP before REFRESH",
        "tRRD_L",
        "tRRD_S",
        "tRTP",
        "tWR",
        "tWTR_L",
        "tWTR_S",
    ];
    for rule in rules {
        assert!(tight.contains(rule), "{rule} never decided; those that did: {tight:?}");
    }
}

#[test]
fn refreshes_keep_their_average_and_are_put_off_no_longer_than_allowed() {
    for spec in specs() {
        let channel = busy(spec, 1, 20_000);
        for rank in 0..spec.ranks as u8 {
            let refresh = |c: &&Command| c.kind == Kind::Refresh && c.rank == rank;
            let clocks: Vec<u64> = channel.log().iter().filter(refresh).map(|c| c.clock).collect();
            let end = channel.log().last().unwrap().clock;
            assert!(
                clocks.len() as u64 + spec.postponed + 1 >= end / spec.refi,
                "{} refreshes",
                clocks.len()
            );
            // A refresh that is due waits for the rows to close, and for those of other ranks on the command bus.
            let slack = spec.ras + spec.rp + spec.wr + spec.cwl + BURST + 16;
            for (n, clock) in (1..).zip(clocks) {
                assert!(clock <= (n + spec.postponed) * spec.refi + slack, "refresh {n} at {clock}");
                assert!(clock >= n * spec.refi, "refresh {n} at {clock} was not due");
            }
        }
    }
}

#[test]
fn a_channel_sleeps_while_nothing_comes_and_wakes_in_time() {
    for spec in specs() {
        let (mut channel, mut legality) = (Channel::new(spec).unwrap(), Legality::new(spec));
        channel.keep_log();
        let mut tight = std::collections::BTreeSet::new();
        let mut now = Time::ZERO;
        for (n, pause_ns) in [0, 3, 1_000, 100_000, 40].into_iter().enumerate() {
            let request = Request { line: n as u64 * 1_000, write: false, tag: n as u32 };
            channel.push(now, request).unwrap();
            assert_eq!(channel.self_refresh(now), Err(WouldBlock), "a request waits");
            let done = std::iter::from_fn(|| Some(channel.issue()?.done)).flatten().next().unwrap();
            let slept = channel.self_refresh(done.at).unwrap();
            assert_eq!((channel.next_at(), channel.issue()), (Time::NEVER, None));
            now = slept + units::Dur::ns(pause_ns);
        }
        for c in channel.log() {
            if let Err(v) = legality.clone().take(&Command { clock: c.clock.saturating_sub(1), ..*c }) {
                tight.insert(v.rule);
            }
            legality.take(c).unwrap_or_else(|v| panic!("{v}"));
        }
        // Ranks go to sleep and wake one after the other: only one alone wakes as soon as it may.
        assert!(tight.contains("tXS") && (tight.contains("tCKESR") || spec.ranks > 1), "{tight:?}");
        assert_eq!(
            channel.log().iter().filter(|c| c.kind == Kind::Refresh).count(),
            0,
            "it refreshed itself"
        );
        let c = Command { kind: Kind::Activate, clock: 1 << 40, rank: 0, bank: 3, row: 1 };
        assert_eq!(legality.take(&c).unwrap_err().rule, "command in self-refresh");
    }
}

#[test]
fn after_all_banks_were_precharged_a_row_waits_for_trp_in_those_that_had_been_closed() {
    let spec = Spec { postponed: 4, ..Spec::DDR4_1600 };
    let (mut channel, mut legality) = (Channel::new(spec).unwrap(), Legality::new(spec));
    channel.keep_log();
    let clock = |clock: u64| Time::from_ps(clock * spec.clock_ps);
    let read = |line| Request { line, write: false, tag: 0 };
    channel.push(Time::ZERO, read(0)).unwrap();
    // Nobody waits when the refresh is due; when the rows are closed for it somebody comes, and it is put off.
    channel.advance(clock(spec.refi + 1), &mut |_| {});
    channel.push(clock(spec.refi + 2), read(LINES_PER_ROW)).unwrap();
    channel.advance(clock(spec.refi + 100), &mut |_| {});
    channel.log().iter().for_each(|c| legality.take(c).unwrap_or_else(|v| panic!("{v}")));
    let last = channel.log().iter().rfind(|c| c.kind == Kind::Activate).unwrap();
    assert_eq!((last.bank, last.clock), (1, spec.refi + spec.rp));
}

#[test]
fn a_read_of_a_closed_bank_takes_trcd_cl_and_a_burst() {
    let s = Spec::DDR4_1600;
    let mut channel = Channel::new(s).unwrap();
    assert_eq!(channel.push(Time::ZERO, Request { line: 5, write: false, tag: 9 }), Ok(None));
    assert_eq!(channel.next_at(), Time::ZERO);
    assert_eq!(channel.issue().unwrap().command.kind, Kind::Activate);
    assert_eq!(channel.next_at(), Time::from_ps(s.rcd * s.clock_ps));
    let at = Time::from_ps((s.rcd + s.cl + BURST + s.controller) * s.clock_ps);
    assert_eq!(channel.issue().unwrap().done, Some(Done { tag: 9, at }));
}

#[test]
fn a_read_finds_the_line_whose_write_waits_and_a_full_queue_refuses() {
    let mut channel = Channel::new(Spec { queue: 2, ..Spec::DDR4_1600 }).unwrap();
    let mut push = |line: u64, write: bool| channel.push(Time::ZERO, Request { line, write, tag: 0 });
    assert_eq!(push(7, true), Ok(None));
    assert_eq!(push(7, true), Ok(None));
    assert_eq!(push(1 << 20, true), Ok(None));
    assert_eq!(push(2 << 20, true), Err(WouldBlock));
    assert_eq!(push(7, false), Ok(Some(Done { tag: 0, at: Time::from_ps(1250) })));
}

#[test]
fn impossible_timing_names_the_key_and_its_bound() {
    let wrong = |spec: Spec| Channel::new(spec).map(|_| ()).unwrap_err();
    let s = Spec::DDR4_1600;
    assert_eq!(wrong(Spec { rfc: 6240, ..s }), "trfc = 6240: accepted are 1 to 6167");
    assert_eq!(wrong(Spec { refi: 40, ..s }), "trfc = 280 clocks: tREFI of 40 leaves no room for it");
    assert_eq!(wrong(Spec { ccd_l: 3, ..s }), "tccd_l = 3: accepted are 4 to 64");
    assert_eq!(wrong(Spec { queue: 0, ..s }), "queue = 0: accepted are 1 to 64");
    assert_eq!(wrong(Spec { ranks: 3, ..s }), "ranks = 3: accepted are 1, 2, 4");
    assert_eq!(wrong(Spec { rows: 12, ..s }), "rows = 12: accepted are powers of two");
    assert!(s.with_density(32).unwrap_err().contains("4, 8 or 16"));
}

/// A bank's need: what, from when on, for which request.
type Need = (u8, Kind, u64, u64);

/// The first command by comparing one bank after the other: its wait and its bank.
fn first_by_hand(needs: &[Need], rank: &BankSet, free: u64) -> Option<(i64, u8)> {
    let key = |&(bank, kind, from, sequence): &Need| {
        let by_rank = rank.allowed(kind).map_or(0, |a| a.low_clock(bank).wrapping_sub(free as u32) as i32);
        let wait = (from as i64 - free as i64).max(by_rank.into()).max(0);
        (wait, matches!(kind, Kind::Activate | Kind::Precharge), sequence, bank)
    };
    needs.iter().map(key).min().map(|(wait, _, _, bank)| (wait, bank))
}

#[test]
fn all_banks_at_once_need_what_one_after_the_other_do() {
    let s = Spec::DDR4_1600;
    let mut found = 0;
    for seed in 0..2_000 {
        let mut random = Random::new(seed, 4);
        // Beyond 32 bits too.
        let mut free =
            if seed % 2 == 0 { random.below(1 << 20) } else { (1 << 32) - 100 + random.below(200) };
        let (mut rank, mut window) = (BankSet::new(), Rank::new(s.refi));
        rank.refresh(free.saturating_sub(random.below(1000)), ALL, &s);
        for sequence in 0..20 {
            let bank = random.below(16) as u8;
            match random.below(3) {
                0 => rank.activate(free, bank, 0, window.activate(free, &s), &s),
                1 => rank.column(free, bank, random.chance(500), &s),
                _ => rank.precharge(free, bank, &s),
            }
            free += random.below(12);
            let kinds = [Kind::Activate, Kind::Precharge, Kind::Read, Kind::Write];
            let mut banks: Vec<_> = (0..16).filter(|_| random.chance(400)).collect();
            banks.truncate(random.below(16) as usize);
            let of: Vec<_> = banks
                .iter()
                .map(|&b| {
                    let kind = kinds[random.below(4) as usize];
                    let from = rank.bank_allows(b, kind).max(free + random.below(3) * random.below(40));
                    (b, kind, from, sequence * 100 + random.below(50) * 2 + u64::from(b % 2))
                })
                .collect();
            for &(bank, kind, from, sequence) in &of {
                rank.needs.set(bank as usize, kind, from, sequence, 0);
            }
            let set = of.iter().fold(0, |set, (bank, ..)| set | 1 << bank);
            let first = rank.first(set, free, 3_000);
            let first = (first.wait != NEVER).then_some((first.wait.into(), first.bank as u8));
            assert_eq!(first, first_by_hand(&of, &rank, free), "seed {seed}: {of:?}");
            found += usize::from(first.is_some());
        }
    }
    assert!(found > 10_000, "{found}");
}

#[test]
fn with_the_bank_group_on_top_of_an_address_streams_get_four_fifths_of_the_pins_at_most() {
    // Four streams, each in a row of its own, as threads make them.
    let stream = |i: u64| {
        let line = (i % 4) * 128 + i / 4 % 128 + i / 512 * 512;
        Request { line, write: false, tag: i as u32 }
    };
    let rate = |groups| {
        let spec = Spec { groups, ..Spec::DDR4_1600 };
        run(&mut Channel::new(spec).unwrap(), 20_000, 0, stream).gbps
    };
    let pins = 64.0 / (BURST as f64 * 1.25);
    let (above, below) = (rate(GroupBits::Top) / pins, rate(GroupBits::Rows) / pins);
    assert!(above < 0.8, "column commands of one group are tCCD_L apart: {above}");
    assert!(below > 1.15 * above, "{below} {above}");
}
