use super::*;
use crate::about::File;
use proptest::prelude::*;

fn record(kind: Kind, address: u64, value: u64) -> Record {
    Record { address, value, stamp: 0, location: 0, instructions: 0, thread: 0, kind, size: 8 }
}

fn map(space: &mut Space, at: u64, bytes: u64, file: u32, offset: u64) {
    space.follow(&record(Kind::Operand, 0, file_address(file, offset)));
    space.follow(&record(Kind::Map, at, bytes));
}

#[test]
fn two_mappings_of_a_file_are_one_and_a_remap_keeps_the_file() {
    let mut s = Space::new();
    map(&mut s, 0x10000, 8192, 3, 4096);
    map(&mut s, 0x80000, 4096, 3, 4096);
    assert_eq!(s.place(0x10008), Some(file_address(3, 4104)));
    assert_eq!(s.place(0x10008), s.place(0x80008));
    s.follow(&record(Kind::Unmap, 0x10000, 8192));
    assert_eq!(s.place(0x10008), None);
    map(&mut s, 0x40000, 16384, 3, 4096);
    assert_eq!(s.place(0x43ff8), Some(file_address(3, 4096 + 0x3ff8)));
    assert_eq!(s.place(file_address(9, 5)), Some(file_address(9, 5)));
    assert_eq!(s.pieces(0x43ff8, 100), [(file_address(3, 4096 + 0x3ff8), 8)]);
}

#[test]
fn declared_memory_is_a_file_of_its_own_and_stays_what_it_is() {
    let mut s = Space::new();
    s.follow(&record(Kind::Map, 0x1040, 100));
    map(&mut s, 0x2000, 4096, 0, 0);
    s.follow(&record(Kind::Map, 0x1000, 0x3000));
    assert_eq!(s.place(0x1040), Some(file_address(MEMORY, 0x40)));
    assert_eq!(s.place(0x1000), Some(file_address(MEMORY + 1, 0)));
    assert_eq!(s.place(0x10a4), Some(file_address(MEMORY + 2, 0xa4)));
    assert_eq!(s.place(0x2010), Some(file_address(0, 0x10)));
    assert_eq!(s.place(0x3010), Some(file_address(MEMORY + 3, 0x10)));
    assert_eq!((s.place(0x4000), s.memories()), (None, 4));
}

#[test]
fn an_operand_is_its_own_threads_next_records() {
    let mut s = Space::new();
    s.follow(&record(Kind::Operand, 0, file_address(1, 0)));
    let other = Record { thread: 7, ..record(Kind::Map, 0x5000, 4096) };
    assert_eq!(s.follow(&other), None);
    assert_eq!(s.place(0x5000), Some(file_address(MEMORY, 0)));
    assert_eq!(s.follow(&record(Kind::Unseen, 0x5000, 0)), Some(file_address(1, 0)));
    s.follow(&record(Kind::Map, 0x9000, 4096));
    assert_eq!(s.place(0x9000), Some(file_address(MEMORY + 1, 0)));
}

#[test]
fn absurd_ranges_are_cut_and_nothing_overflows() {
    let mut s = Space::new();
    for (at, bytes) in [(0, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX - 5, 4), (FILE_SPACE - 1, 1 << 50)] {
        s.follow(&record(Kind::Map, at, bytes));
        map(&mut s, at, bytes, 5, LARGEST_FILE - 1);
        s.follow(&record(Kind::Unmap, at, bytes));
        for a in [0, 1, at, at.saturating_add(bytes), u64::MAX, FILE_SPACE, FILE_SPACE - 1, 1 << 63] {
            _ = s.place(a);
            _ = s.pieces(a, bytes);
            assert!(s.pieces(a, 0).len() <= 1);
        }
    }
}

