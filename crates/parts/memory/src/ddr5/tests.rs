use super::*;
use crate::controller::QueuedMedia;
use crate::ddr4::{Channel, Command, GroupBits, Interleave, Kind, Place, Request, Spec, Violation};
use protocol::Line;
use std::collections::{BTreeMap, BTreeSet};
use units::{Dur, Random, Time};

fn spec(gigabits: u64, refresh: Refresh) -> Spec {
    with(DDR5_4800, gigabits, refresh, Dur::ns(3900)).unwrap()
}

fn same_bank() -> Spec {
    spec(16, Refresh::SameBank)
}

fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for refresh in [Refresh::AllBanks, Refresh::SameBank] {
        for (gigabits, ranks, postponed) in [(16, 1, 0), (16, 2, 4), (32, 2, 0)] {
            for groups in [GroupBits::Lines, GroupBits::HashedLines, GroupBits::Rows] {
                specs.push(Spec { ranks, postponed, groups, ..spec(gigabits, refresh) });
            }
        }
    }
    specs
}

/// The log of a sub-channel under random traffic: rows of some lines, both directions, pauses with some seeds.
fn busy(spec: Spec, seed: u64, count: u64) -> Vec<Command> {
    let mut channel = Channel::new(spec).unwrap();
    channel.keep_log();
    let (mut random, mut now) = (Random::new(seed, 0), Time::ZERO);
    let mut near = 0;
    for tag in 0..count as u32 {
        if random.chance(300) {
            near = random.below(spec.lines());
        }
        let line = (near + random.below(40)) % spec.lines();
        let request = Request { line, write: random.chance(350), tag };
        now += Dur::ps(random.below(1 + seed % 3 * 40_000));
        channel.advance(now, &mut |_| {});
        while channel.push(now, request).is_err() {
            now = now.max(channel.next_at());
            channel.issue();
        }
    }
    channel.advance(now + Dur::ns(20_000), &mut |_| {});
    channel.log().to_vec()
}

#[test]
fn every_command_of_random_traffic_is_legal_and_comes_as_early_as_each_rule_lets_it() {
    let mut tight = BTreeSet::new();
    for (seed, spec) in (0..).zip(specs()) {
        let mut legality = Legality::new(spec);
        for c in busy(spec, seed, 4_000) {
            if let Err(v) = legality.clone().take(&Command { clock: c.clock.saturating_sub(1), ..c }) {
                tight.insert(v.rule);
                assert!(v.legal_from <= c.clock, "{v}");
            }
            legality.take(&c).unwrap_or_else(|v| panic!("{spec:?}: {v}"));
        }
    }
    let rules = [
        "read to write",
        "tCCD_L",
        "tCCD_L_WR",
        "tCCD_S",
        "tCCD_S between WRITEs",
        "tCS",
        "tFAW",
        "tPPD",
        "tRAS",
        "tRCD",
        "tREFSBRD",
        "tRFC",
        "tRFCsb",
        "tRFCsb between REFsb",
        "tRP",
        "tRP before REFRESH",
        "tRRD_L",
        "tRRD_L before REFsb",
        "tRTP",
        "tWR",
        "tWTR_L",
        "tWTR_S",
        "two clocks of a command",
    ];
    for rule in rules {
        assert!(tight.contains(rule), "{rule} never decided; those that did: {tight:?}");
    }
}

/// What a scheduler sends that has the numbers of `wrong` is found to break `rule` of `right`.
fn finds(right: Spec, wrong: Spec, rule: &str) {
    let broken = (0..6).find_map(|seed| {
        let mut legality = Legality::new(right);
        busy(wrong, seed, 3_000).iter().find_map(|c| legality.take(c).err())
    });
    assert_eq!(broken.map(|v: Violation| v.rule), Some(rule));
}

