use super::*;
use crate::block::tests::any_record;
use crate::{Record, Trace, write_block_file};
use proptest::prelude::*;

fn recording(records: Vec<Record>) -> Option<Recording> {
    let mut trace = Trace { about: crate::about::tests::sample(), ..Trace::default() };
    records.into_iter().for_each(|r| trace.push(r));
    Recording::of_trace(trace).ok()
}

fn written(recording: &Recording, parquet: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    if parquet {
        recording.write_parquet(&mut bytes).unwrap();
    } else {
        recording.write_blocks(&mut bytes).unwrap();
    }
    bytes
}

fn described(bytes: Vec<u8>) -> Option<Described> {
    Recording::described(Box::new(bytes)).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_file_says_what_a_full_read_finds(records in prop::collection::vec(any_record(2), 1..80)) {
        let Some(recording) = recording(records) else { return Ok(()) };
        for parquet in [false, true] {
            let bytes = written(&recording, parquet);
            let read = Described::of(&Recording::open(Box::new(bytes.clone())).unwrap());
            prop_assert_eq!(described(bytes), Some(read));
        }
    }

    #[test]
    fn a_damaged_file_says_nothing_or_what_it_said(
        records in prop::collection::vec(any_record(1), 1..40), place in 0.0f64..1.0, byte: u8, cut: bool
    ) {
        let Some(recording) = recording(records) else { return Ok(()) };
        let mut bytes = written(&recording, false);
        let at = (bytes.len() as f64 * place) as usize;
        if cut {
            bytes.truncate(at);
            prop_assert_eq!(described(bytes), None);
        } else {
            bytes[at] = byte;
            if let Some(found) = described(bytes) {
                prop_assert_eq!(found.summary, Described::of(&recording).summary);
            }
        }
    }

    #[test]
    fn texts_that_are_no_summary_are_refused(text in "(threads|kind|call|range|file|unseen|unseen-at|unseen-of|x)( [0-9]{1,21}){0,11}") {
        if let Some(read) = Summary::read(&format!("{VERSION}\n{text}\n")) {
            prop_assert_eq!(Summary::read(&read.text().unwrap()), Some(read));
        }
        prop_assert_eq!(Summary::read(&text), None);
    }
}

#[test]
fn who_wrote_no_summary_says_nothing() {
    let mut trace = Trace::default();
    trace.push(Record {
        address: 1,
        value: 2,
        stamp: 0,
        location: 0,
        instructions: 0,
        thread: 0,
        kind: Kind::Store,
        size: 8,
    });
    assert_eq!(described(write_block_file(&trace).unwrap()), None);
    assert_eq!(described(crate::write_parquet(&trace).unwrap()), None);
    assert_eq!(described(b"CBLK".to_vec()), None);
}

#[test]
fn a_kind_without_its_records_is_no_summary() {
    assert!(Summary::read("summary 1\nthreads 2\nkind 0 2\n").is_some());
    assert_eq!(Summary::read("summary 1\nthreads 2\nkind 0 1\n"), None);
    assert_eq!(Summary::read("summary 2\nthreads 0\n"), None);
}
