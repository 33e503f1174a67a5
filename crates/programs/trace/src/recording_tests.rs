use super::*;
use crate::block::tests::any_record;
use crate::space::{LARGEST_FILE, file_address};
use crate::{FILE_SPACE, Places, Turns, write_block_file, write_parquet};
use proptest::prelude::*;

fn record(thread: u16, kind: Kind, stamp: u32) -> Record {
    Record { address: 8, value: 0, stamp, location: 0, instructions: 1, thread, kind, size: 8 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_recording_gives_what_its_trace_holds(
        threads in prop::collection::vec((0u16..5).prop_flat_map(any_record), 1..200),
        blocks: bool,
    ) {
        let mut trace = Trace::default();
        threads.into_iter().for_each(|r| trace.push(r));
        let bytes = if blocks { write_block_file(&trace) } else { write_parquet(&trace) }.unwrap();
        let recording = Recording::open(Box::new(bytes)).unwrap();
        let threads = trace.threads.iter().rposition(|t| !t.is_empty()).map_or(0, |t| t + 1);
        prop_assert_eq!(recording.threads(), threads);
        prop_assert_eq!(recording.len(), trace.len() as u64);
        prop_assert!(recording.in_order().eq(trace.in_order().copied()));
        prop_assert!(recording.records().eq(trace.records().copied()));
        for (t, records) in trace.threads.iter().enumerate() {
            prop_assert!(recording.thread(t).eq(records.iter().copied()));
        }
        prop_assert!(recording.failed().is_none());
    }
}

#[test]
fn no_access_crosses_a_line() {
    let mut trace = Trace::default();
    for (kind, at) in [(Kind::Rmw, 61), (Kind::Load, 0x7f), (Kind::Store, 56), (Kind::Clwb, 63)] {
        trace.push(Record { address: at, value: 0x1122, ..record(0, kind, 3) });
    }
    for bytes in [write_block_file(&trace).unwrap(), write_parquet(&trace).unwrap()] {
        let read = Recording::open(Box::new(bytes)).unwrap();
        let places: Vec<_> = read.in_order().map(|r| (r.kind, r.address, r.size)).collect();
        assert_eq!(places[..4], [(61, 2), (63, 1), (64, 4), (68, 1)].map(|(a, n)| (Kind::Rmw, a, n)));
        assert_eq!(read.thread(0).map(|r| r.instructions).sum::<u32>(), 4);
        assert!(read.records().all(|r| r.kind == Kind::Clwb || r.address % 64 + u64::from(r.size) <= 64));
    }
}

fn refusal(recording: Result<Recording, TraceError>) -> String {
    recording.err().expect("refused").to_string()
}

#[test]
fn accesses_without_bytes_are_refused() {
    for kind in [Kind::Load, Kind::Store, Kind::Rmw, Kind::Observed] {
        let trace =
            Trace { threads: vec![vec![Record { size: 0, ..record(0, kind, 1) }]], ..Trace::default() };
        let (name, table) = (kind.name(), write_parquet(&trace).unwrap());
        let text = format!("a record makes no sense: {name} at 0x8 of thread 0 is of no bytes: {SIZES}");
        assert_eq!(refusal(Recording::of_trace(trace)), text);
        let text = format!("row 0 of group 0: the size of a {name} is 0; {SIZES}");
        assert_eq!(refusal(Recording::open(Box::new(table))), text);
    }
    let trace =
        Trace { threads: vec![vec![Record { size: 0, ..record(0, Kind::Sfence, 1) }]], ..Trace::default() };
    let fence = Recording::open(Box::new(write_parquet(&trace).unwrap())).unwrap();
    assert_eq!(fence.records().map(|r| r.kind).collect::<Vec<_>>(), [Kind::Sfence]);
}

#[test]
fn accesses_over_the_end_of_memory_or_of_a_file_are_refused() {
    let last = file_address(3, LARGEST_FILE - 1);
    for (kind, address) in [(Kind::Load, u64::MAX), (Kind::Store, FILE_SPACE - 1), (Kind::Contents, last)] {
        let trace =
            Trace { threads: vec![vec![Record { address, ..record(0, kind, 1) }]], ..Trace::default() };
        for read in [write_block_file(&trace), write_parquet(&trace)] {
            let e = refusal(Recording::open(Box::new(read.unwrap())));
            let text = format!("{} at {address:#x} of thread 0 is of 8 bytes, more than there", kind.name());
            assert!(e.contains(&text), "{e}");
        }
        let mut trace = trace;
        trace.threads[0][0].size = 1;
        assert_eq!(Recording::of_trace(trace).unwrap().len(), 1);
    }
}

#[test]
fn the_highest_thread_number_is_read_and_every_thread_has_its_turns() {
    let mut trace = Trace::default();
    for (stamp, thread) in [(1, 65_535u16), (2, 3), (3, 65_535), (4, 3), (5, 3)] {
        trace.push(record(thread, Kind::Rmw, stamp));
        trace.push(record(thread, Kind::Load, 0));
    }
    let recording = Recording::open(Box::new(write_block_file(&trace).unwrap())).unwrap();
    assert_eq!(recording.threads(), 65_536);
    let mut turns = Turns::new(&recording, |r| (r.kind == Kind::Rmw).then_some(r.address));
    let mut of = |t| std::iter::from_fn(|| turns.next(t)).map(|(_, k)| k).collect::<Vec<_>>();
    assert_eq!(of(3), [1, 3, 4]);
    assert_eq!(of(65_535), [0, 2]);
    assert!(of(70_000).is_empty());
    assert_eq!((recording.counts().synchronised, recording.counts().kind(Kind::Load)), (1, 5));
}

#[test]
fn records_that_make_no_sense_are_refused() {
    for (kind, address, value) in [
        (Kind::Map, 0x1000, 1 << 60),
        (Kind::Unmap, u64::MAX, 4096),
        (Kind::Call, 0, 255),
        (Kind::Written, 0x1000, 4),
        (Kind::Contents, 0x1000, 4),
    ] {
        let mut trace = Trace::default();
        trace.push(Record { address, value, ..record(0, kind, 1) });
        let e = Recording::of_trace(trace).err().expect("refused").to_string();
        assert!(e.contains("makes no sense") && e.contains(kind.name()), "{e}");
    }
}

#[test]
fn threads_that_would_wait_for_ever_are_refused() {
    let of = |records: &[(u16, Kind, u64)]| {
        let mut trace = Trace::default();
        for (stamp, (thread, kind, value)) in records.iter().copied().enumerate() {
            trace.push(Record { value, ..record(thread, kind, stamp as u32) });
        }
        Recording::of_trace(trace).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(of(&[(0, Kind::Join, 0)]).contains("own end"));
    assert!(of(&[(0, Kind::Create, 0)]).contains("comes from"));
    assert!(of(&[(0, Kind::Create, 1), (1, Kind::Create, 0)]).contains("comes from"));
    assert!(of(&[(0, Kind::Join, 1), (1, Kind::End, 0)]).contains("comes after"));
    assert_eq!(of(&[(1, Kind::Start, 0), (0, Kind::Create, 1), (1, Kind::End, 0), (0, Kind::Join, 1)]), "");
    assert_eq!(of(&[(0, Kind::Create, 1 << 40), (0, Kind::Join, 9)]), "");
}

#[test]
fn a_thread_sees_what_all_mapped_before_its_own_place() {
    let mut trace = Trace::default();
    let mut push = |thread, kind, address, value, stamp| {
        trace.push(Record { address, value, ..record(thread, kind, stamp) });
    };
    push(0, Kind::Operand, 0, file_address(2, 0), 0);
    push(0, Kind::Map, 0x10000, 4096, 5);
    push(0, Kind::Unmap, 0x10000, 4096, 9);
    push(1, Kind::Rmw, 8, 0, 4);
    push(1, Kind::Rmw, 8, 0, 6);
    push(1, Kind::Rmw, 8, 0, 10);
    let recording = Recording::of_trace(trace).unwrap();
    let mut places = Places::new(&recording);
    let seen: Vec<_> = recording
        .thread(1)
        .map(|r| {
            places.follow(&r);
            places.place(0x10008).is_some()
        })
        .collect();
    assert_eq!(seen, [false, true, false]);
    let mut own = Places::new(&recording);
    let seen: Vec<_> = recording
        .thread(0)
        .map(|r| {
            own.follow(&r);
            own.place(0x10008).is_some()
        })
        .collect();
    assert_eq!(seen, [false, true, false]);
}
