//! A DIMM, to the picosecond: not before, and then; and what holds of any requests.

use crate::{Dimm, DimmSpec, TranslationSpec, WearSpec};
use memory::Media;
use proptest::prelude::*;
use protocol::{Line, PM_BASE};
use units::{Dur, Time};

fn spec() -> DimmSpec {
    DimmSpec {
        buffer_blocks: 4,
        bus: Dur::ns(3),
        line: Dur::ns(3),
        linger: Dur::ZERO,
        settle: Dur::ZERO,
        hit: Dur::ns(80),
        array: Dur::ns(160),
        read_service: Dur::ns(40),
        write_service: Dur::ns(110),
        ahead: Dur::ns(100),
        writes_ahead: Dur::ns(100),
        translation: TranslationSpec { pages: 8, miss: Dur::ns(50) },
        wear: WearSpec { writes: 100, stall: Dur::ns(50_000) },
    }
}

/// The spec without what the addresses of a test do not matter to.
pub(crate) fn plain() -> DimmSpec {
    DimmSpec { translation: TranslationSpec { pages: 8, miss: Dur::ZERO }, ..spec() }
}

pub(crate) fn line(n: u64) -> Line {
    Line(PM_BASE / 64 + n)
}

pub(crate) fn at(ns: u64) -> Time {
    Time::ZERO + Dur::ns(ns)
}

#[test]
fn a_block_is_read_once_and_its_other_lines_come_with_it() {
    let mut dimm = Dimm::new(plain());
    let first = dimm.read(at(0), line(0));
    assert_eq!((first.latency, first.bytes_read, first.hit), (Dur::ns(240), 256, Some(false)));
    // While the block is on its way its lines wait for it, and leave three nanoseconds apart; afterwards they take the buffer's time.
    assert_eq!(dimm.read(at(100), line(1)).latency, Dur::ns(143));
    let next = at(166);
    assert_eq!(dimm.read(next.just_before(), line(2)).latency, Dur::ns(80) + Dur::ps(1));
    let hit = dimm.read(at(169), line(3));
    assert_eq!((hit.latency, hit.bytes_read, hit.hit), (Dur::ns(80), 0, Some(true)));
}

#[test]
fn lines_of_one_block_leave_one_after_the_other_and_those_of_two_do_not_wait_for_each_other() {
    let mut dimm = Dimm::new(DimmSpec { line: Dur::ns(25), ..plain() });
    let latency = |dimm: &mut Dimm, n: u64| dimm.read(at(0), line(n)).latency;
    assert_eq!([0, 1, 3].map(|n| latency(&mut dimm, n)), [240, 265, 290].map(Dur::ns));
    assert_eq!([4, 5].map(|n| latency(&mut dimm, n)), [280, 305].map(Dur::ns));
}

#[test]
fn blocks_are_read_one_after_the_other_and_behind_a_write_that_has_begun() {
    let mut dimm = Dimm::new(plain());
    let latency = |dimm: &mut Dimm, n: u64| dimm.read(at(0), line(4 * n)).latency;
    assert_eq!([0, 1, 2].map(|n| latency(&mut dimm, n)), [240, 280, 320].map(Dur::ns));
    let mut dimm = Dimm::new(plain());
    for n in 0..4 {
        dimm.write(at(0), line(n));
    }
    // The whole block is written from 0 to 110.
    assert_eq!(dimm.read(at(1), line(40)).latency, Dur::ns(109 + 240));
}

#[test]
fn who_reads_a_block_that_is_whole_again_waits_until_its_former_contents_are_in_the_media() {
    let spec = DimmSpec { linger: Dur::ns(500), settle: Dur::ns(2000), ..plain() };
    let read_at = |ns: u64, whole: &[u64]| {
        let mut dimm = Dimm::new(spec);
        for (from, n) in whole.iter().flat_map(|from| (0..4).map(move |n| (*from, n))) {
            dimm.write(at(from), line(n));
        }
        dimm.read(at(ns), line(1)).latency
    };
    // It sets out at 500, is in the media at 2500, and is in the buffer until then.
    assert_eq!([499, 500, 2499].map(|ns| read_at(ns, &[0])), [80; 3].map(Dur::ns));
    assert_eq!([2500, 9000].map(|ns| read_at(ns, &[0])), [240; 2].map(Dur::ns));
    // Whole again at 600 it sets out at 2500.
    assert_eq!([600, 2499].map(|ns| read_at(ns, &[0, 600])), [1980, 81].map(Dur::ns));
    assert_eq!([2500, 4499, 4500].map(|ns| read_at(ns, &[0, 600])), [80, 80, 240].map(Dur::ns));
}

