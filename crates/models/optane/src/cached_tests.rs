//! DRAM in front of a DIMM: what a hit, a miss and a changed line that makes way cost, and that every read is answered once.

use crate::tests::{at, line, plain};
use crate::{CacheSpec, CachedDimm, Dimm};
use memory::QueuedMedia;
use memory::ddr4::{BURST, Ddr4, Interleave, Spec};
use params::Tally;
use proptest::prelude::*;
use protocol::{Line, PM_BASE};
use units::{Dur, Time};

const LINES: u64 = 64;

fn dram_spec() -> Spec {
    Spec { controller: 16, ..Spec::DDR4_2933 }
}

fn cached() -> CachedDimm {
    let interleave = Interleave { first: PM_BASE / 64, lines: 64, channels: 1 };
    let spec = CacheSpec { lines: LINES, underway: 8, drain_threshold: 2, interleave };
    let dram = Ddr4::new(dram_spec(), Interleave { first: 0, lines: 1, channels: 1 }).unwrap();
    CachedDimm::new(spec, Box::new(dram), Dimm::new(plain()))
}

/// Asks for lines, each at its time in ns, as a controller does; gives when reads are answered, by tag, and what was counted.
fn served(asked: &[(u64, u64, bool)], looks: bool) -> (Vec<(u32, Time)>, Vec<u64>) {
    let mut device = cached();
    let mut answers = Vec::new();
    let mut now = Time::ZERO;
    for (tag, (ns, n, write)) in asked.iter().enumerate() {
        now = now.max(at(*ns));
        device.advance(now, &mut |tag, at| answers.push((tag, at)));
        while looks || !device.has_room(*write) {
            let next = device.look_at(true);
            if device.has_room(*write) && next > now {
                break;
            }
            now = now.max(next);
            device.advance(now, &mut |tag, at| answers.push((tag, at)));
        }
        let known = device.push(now, line(*n), *write, tag as u32);
        answers.extend(known.map(|at| (tag as u32, at)));
    }
    while device.look_at(false) != Time::NEVER && now < at(1_000_000) {
        now = device.look_at(false);
        device.advance(now, &mut |tag, at| answers.push((tag, at)));
    }
    answers.sort_unstable();
    (answers, counts(&device))
}

/// Read hits and misses, write hits and misses, lines written back, blocks that the DIMM read.
fn counts(device: &CachedDimm) -> Vec<u64> {
    let mut tally = Tally::default();
    device.stats(&mut tally);
    let of = |name: &str| tally.number(name) as u64;
    let cache = ["read_hits", "read_misses", "write_hits", "write_misses", "writebacks"];
    cache
        .map(|name| of(&format!("optane.cache.{name}")))
        .into_iter()
        .chain([of("optane.block_reads")])
        .collect()
}

/// A read of a closed row of the DRAM.
fn dram_read() -> Dur {
    let s = dram_spec();
    Dur::ps((s.rcd + s.cl + BURST + s.controller) * s.clock_ps)
}

/// Far enough that the DRAM has nothing to do, near enough that its row stays open; a column read then.
fn row_hit() -> Dur {
    let s = dram_spec();
    Dur::ps((s.cl + BURST + s.controller) * s.clock_ps)
}

#[test]
fn a_miss_takes_the_drams_time_and_the_dimms_and_the_next_read_of_the_line_the_drams_alone() {
    let (answers, counts) = served(&[(0, 0, false), (2_000, 0, false)], false);
    assert_eq!(answers[0], (0, Time::ZERO + dram_read() + Dur::ns(240)));
    let waited = answers[1].1.since(at(2_000));
    let clock = Dur::ps(dram_spec().clock_ps);
    assert!(waited >= row_hit() && waited <= row_hit() + clock, "{waited:?}");
    assert_eq!(counts, [1, 1, 0, 0, 0, 1]);
}

