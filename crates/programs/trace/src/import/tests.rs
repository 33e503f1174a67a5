//! Small traces of each kind.

use super::*;
use proptest::prelude::*;

fn kinds(t: &Trace) -> Vec<(Kind, u64, u8)> {
    t.records().map(|r| (r.kind, r.address, r.size)).collect()
}

#[test]
fn lackey_lines_become_loads_and_stores() {
    let text = b"==12== Lackey\nI  04000,3\n L 1000,8\n S 1006,4\n M 2000,1\n";
    let t = import(Format::Lackey, text, "x").unwrap();
    let expected = [
        (Kind::Load, 0x1000, 8),
        (Kind::Store, 0x1006, 2),
        (Kind::Store, 0x1008, 2),
        (Kind::Load, 0x2000, 1),
        (Kind::Store, 0x2000, 1),
    ];
    assert_eq!(kinds(&t), expected);
    assert!(t.about.lacks.contains("values"));
}

fn instructions(t: &Trace) -> Vec<u32> {
    t.records().map(|r| r.instructions).collect()
}

#[test]
fn lackeys_instructions_are_counted_before_what_they_access() {
    let text = b"I  04000,3\n M 1006,4\nI  04003,2\nI  04005,4\n L 2000,1\n S 3000,8\nInterrupted\n L 2000,1\nI  04009,4\n";
    let t = import(Format::Lackey, text, "x").unwrap();
    assert_eq!(instructions(&t), [1, 0, 0, 0, 2, 0, 0]);
    assert_eq!(instructions(&import(Format::Lackey, b" L 1000,8\n L 2000,8\n", "x").unwrap()), [0, 0]);
}

#[test]
fn champsims_instructions_without_an_operand_in_memory_are_counted() {
    let (idle, mut both) = ([0u8; 64], [0u8; 64]);
    both[16..24].copy_from_slice(&0x5000u64.to_le_bytes());
    both[32..40].copy_from_slice(&0x6000u64.to_le_bytes());
    let t = import(Format::ChampSim, &[both, idle, idle, both, idle].concat(), "x").unwrap();
    assert_eq!(instructions(&t), [1, 0, 3, 0]);
}

#[test]
fn ramulator_lines_of_both_kinds_are_read() {
    let t = import(Format::Ramulator, b"0x80 R\nST 0x100\nLD 192 1\n", "x").unwrap();
    assert_eq!(kinds(&t), [(Kind::Load, 128, 8), (Kind::Store, 256, 8), (Kind::Load, 192, 8)]);
    let e = import(Format::Ramulator, b"0x80 R\n0x80 Q\n", "x").unwrap_err();
    assert!(e.to_string().contains("line 2"), "{e}");
}

#[test]
fn champsim_records_give_their_memory_operands() {
    let mut record = [0u8; 64];
    record[16..24].copy_from_slice(&0x5000u64.to_le_bytes());
    record[32..40].copy_from_slice(&0x6004u64.to_le_bytes());
    let t = import(Format::ChampSim, &record, "x").unwrap();
    assert_eq!(kinds(&t), [(Kind::Load, 0x6000, 8), (Kind::Store, 0x5000, 8)]);
    assert!(import(Format::ChampSim, &record[..63], "x").unwrap_err().to_string().contains("64-byte"));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for (_, format) in Format::ALL {
            _ = import(format, &bytes, "x");
        }
    }
}

#[test]
fn a_block_file_made_piece_by_piece_is_the_trace() {
    let mut text = String::new();
    for n in 0..40_000u64 {
        text += &format!("0x{:x} {}\n", n * 64, if n % 3 == 0 { "W" } else { "R" });
    }
    let mut bytes = Vec::new();
    import_blocks(Format::Ramulator, &mut text.as_bytes(), "x", &mut bytes).unwrap();
    let whole = import(Format::Ramulator, text.as_bytes(), "x").unwrap();
    assert_eq!(whole.len(), 40_000);
    assert_eq!(crate::read(bytes).unwrap(), whole);
}

#[test]
fn a_line_without_an_end_is_refused_before_it_fills_memory() {
    let text = "x".repeat(1 << 20);
    for format in [Format::Lackey, Format::Ramulator, Format::Pmemcheck] {
        let e = import(format, text.as_bytes(), "x").unwrap_err().to_string();
        assert!(e.contains("more than 65536 bytes"), "{e}");
    }
}