#[test]
fn a_scheduler_that_lacks_a_rule_is_found_out() {
    let (all, same) = (Spec { ranks: 2, ..spec(16, Refresh::AllBanks) }, Spec { ranks: 2, ..same_bank() });
    finds(all, Spec { ccd_l: all.ccd_s, ..all }, "tCCD_L");
    finds(all, Spec { ccd_l_wr: all.ccd_l, ..all }, "tCCD_L_WR");
    finds(all, Spec { rrd_l: all.rrd_s, ..all }, "tRRD_L");
    finds(all, Spec { rrd_s: 7, ..all }, "tRRD_S");
    finds(Spec { faw: 40, ..all }, all, "tFAW");
    finds(all, Spec { wtr_l: all.wtr_s, ..all }, "tWTR_L");
    finds(all, Spec { wtr_s: 1, ..all }, "tWTR_S");
    finds(all, Spec { rtp: 10, ..all }, "tRTP");
    finds(all, Spec { wr: 40, ..all }, "tWR");
    finds(all, Spec { rcd: 30, ..all }, "tRCD");
    finds(all, Spec { rp: 30, ..all }, "tRP");
    finds(all, Spec { ras: 60, ..all }, "tRAS");
    finds(all, Spec { turn: 2, ..all }, "read to write");
    finds(all, Spec { cs: 0, ..all }, "tCS");
    finds(all, Spec { command: 1, ..all }, "two clocks of a command");
    finds(all, Spec { rfc: all.rfc - 1, ..all }, "tRFC");
    finds(same, Spec { rfc: same.rfc - 1, ..same }, "tRFCsb");
    finds(same, Spec { same_bank: Some(0), ..same }, "tREFSBRD");
    finds(same, Spec { same_bank: None, ..same }, "REFab among REFsb");
}

/// A command to a bank, `bank` of `group`, at a clock.
fn at(clock: u64, kind: Kind, (group, bank): (u8, u8)) -> Command {
    Command { clock, kind, rank: 0, bank: group / 4 * 16 + bank * 4 + group % 4, row: 7 }
}

/// `later` is refused for `rule` one clock before `clock`, and taken then.
fn waits(spec: Spec, before: &[Command], later: Command, clock: u64, rule: &str) {
    let mut legality = Legality::new(spec);
    before.iter().for_each(|c| legality.take(c).unwrap_or_else(|v| panic!("{rule}: {v}")));
    let early = legality.clone().take(&Command { clock: clock - 1, ..later }).unwrap_err();
    assert_eq!((early.rule, early.legal_from), (rule, clock));
    legality.take(&Command { clock, ..later }).unwrap_or_else(|v| panic!("{v}"));
}