#[test]
fn sizes_follow_writes_and_resizes() {
    let mut about = About::default();
    about.files.insert(2, File { identity: "1:2".into(), path: "a".into(), bytes: 100 });
    let mut sizes = Sizes::new(&about);
    let call =
        |c: Call, offset, bytes: u64| record(Kind::Call, file_address(2, offset), bytes << 8 | c as u64);
    let mut after = |c, offset, bytes| {
        sizes.follow(&call(c, offset, bytes));
        sizes.of(2)
    };
    assert_eq!(after(Call::Write, 10, 50), 100);
    assert_eq!(after(Call::Write, 90, 50), 140);
    assert_eq!(after(Call::Resize, 0, 7), 7);
    assert_eq!(after(Call::Allocate, 0, 4096), 4096);
    assert_eq!(after(Call::Fsync, 0, 1 << 20), 4096);
}

#[test]
fn files_lie_one_after_the_other_from_page_to_page() {
    let mut about = About::default();
    about.files.insert(1, File { identity: "1:1".into(), path: "a".into(), bytes: 5000 });
    about.files.insert(4, File { identity: "1:4".into(), path: "b".into(), bytes: 0 });
    let mut extents = Reached::new(&about);
    extents.follow(&record(Kind::Operand, 0, file_address(4, 0)));
    extents.follow(&record(Kind::Map, 0x10000, 1 << 40));
    extents.follow(&record(Kind::Store, 0x10ff8, 1));
    extents.follow(&record(Kind::Map, 0x8020, 8));
    let layout = Layout::new(&about, &extents.into_extents(), 1 << 30);
    let places: Vec<_> =
        layout.files().iter().map(|f| (f.path.as_str(), f.base - (1 << 30), f.bytes)).collect();
    assert_eq!(places, [("a", 0, 5000), ("b", 8192, 4096), ("memory 0", 12288, 40)]);
    assert_eq!(layout.end(), (1 << 30) + 16384);
    for (number, offset) in [(1, 0), (1, 4999), (4, 17), (MEMORY, 39)] {
        let compact = layout.compact(file_address(number, offset)).unwrap();
        assert_eq!(layout.file_space(compact), Some(file_address(number, offset)));
    }
    assert_eq!(layout.compact(file_address(1, 8192)), None);
    assert_eq!(layout.file_space(layout.end()), None);
    assert_eq!(layout.file_space(5), None);
}

/// What happens in units of a page: map (0, 1), declare (2), unmap (3).
fn any_step() -> impl Strategy<Value = (u8, u64, u64, u32, u64)> {
    (0u8..4, 0u64..40, 1u64..12, 0u32..3, 0u64..30)
}

proptest! {
    #[test]
    fn places_are_those_of_a_naive_map(steps in prop::collection::vec(any_step(), 1..60)) {
        let mut space = Space::new();
        let mut naive: Vec<Option<u64>> = vec![None; 64];
        let mut memories = 0;
        for (what, at, pages, file, offset) in steps {
            let range = at as usize..(at + pages) as usize;
            let (address, bytes) = (at * PAGE, pages * PAGE);
            match what {
                0 | 1 => {
                    map(&mut space, address, bytes - u64::from(what), file, offset * PAGE);
                    range.enumerate().for_each(|(i, p)| naive[p] = Some(file_address(file, (offset + i as u64) * PAGE)));
                }
                2 => {
                    space.follow(&record(Kind::Map, address, bytes));
                    let (mut free, mut first) = (false, 0);
                    for p in range {
                        if naive[p].is_some() {
                            free = false;
                            continue;
                        }
                        if !free {
                            (free, first) = (true, p);
                            memories += 1;
                        }
                        naive[p] = Some(file_address(MEMORY + memories - 1, (p - first) as u64 * PAGE));
                    }
                }
                _ => {
                    space.follow(&record(Kind::Unmap, address, bytes));
                    range.for_each(|p| naive[p] = None);
                }
            }
            for (p, expected) in naive.iter().enumerate() {
                for inside in [0, 17, PAGE - 1] {
                    let place = space.place(p as u64 * PAGE + inside);
                    prop_assert_eq!(place, expected.map(|e| e + inside), "page {}", p);
                }
            }
            let total: u64 = space.pieces(3, 64 * PAGE - 3).iter().map(|(_, n)| n).sum();
            let mapped = naive.iter().flatten().count() as u64 * PAGE;
            prop_assert_eq!(total, mapped - if naive[0].is_some() { 3 } else { 0 });
        }
    }
}
