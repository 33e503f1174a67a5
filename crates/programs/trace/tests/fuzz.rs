//! Parsers of untrusted files: hundreds of thousands of damaged ones, none of which may panic or hang. Seeds are valid
//! files; what is changed is bytes, lengths and order.

use trace::import::{Format, import};
use trace::{FILE_SPACE, Kind, Record, Recording, Trace};
use units::Random;

fn sample(r: &mut Random) -> Trace {
    let mut trace =
        Trace { about: trace::About { source: "sample".into(), ..Default::default() }, ..Trace::default() };
    for _ in 0..1 + r.below(60) {
        let kind = Kind::from_number(r.below(27) as u8).unwrap();
        let (address, value) = (r.next_u64() >> r.below(64), r.next_u64() >> r.below(64));
        // Most make sense.
        let (address, value) = if r.below(50) == 0 {
            (address, value)
        } else if kind == Kind::Operand {
            (address, FILE_SPACE | value >> 2)
        } else if matches!(kind, Kind::Map | Kind::Unmap) {
            (address >> 17, value >> 17)
        } else if kind == Kind::Call {
            (FILE_SPACE | address >> 2, (value & !0xFF) | (1 + r.below(10)))
        } else if matches!(kind, Kind::Written | Kind::Contents) {
            (FILE_SPACE | address >> 2, value)
        } else {
            (address, value)
        };
        trace.push(Record {
            address,
            value: if kind.has_value() { value } else { 0 },
            stamp: if kind.has_stamp() { r.next_u64() as u32 } else { 0 },
            location: r.below(1 << 20) as u32,
            instructions: r.below(100) as u32,
            thread: r.below(3) as u16,
            kind,
            size: 1 << r.below(4),
        });
    }
    trace
}

fn damage(bytes: &mut Vec<u8>, r: &mut Random) {
    for _ in 0..1 + r.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = r.below(bytes.len() as u64) as usize;
        match r.below(5) {
            0 => bytes[at] = r.next_u64() as u8,
            1 => bytes[at] ^= 1 << r.below(8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at, r.next_u64() as u8),
            _ => {
                let end = (at + 1 + r.below(16) as usize).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                bytes.extend(piece);
            }
        }
    }
}

#[test]
fn damaged_block_files_are_refused_or_read() {
    for seed in 0..120_000 {
        let mut r = Random::new(seed, 1);
        let mut bytes = trace::write_block_file(&sample(&mut r)).unwrap();
        damage(&mut bytes, &mut r);
        if let Ok(kept) = Recording::prefix(Box::new(bytes.clone())) {
            assert_eq!(kept.in_order().count() as u64, kept.len());
        }
        _ = trace::read(bytes);
    }
}

#[test]
fn damaged_parquet_is_refused_or_read() {
    for seed in 0..20_000 {
        let mut r = Random::new(seed, 2);
        let mut bytes = trace::write_parquet(&sample(&mut r)).unwrap();
        damage(&mut bytes, &mut r);
        _ = trace::read(bytes);
    }
}

#[test]
fn damaged_traces_of_other_tools_are_refused_or_read() {
    let seeds: [&[u8]; 10] = [
        b"==1== x\nI  0400,3\n L 1ffe,8\n S 20,4\n M 30,1\n",
        b"0x12345680 R\n0x4cbd56c0 W\nLD 0x1234\nST 4096\n# note\n",
        &[0; 256],
        include_bytes!("../../../../fuzz/seeds/foreign/drmemtrace"),
        include_bytes!("../../../../fuzz/seeds/foreign/gem5"),
        include_bytes!("../../../../fuzz/seeds/foreign/oracle-general"),
        include_bytes!("../../../../fuzz/seeds/foreign/perf-mem"),
        include_bytes!("../../../../fuzz/seeds/foreign/ktracker"),
        include_bytes!("../../../../fuzz/seeds/foreign/damon.json"),
        include_bytes!("../../../../fuzz/seeds/foreign/damon.txt"),
    ];
    for seed in 0..100_000u64 {
        let mut r = Random::new(seed, 3);
        let mut bytes = seeds[seed as usize % seeds.len()].to_vec();
        damage(&mut bytes, &mut r);
        for (_, format) in Format::ALL {
            _ = import(format, &bytes, "x");
        }
    }
}