#[test]
fn what_is_written_again_before_a_block_has_left_goes_with_it() {
    let spec = DimmSpec { linger: Dur::ns(500), settle: Dur::ns(2000), ..plain() };
    let mut dimm = Dimm::new(spec);
    let mut written = |ns: u64| (0..4).map(|n| dimm.write(at(ns), line(n)).bytes_written).sum::<u64>();
    assert_eq!([0, 100, 499].map(&mut written), [256, 0, 0]);
    // Written again later, it sets out when what was there before is in the media.
    assert_eq!([1000, 1100, 2499].map(&mut written), [256, 0, 0]);
    assert_eq!(written(2500), 256);
}

#[test]
fn reads_go_before_writes_that_wait_unless_these_are_too_many() {
    let read_after = |blocks: u64, writes_ahead: u64| {
        let mut dimm = Dimm::new(DimmSpec { writes_ahead: Dur::ns(writes_ahead), ..plain() });
        for n in 0..4 * blocks {
            dimm.write(at(0), line(n));
        }
        dimm.read(at(1), line(100)).latency
    };
    // One write has begun; the others wait.
    assert_eq!([1, 2, 3].map(|blocks| read_after(blocks, 1000)), [109 + 240; 3].map(Dur::ns));
    assert_eq!(read_after(4, 200), Dur::ns(219 + 240));
}

#[test]
fn a_whole_block_is_written_at_once_and_a_part_of_one_when_it_has_to_leave() {
    let mut dimm = Dimm::new(plain());
    let written = |dimm: &mut Dimm, n: u64| dimm.write(at(0), line(n)).bytes_written;
    assert_eq!([0, 1, 2, 3].map(|n| written(&mut dimm, n)), [0, 0, 0, 256]);
    // Three halves and the block before fill the buffer; it is clean, and goes for nothing.
    assert_eq!([8, 12, 16, 20].map(|n| written(&mut dimm, n)), [0; 4]);
    assert_eq!(written(&mut dimm, 24), 256, "the least recently used half");
    assert_eq!(dimm.read(at(0), line(8)).bytes_written, 256, "a read makes room too");
}

#[test]
fn a_block_in_which_nobody_has_changed_bytes_is_written_and_told_apart() {
    let mut dimm = Dimm::new(plain());
    let mut noted = |n: u64| dimm.note(at(0), line(n)).bytes_noted;
    assert_eq!([0, 1, 2, 3].map(&mut noted), [0, 0, 0, 256]);
    assert_eq!([8, 9, 10].map(&mut noted), [0; 3]);
    let cost = dimm.write(at(0), line(11));
    assert_eq!((cost.bytes_written, cost.bytes_noted), (256, 0));
}

#[test]
fn a_place_whose_block_is_in_the_media_is_taken_before_one_that_has_a_block() {
    let written_at = |ns: u64| {
        let mut dimm = Dimm::new(DimmSpec { linger: Dur::ns(500), settle: Dur::ns(2000), ..plain() });
        // A half, the least recently used one; a block that is whole, and two more halves.
        for n in [8, 0, 1, 2, 3, 12, 16] {
            dimm.write(at(0), line(n));
        }
        [20, 24].map(|n| dimm.write(at(ns), line(n)).bytes_written)
    };
    assert_eq!(written_at(2499), [256, 0], "the half goes, and then the whole block, which has been written");
    assert_eq!(written_at(2500), [0, 256]);
}