/// Clocks of 416 ps, from the times of the standard; none is taken from the specification that is checked.
#[test]
fn each_rule_is_kept_to_the_clock() {
    use Kind::{Activate, Precharge, PrechargeAll, PrechargeSame, Read, Refresh, RefreshSame, Write};
    let (all, same) = (DDR5_4800, same_bank());
    let open = [at(0, Activate, (0, 0))];
    // 16 ns, 32 ns, both; max(8 clocks, 5 ns); eight clocks.
    waits(all, &open, at(0, Read, (0, 0)), 39, "tRCD");
    waits(all, &open, at(0, Precharge, (0, 0)), 77, "tRAS");
    waits(all, &open, at(0, PrechargeAll, (3, 1)), 77, "tRAS");
    waits(all, &open, at(0, Activate, (0, 1)), 12, "tRRD_L");
    waits(all, &open, at(0, Activate, (4, 0)), 8, "tRRD_S");
    waits(all, &open, at(0, Activate, (1, 3)), 8, "tRRD_S");
    let closed = [open[0], at(77, Precharge, (0, 0))];
    waits(all, &closed, at(0, Activate, (0, 0)), 116, "tRP");
    waits(all, &closed, at(0, Refresh, (0, 0)), 116, "tRP before REFRESH");
    waits(same, &closed, at(0, RefreshSame, (0, 0)), 116, "tRP before REFRESH");
    waits(all, &closed, at(0, Precharge, (0, 1)), 79, "tPPD");
    // Four rows in max(32 clocks, 13.333 ns): three are tRRD_S and one clock apart.
    let four = [0, 8, 16, 24].map(|clock| at(clock, Activate, (clock as u8 / 8, 0)));
    waits(Spec { faw: 33, ..all }, &four, at(0, Activate, (5, 0)), 33, "tFAW");
    // Two rows of a group, one of another, long enough open.
    let rows = [at(0, Activate, (0, 0)), at(12, Activate, (0, 1)), at(24, Activate, (5, 1))];
    let then = |kind, clock| [&rows[..], &[at(clock, kind, (0, 0))]].concat();
    let (read, written) = (then(Read, 100), then(Write, 100));
    waits(all, &read, at(0, Read, (0, 1)), 112, "tCCD_L");
    waits(all, &read, at(0, Read, (5, 1)), 108, "tCCD_S");
    // max(16 clocks, 10 ns), of devices that have no read-modify-write.
    waits(all, &written, at(0, Write, (0, 1)), 124, "tCCD_L_WR");
    waits(all, &written, at(0, Write, (5, 1)), 108, "tCCD_S between WRITEs");
    // 38 clocks and a burst of eight, and max(16 clocks, 10 ns) or max(4 clocks, 2.5 ns).
    waits(all, &written, at(0, Read, (0, 1)), 170, "tWTR_L");
    waits(all, &written, at(0, Read, (5, 1)), 152, "tWTR_S");
    // 40 - 38 clocks and a burst of eight, two, and a preamble of two.
    waits(all, &read, at(0, Write, (5, 1)), 114, "read to write");
    // max(12 clocks, 7.5 ns); 38 clocks, a burst, 30 ns.
    waits(all, &read, at(0, Precharge, (0, 0)), 118, "tRTP");
    waits(all, &written, at(0, Precharge, (0, 0)), 218, "tWR");
    waits(all, &read, at(0, Precharge, (5, 1)), 102, "two clocks of a command");
    let idle = [at(0, Precharge, (0, 0))];
    waits(all, &idle, at(0, Activate, (0, 1)), 1, "one command a clock");
    // 295 ns; 130 ns, and 30 ns for the other banks.
    waits(all, &[at(0, Refresh, (0, 0))], at(0, Activate, (2, 2)), 708, "tRFC");
    let refreshed = [at(0, RefreshSame, (0, 2))];
    waits(same, &refreshed, at(0, Activate, (6, 2)), 312, "tRFCsb");
    waits(same, &refreshed, at(0, RefreshSame, (0, 1)), 312, "tRFCsb between REFsb");
    waits(same, &refreshed, at(0, Activate, (6, 1)), 72, "tREFSBRD");
    waits(same, &open, at(0, RefreshSame, (0, 2)), 12, "tRRD_L before REFsb");
    let all_of_one = [open[0], at(20, Activate, (6, 0)), at(97, PrechargeSame, (0, 0))];
    waits(same, &all_of_one, at(0, RefreshSame, (0, 0)), 136, "tRP before REFRESH");
}

#[test]
fn ranks_leave_two_clocks_between_their_bursts() {
    let of = |rank, c: Command| Command { rank, ..c };
    let two = Spec { ranks: 2, ..DDR5_4800 };
    let open = [at(0, Kind::Activate, (0, 0)), of(1, at(2, Kind::Activate, (0, 0)))];
    for (earlier, later, clock) in [
        (Kind::Read, Kind::Read, 110),
        (Kind::Write, Kind::Write, 110),
        (Kind::Read, Kind::Write, 112),
        (Kind::Write, Kind::Read, 108),
    ] {
        let before = [&open[..], &[at(100, earlier, (0, 0))]].concat();
        waits(two, &before, of(1, at(0, later, (0, 0))), clock, "tCS");
    }
}

#[test]
fn banks_in_the_wrong_state_are_told_of() {
    let says = |spec: Spec, commands: &[Command]| {
        let mut legality = Legality::new(spec);
        commands.iter().find_map(|c| legality.take(c).err()).map(|v| v.rule)
    };
    let open = at(0, Kind::Activate, (0, 0));
    let (all, same) = (DDR5_4800, same_bank());
    let later = |kind, place| [open, at(3000, kind, place)];
    assert_eq!(says(all, &later(Kind::Activate, (0, 0))), Some("ACTIVATE of an open bank"));
    assert_eq!(says(all, &later(Kind::Read, (4, 0))), Some("column command to a closed bank"));
    assert_eq!(says(all, &later(Kind::Refresh, (0, 0))), Some("REFRESH with an open bank"));
    assert_eq!(says(same, &later(Kind::RefreshSame, (0, 0))), Some("REFRESH with an open bank"));
    assert_eq!(says(same, &later(Kind::RefreshSame, (0, 1))), None, "the open bank is another");
    assert_eq!(says(all, &later(Kind::RefreshSame, (0, 1))), Some("REFsb without fine granularity"));
    assert_eq!(says(all, &later(Kind::SelfRefreshEntry, (0, 1))), Some("self-refresh"));
    let round = [0, 1, 2, 3, 1, 0, 0].map(|bank| bank as u8);
    let round: Vec<_> =
        (0..).zip(round).map(|(n, bank)| at(n * 1171, Kind::RefreshSame, (0, bank))).collect();
    assert_eq!(says(same, &round[..6]), None, "two rounds, each in an order of its own");
    assert_eq!(says(same, &round), Some("REFsb of a bank before the others'"));
}