/// What an idle DRAM has refreshed meanwhile is done when the next request comes.
#[test]
fn a_read_takes_no_longer_the_longer_nobody_asked() {
    let refresh = Dur::ps((dram_spec().rfc + dram_spec().rp) * dram_spec().clock_ps);
    for pause in [20_000, 200_000, 900_000] {
        let (answers, counts) = served(&[(0, 0, false), (pause, 0, false)], false);
        let waited = answers[1].1.since(at(pause));
        assert!(waited <= refresh + dram_read() + Dur::ns(2), "{waited:?} after {pause} ns");
        assert_eq!(counts, [1, 1, 0, 0, 0, 1]);
        // The line that a miss brings in finds the DRAM as it is, too.
        let (answers, _) =
            served(&[(0, 0, false), (pause, LINES, false), (pause + 2_000, LINES, false)], false);
        let waited = answers[2].1.since(at(pause + 2_000));
        assert!(waited <= refresh + dram_read() + Dur::ns(2), "{waited:?} after {pause} ns and a miss");
    }
}

#[test]
fn who_asks_for_a_line_on_its_way_waits_for_it_and_it_is_fetched_once() {
    let (answers, counts) = served(&[(0, 0, false), (100, 0, false)], false);
    assert_eq!(answers[1].1, answers[0].1);
    assert_eq!(counts, [1, 1, 0, 0, 0, 1]);
}

#[test]
fn a_line_that_makes_way_is_written_back_where_it_has_changed_and_otherwise_not() {
    let far = [0, 3_000, 6_000];
    let reads = far.map(|ns| (ns, ns / 3_000 * LINES, false));
    assert_eq!(served(&reads, false).1[..5], [0, 3, 0, 0, 0]);
    let writes = far.map(|ns| (ns, ns / 3_000 * LINES, true));
    assert_eq!(served(&writes, false).1[..5], [0, 0, 0, 3, 2], "the last is still there");
    assert_eq!(served(&[(0, 0, true), (3_000, 0, true), (6_000, 0, false)], false).1[..5], [1, 0, 1, 1, 0]);
}

#[test]
fn dimms_fill_every_place_of_their_own_whatever_the_interleave() {
    let interleave = Interleave { first: 0, lines: 64, channels: 6 };
    let tags = crate::tags::Tags::new(LINES, interleave);
    // The pages of one DIMM of six.
    let own = (0..6).map(|page| page * 6 * 64).flat_map(|first| (first..first + 64).map(Line));
    let mut places: Vec<u64> = own.map(|line| tags.place(line).0).collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len() as u64, LINES);
}

proptest! {
    /// Whatever is asked, and however often somebody looks: each read is answered once and not before the DRAM can, each
    /// request is counted once, and no more goes back than was changed.
    #[test]
    fn every_read_is_answered_once(
        asked in prop::collection::vec((0..400_u64, 0..300_u64, any::<bool>()), 1..200)
    ) {
        let mut now = 0;
        let asked: Vec<_> = asked.into_iter().map(|(wait, n, write)| { now += wait; (now, n, write) }).collect();
        let (answers, counts) = served(&asked, false);
        let tags: Vec<u32> = answers.iter().map(|(tag, _)| *tag).collect();
        let reads: Vec<u32> = (0..).zip(&asked).filter(|(_, (.., write))| !write).map(|(tag, _)| tag).collect();
        prop_assert_eq!(tags, reads);
        for (tag, there) in &answers {
            let least = Dur::ps(dram_spec().controller * dram_spec().clock_ps);
            prop_assert!(*there >= at(asked[*tag as usize].0) + least);
        }
        let writes = asked.iter().filter(|(.., write)| *write).count() as u64;
        prop_assert_eq!([counts[0] + counts[1], counts[2] + counts[3]], [asked.len() as u64 - writes, writes]);
        prop_assert!(counts[4] <= writes);
        prop_assert_eq!(served(&asked, true), (answers, counts));
    }
}