#[test]
fn as_much_work_is_taken_ahead_as_it_says_and_no_more() {
    let mut dimm = Dimm::new(plain());
    assert_eq!(dimm.read(at(0), line(0)).busy, Dur::ns(3), "40 of work ahead");
    assert_eq!(dimm.read(at(0), line(4)).busy, Dur::ns(3));
    assert_eq!(dimm.read(at(0), line(8)).busy, Dur::ns(20), "120 of work, of which 100 are taken");
}

#[test]
fn another_page_takes_longer_until_it_is_at_hand() {
    let mut dimm = Dimm::new(spec());
    assert_eq!(dimm.read(at(0), line(0)).latency, Dur::ns(290));
    assert_eq!(dimm.read(at(1000), line(4)).latency, Dur::ns(240), "the same page");
    for page in 1..100 {
        dimm.read(at(page * 1000), line(64 * page));
    }
    assert_eq!(dimm.read(at(200_000), line(8)).latency, Dur::ns(290), "pushed out");
}

#[test]
fn a_place_is_moved_when_it_is_written_again_and_again_and_two_that_share_are_not() {
    let stalls = |places: u64, writes: u64| {
        let mut dimm = Dimm::new(plain());
        let mut stall = |n: u64| dimm.write(at(n * 1000), line(n % places * 1024)).busy >= Dur::ns(50_000);
        (0..writes).filter(|n| stall(*n)).count()
    };
    assert_eq!([stalls(1, 99), stalls(1, 100), stalls(1, 300)], [0, 1, 3]);
    assert_eq!([stalls(2, 3000), stalls(40, 3000)], [0, 0]);
}

proptest! {
    /// Whatever is asked: nothing comes before the buffer's time, the media work no faster than they can, and what was
    /// written is in the media or in the buffer.
    #[test]
    fn the_media_work_no_faster_than_they_can(
        asked in prop::collection::vec((any::<bool>(), 0..200_u64, 0..300_u64), 1..200)
    ) {
        let mut dimm = Dimm::new(plain());
        let (mut now, mut least, mut lines_written) = (Time::ZERO, Dur::ZERO, 0);
        let mut bytes_written = 0;
        for (writes, n, wait) in asked {
            let cost = if writes { dimm.write(now, line(n)) } else { dimm.read(now, line(n)) };
            prop_assert!(writes || cost.latency >= dimm.least_read());
            prop_assert!(cost.busy >= Dur::ns(3));
            let reads = cost.bytes_read / 256;
            least += Dur::ns(40) * reads + Dur::ns(110) * (cost.bytes_written / 256);
            bytes_written += cost.bytes_written;
            lines_written += u64::from(writes);
            now = now + cost.busy + Dur::ns(wait);
        }
        prop_assert!(now + Dur::ns(100) + Dur::ns(110) * 2 >= Time::ZERO + least, "{now:?} {least:?}");
        prop_assert!(bytes_written <= 256 * lines_written, "no block is written that nobody wrote to");
    }
}

#[test]
fn what_is_written_is_to_be_drained_until_it_is_in_the_media() {
    let mut dimm = Dimm::new(DimmSpec { linger: Dur::ns(760), settle: Dur::ns(3240), ..plain() });
    let unwritten = |dimm: &Dimm, now: Time| {
        let mut lines = Vec::new();
        dimm.each_unwritten(now, &mut |line| lines.push(line));
        lines.sort_unstable();
        lines
    };
    dimm.read(at(0), line(8));
    assert_eq!(unwritten(&dimm, at(10)), []);
    // One line of a block, and all of another.
    [1, 4, 5, 6, 7].iter().for_each(|n| _ = dimm.write(at(1000), line(*n)));
    let settled = at(1000) + Dur::ns(760 + 3240);
    assert_eq!(unwritten(&dimm, settled.just_before()), [1, 4, 5, 6, 7].map(line));
    assert_eq!(unwritten(&dimm, settled), [line(1)]);
    // Pushed out by others, of which a line each is written.
    let others: Vec<u64> = (3..7).map(|block| 4 * block).collect();
    others.iter().for_each(|n| _ = dimm.write(at(9000), line(*n)));
    let left = unwritten(&dimm, at(9000));
    assert!(!left.contains(&line(1)) && left.iter().all(|l| others.contains(&(l.0 - line(0).0))), "{left:?}");
}