#[test]
fn refreshes_keep_their_average_whatever_they_take_and_are_put_off_no_longer_than_allowed() {
    for spec in specs() {
        let log = busy(spec, 1, 12_000);
        let end = log.last().unwrap().clock;
        for rank in 0..spec.ranks as u8 {
            let is_refresh =
                |c: &&Command| matches!(c.kind, Kind::Refresh | Kind::RefreshSame) && c.rank == rank;
            let refreshes: Vec<&Command> = log.iter().filter(is_refresh).collect();
            assert!(refreshes.len() as u64 + spec.postponed + 1 >= end / spec.refi);
            // One that is due waits for rows to close, and for the other rank's on the command bus.
            let slack = spec.ras + 2 * spec.rp + spec.wr + spec.cwl + spec.burst + 32;
            for (n, c) in (1..).zip(&refreshes) {
                assert!(c.clock >= n * spec.refi, "refresh {n} at {} was not due", c.clock);
                assert!(c.clock <= (n + spec.postponed) * spec.refi + slack, "refresh {n} at {}", c.clock);
                let bank = if spec.same_bank.is_some() { (n - 1) % 4 * 4 } else { 0 };
                assert_eq!(u64::from(c.bank), bank, "each bank in its turn");
            }
        }
    }
}

#[test]
fn rows_that_are_opened_one_after_the_other_do_not_put_off_a_refresh_of_one_bank() {
    let spec = same_bank();
    let (mut channel, mut random, mut now) = (Channel::new(spec).unwrap(), Random::new(5, 0), Time::ZERO);
    channel.keep_log();
    for _ in 0..20_000 {
        let request = Request { line: random.below(spec.lines()), write: false, tag: 0 };
        while channel.push(now, request).is_err() {
            now = channel.next_at();
            channel.issue();
        }
    }
    let refreshes: Vec<u64> =
        channel.log().iter().filter(|c| c.kind == Kind::RefreshSame).map(|c| c.clock).collect();
    assert!(refreshes.len() > 100);
    for (n, clock) in (1..).zip(refreshes) {
        let late = clock - n * spec.refi;
        // Rows of its banks that were open close, and then nobody opens one before it.
        assert!(
            late <= spec.ras + spec.rp + spec.rrd_l + 2 * spec.command,
            "refresh {n}: {late} clocks late"
        );
    }
}

#[test]
fn while_one_bank_of_each_group_is_refreshed_the_others_are_served() {
    let served = |spec: Spec| {
        let log = busy(spec, 0, 12_000);
        let mut within = 0;
        let mut refreshing: Option<Command> = None;
        for c in &log {
            if matches!(c.kind, Kind::Refresh | Kind::RefreshSame) {
                refreshing = Some(*c);
            }
            let is_inside = refreshing.is_some_and(|r| c.clock < r.clock + spec.rfc);
            within += u64::from(is_inside && matches!(c.kind, Kind::Read | Kind::Write));
        }
        within
    };
    assert_eq!(served(spec(16, Refresh::AllBanks)), 0);
    assert!(served(same_bank()) > 1_000);
}

#[test]
fn lines_have_places_of_their_own_and_neighbours_are_in_groups_as_the_mapping_says() {
    for groups in [GroupBits::Lines, GroupBits::HashedLines, GroupBits::Rows] {
        let spec = Spec { groups, ranks: 2, rows: 4, ..DDR5_4800 };
        let places: BTreeSet<_> = (0..spec.lines())
            .map(|line| Place::of(line, &spec))
            .map(|p| (p.rank, p.bank, p.row, p.column))
            .collect();
        assert_eq!(places.len() as u64, spec.lines(), "{groups:?}");
        let group = |line| {
            let bank = Place::of(line, &spec).bank;
            (bank / 16, bank % 4)
        };
        let neighbours: BTreeSet<_> = (0..8).map(group).collect();
        assert_eq!(neighbours.len(), if groups == GroupBits::Rows { 1 } else { 8 });
    }
}

#[test]
fn what_is_far_apart_by_a_power_of_two_is_in_different_banks_where_these_are_hashed() {
    let banks = |groups| {
        let spec = Spec { groups, ..DDR5_4800 };
        // 16 MiB of a sub-channel, which is 64 of a program with two channels.
        (0..64).map(|n| Place::of(n << 18, &spec).bank).collect::<BTreeSet<_>>().len()
    };
    assert_eq!([GroupBits::Lines, GroupBits::Rows, GroupBits::HashedLines].map(banks), [1, 1, 32]);
}

#[test]
fn sixty_four_neighbours_get_the_pins_where_lines_are_in_groups_by_turns_and_two_thirds_where_rows_are() {
    let share = |groups| {
        let spec = Spec { groups, refi: 1 << 24, ..DDR5_4800 };
        let (mut channel, mut now) = (Channel::new(spec).unwrap(), Time::ZERO);
        for line in 0..4_000 {
            while channel.push(now, Request { line: line % 64, write: false, tag: 0 }).is_err() {
                now = channel.next_at();
                channel.issue();
            }
        }
        4_000.0 * 8.0 * 416.0 / now.ps() as f64
    };
    assert!(share(GroupBits::Lines) > 0.95, "{}", share(GroupBits::Lines));
    let rows = share(GroupBits::Rows);
    assert!((0.6..0.68).contains(&rows), "{rows}");
}

#[test]
fn a_read_of_a_closed_bank_is_there_after_trcd_cl_and_a_burst_in_whichever_sub_channel() {
    for line in [0, 1] {
        let mut ddr5 = Ddr5::new(DDR5_4800, Interleave { first: 0, lines: 4, channels: 1 }).unwrap();
        assert_eq!(ddr5.look_at(false), Time::NEVER);
        assert_eq!(ddr5.push(Time::ZERO, Line(line), false, 3), None);
        let mut done = Vec::new();
        ddr5.advance(Time::from_ps(39 * 416), &mut |tag, at| done.push((tag, at)));
        assert_eq!(done, [], "the READ goes at that clock");
        ddr5.advance(Time::from_ps(39 * 416 + 1), &mut |tag, at| done.push((tag, at)));
        // 16 ns, 40 clocks, eight, and one of the controller.
        assert_eq!(done, [(3, Time::from_ps((39 + 40 + 8 + 1) * 416))]);
    }
}

#[test]
fn sub_channels_share_nothing_and_take_turns() {
    let interleave = Interleave { first: 1000, lines: 4, channels: 2 };
    let mut ddr5 = Ddr5::new(DDR5_4800, interleave).unwrap();
    // Lines of channel 0 only: blocks of four, every second.
    let lines: Vec<u64> = (0..8).map(|n| 1000 + n / 4 * 8 + n % 4).collect();
    for (tag, line) in (0..).zip(&lines) {
        assert_eq!(ddr5.push(Time::ZERO, Line(*line), false, tag), None);
    }
    let mut done = BTreeMap::new();
    ddr5.advance(Time::from_ps(1 << 30), &mut |tag, at| _ = done.insert(tag, at));
    // Two and two come at the same time, eight clocks after the two before them: of another group each.
    let times: Vec<u64> = (0..8).map(|tag| done[&tag].ps() / 416 - 88).collect();
    assert_eq!(times, [0, 0, 8, 8, 16, 16, 24, 24]);
}

#[test]
fn impossible_numbers_name_the_key() {
    let wrong = |spec: Spec| Channel::new(spec).map(|_| ()).unwrap_err();
    assert_eq!(wrong(Spec { ranks: 4, ..DDR5_4800 }), "ranks = 4: accepted are 1 to 2");
    assert_eq!(wrong(Spec { ccd_l_wr: 8, ..DDR5_4800 }), "tccd_l_wr = 8: accepted are 12 to 64");
    assert!(with(DDR5_4800, 8, Refresh::AllBanks, Dur::ns(3900)).unwrap_err().contains("16 or 32"));
    let same = same_bank();
    // 1.95 us over four banks, 130 ns and 30 ns.
    assert_eq!((same.refi, same.rfc, same.same_bank), (1171, 312, Some(72)));
}
