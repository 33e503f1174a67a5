//! Samples made byte by byte from what each tool publishes of its format.

use super::*;
use crate::export;
use crate::pages::page_programs;
use crate::recording::Recording;
use protocol::pages::PageStep;
use units::Dur;

fn of(format: Format, bytes: &[u8]) -> Trace {
    import(format, bytes, "x").unwrap()
}

fn refused(format: Format, bytes: &[u8], wanted: &str) {
    let e = import(format, bytes, "x").unwrap_err().to_string();
    assert!(e.contains(wanted), "{e}");
}

fn kinds(t: &Trace) -> Vec<(u16, Kind, u64, u8)> {
    let recording = Recording::of_trace(t.clone()).unwrap();
    recording.in_order().map(|r| (r.thread, r.kind, r.address, r.size)).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// An archive of two members.
fn zip(halves: [&[u8]; 2]) -> Vec<u8> {
    let mut archive = Vec::new();
    for half in halves {
        let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(half).unwrap();
        archive.extend(b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0");
        archive.extend([0; 12]);
        archive.extend(b"\x05\0\0\0chunk");
        archive.extend(packer.finish().unwrap());
    }
    archive.extend(b"PK\x01\x02 and the directory");
    archive
}

fn entry(kind: u16, size: u16, address: u64) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &size.to_le_bytes(), &address.to_le_bytes()].concat()
}

fn drmemtrace() -> Vec<u8> {
    let entries: [(u16, u16, u64); 14] = [
        (25, 0, 7),      // the header
        (22, 0, 900),    // thread 900
        (24, 0, 900),    // its process
        (28, 3, 5),      // a marker
        (10, 3, 0x4000), // an instruction that loads
        (0, 8, 0x1000),
        (10, 4, 0x4003),
        (48, 2, 0x4007), // a branch that is taken
        (10, 4, 0x4009), // stores across a multiple of eight
        (1, 4, 0x2006),
        (22, 0, 901),
        (10, 5, 0x4010),
        (20, 64, 0x2040), // a flush
        (1, 16, 0x3000),
    ];
    entries.iter().flat_map(|(kind, size, address)| entry(*kind, *size, *address)).collect()
}

#[test]
fn drmemtrace_gives_accesses_flushes_threads_in_turn_and_instructions() {
    let trace = of(Format::Drmemtrace, &drmemtrace());
    let expected = [
        (0, Kind::Load, 0x1000, 8),
        (0, Kind::Store, 0x2006, 2),
        (0, Kind::Store, 0x2008, 2),
        (1, Kind::Clflushopt, 0x2040, 0),
        (1, Kind::StoreRelease, 0x3000, 8),
        (1, Kind::Store, 0x3008, 8),
    ];
    let mut found = kinds(&trace);
    found.sort_by_key(|(thread, ..)| *thread);
    assert_eq!(found, expected);
    let instructions: Vec<u32> = trace.records().map(|r| r.instructions).collect();
    assert_eq!(instructions, [1, 3, 0, 1, 0, 0]);
}

#[test]
fn packed_traces_are_unpacked_and_others_are_named() {
    let (plain, whole) = (drmemtrace(), of(Format::Drmemtrace, &drmemtrace()));
    assert_eq!(of(Format::Drmemtrace, &gzip(&plain)), whole);
    assert_eq!(of(Format::Drmemtrace, &zstd::bulk::compress(&plain, 1).unwrap()), whole);
    assert_eq!(of(Format::Drmemtrace, &zip([&plain[..60], &plain[60..]])), whole);
    refused(Format::Drmemtrace, b"\x04\x22\x4D\x18", "lz4 -d");
    let gz = gzip(&plain);
    assert!(import(Format::Drmemtrace, &gz[..gz.len() / 2], "x").is_err());
}

#[test]
fn damaged_drmemtrace_says_where() {
    let plain = drmemtrace();
    refused(Format::Drmemtrace, &plain[12..], "header entry");
    refused(Format::Drmemtrace, &plain[..50], "byte 48: 50 bytes are no whole number of 12-byte");
    refused(Format::Drmemtrace, &[plain.clone(), entry(77, 0, 0)].concat(), "byte 168: an entry of type 77");
    refused(Format::Drmemtrace, &[entry(25, 0, 7), entry(0, 8, 64)].concat(), "byte 12: no entry says yet");
    refused(Format::Drmemtrace, &[plain, entry(21, 0, 0)].concat(), "byte 168: a flush ends");
}

/// A header (object "m", 10^12 ticks a second), a ReadReq of 8 bytes, a WriteReq of 64 with flags, an instruction that is
/// fetched, an answer.
const GEM5: &[u8] = b"gem5\
    \x0a\x0a\x01m\x18\x80\xa0\x94\xa5\x8d\x1d\
    \x09\x08\x05\x10\x01\x18\x80\x20\x20\x08\
    \x0c\x08\xf4\x03\x10\x04\x18\x80\x40\x20\x40\x28\x00\
    \x0b\x08\x06\x10\x01\x18\x00\x20\x04\x28\x80\x02\
    \x08\x08\x07\x10\x02\x18\x00\x20\x08";

#[test]
fn gem5_packets_are_read_and_what_is_written_reads_the_same() {
    let trace = of(Format::Gem5, GEM5);
    let found = kinds(&trace);
    assert_eq!(found[..2], [(0, Kind::Load, 0x1000, 8), (0, Kind::Store, 0x2000, 8)]);
    assert_eq!(found.len(), 9, "64 bytes are eight words");
    let (recording, mut out, mut packed) =
        (Recording::of_trace(trace.clone()).unwrap(), Vec::new(), Vec::new());
    export::write(export::Format::Gem5, &recording, &mut out).unwrap();
    assert!(out.starts_with(b"gem5\x12\x0a\x09coreplane\x18\x80\xa0"));
    assert_eq!(of(Format::Gem5, &out), trace);
    export::write_packed(export::Format::Gem5, &recording, &mut packed).unwrap();
    assert!(packed.starts_with(b"\x1f\x8b"));
    assert_eq!(of(Format::Gem5, &packed), trace);
}

#[test]
fn what_code_without_hooks_stored_is_a_store_for_others() {
    let mut trace = of(Format::RamulatorData, b"LD 0x1000 8\n");
    trace.push(Record { size: 2, value: 0x201, ..plain(Kind::Observed, 0x1040) });
    let recording = Recording::of_trace(trace).unwrap();
    for (format, back) in [
        (export::Format::Ramulator, Format::Ramulator),
        (export::Format::RamulatorData, Format::RamulatorData),
        (export::Format::Gem5, Format::Gem5),
    ] {
        let mut out = Vec::new();
        assert_eq!(export::write(format, &recording, &mut out).unwrap().records, 2);
        let found = kinds(&of(back, &out));
        assert_eq!(
            found.iter().map(|f| (f.1, f.2)).collect::<Vec<_>>(),
            [(Kind::Load, 0x1000), (Kind::Store, 0x1040)]
        );
    }
    let visit = |step| if let PageStep::Visit(visit) = step { Some(visit.write) } else { None };
    let mut program = page_programs(&recording, |_| Dur::ZERO).remove(0).program;
    let visits = std::iter::from_fn(|| Some(program.next()).filter(|step| *step != PageStep::End));
    assert_eq!(visits.filter_map(visit).collect::<Vec<_>>(), [true]);
}

#[test]
fn what_goes_out_says_what_its_format_does_not_have() {
    let mut trace = of(Format::RamulatorData, b"LD 0x1000 8\nST 0x1040 1 7\n");
    trace.push(plain(Kind::Clwb, 0x1040));
    trace.push(Record { thread: 1, ..plain(Kind::Sfence, 0) });
    trace.about.lacks.clear();
    let recording = Recording::of_trace(trace).unwrap();
    let lacks = |format| export::write(format, &recording, &mut Vec::new()).unwrap().lacks;
    assert_eq!(lacks(export::Format::Gem5), "store values, threads; 2 of 4 records (1 clwb, 1 sfence)");
    assert_eq!(lacks(export::Format::Ramulator), "store values, threads; 2 of 4 records (1 clwb, 1 sfence)");
    assert_eq!(lacks(export::Format::RamulatorData), "threads; 2 of 4 records (1 clwb, 1 sfence)");
}

#[test]
fn damaged_gem5_traces_say_where() {
    refused(Format::Gem5, b"gem6", "begins with gem5");
    refused(Format::Gem5, b"gem5\x03\x0a\x01m", "byte 4: the header");
    refused(Format::Gem5, &GEM5[..20], "byte 16: a message ends early");
    refused(Format::Gem5, &[GEM5, b"\x02\x10\x01"].concat(), "no packet");
    refused(Format::Gem5, &[GEM5, b"\x09\x08\x05\x10\x7f\x18\x80\x20\x20\x08"].concat(), "command 127");
}

#[test]
fn ramulators_trace_of_a_core_has_instructions_and_what_caches_wrote_back() {
    let trace = of(Format::Ramulator, b"3 20734016\n# a remark\n0 0x13c6040 64\n");
    let expected = [(20734016, Kind::Load, 4), (0x13c6040, Kind::Load, 1), (64, Kind::Store, 0)];
    let recording = Recording::of_trace(trace).unwrap();
    let found: Vec<_> = recording.in_order().map(|r| (r.address, r.kind, r.instructions)).collect();
    assert_eq!(found, expected);
    for bad in ["-1 64\n", "1 64 128 192\n", "1\n", "4294967296 64\n", "1 x\n", "1 64 y\n"] {
        refused(Format::Ramulator, bad.as_bytes(), "line 1");
    }
}

#[test]
fn dramsims_traces_are_read_by_any_of_their_words() {
    let text =
        "0x7f6480 READ 0\n0x7f64c7 WRITE 3\n; k6\n0x100 P_FETCH 5\n0x140 P_MEM_WR 9\n\n0x180 BOFF 9.5\n";
    let expected = [
        (0, Kind::Load, 0x7f6480, 8),
        (0, Kind::Store, 0x7f64c0, 8),
        (0, Kind::Load, 0x100, 8),
        (0, Kind::Store, 0x140, 8),
        (0, Kind::Store, 0x180, 8),
    ];
    assert_eq!(kinds(&of(Format::DramSim, text.as_bytes())), expected);
    for bad in
        ["0x80 READ\n", "0x80 R 1\n", "128 READ 1\n", "0xg READ 1\n", "0x80 READ x\n", "0x80 READ 1 2\n"]
    {
        refused(Format::DramSim, bad.as_bytes(), "line 1");
    }
}

#[test]
fn ramulators_loads_and_stores_keep_what_is_stored() {
    let text = "LD 0x1000 8\nST 4097 3 1 2 255\n";
    let trace = of(Format::RamulatorData, text.as_bytes());
    let stored: Vec<(u64, u64, u8)> =
        trace.records().filter(|r| r.kind == Kind::Store).map(|r| (r.address, r.value, r.size)).collect();
    assert_eq!(stored, [(0x1001, 0x201, 2), (0x1003, 0xFF, 1)]);
    let mut out = Vec::new();
    export::write(export::Format::RamulatorData, &Recording::of_trace(trace.clone()).unwrap(), &mut out)
        .unwrap();
    assert_eq!(out, b"LD 0x1000 8\nST 0x1001 2 1 2\nST 0x1003 1 255\n");
    assert_eq!(of(Format::RamulatorData, &out), trace);
    for (text, wanted) in [
        ("LD 0x1000 8\nLD 0x1000\n", "line 2"),
        ("ST 0 2 1\n", "as many values"),
        ("ST 0 1 256\n", "0 to 255"),
        ("ST 0 0\n", "1 to 255 bytes"),
        ("LD x 8\n", "no number"),
    ] {
        refused(Format::RamulatorData, text.as_bytes(), wanted);
    }
}

const DAMON: &str = "kdamond.0 45 [000] 0.1: damon:damon_aggregated: target_id=7 nr_regions=3 4096-12288: 4 0
kdamond.0 45 [000] 0.1: damon:damon_aggregated: target_id=7 nr_regions=3 12288-20480: 0 3
kdamond.0 45 [000] 0.1: damon:damon_aggregated: target_id=7 nr_regions=3 20480-24576: 2 0
kdamond.0 45 [000] 0.1: damon:damon_aggregated: target_id=9 nr_regions=1 4096-8192: 1 0
";

/// As `damo record` keeps the same.
const DAMO: &str = r#"[
  {"kdamond_idx": 0, "intervals": {"sample_us": "5000"}, "target_id": 7, "snapshots": [
    {"start_time": "0", "end_time": "100000000", "regions": [
      {"start": "4,096", "end": "12,288", "nr_accesses": {"samples": 4, "percent": null}, "age": {"usec": null}},
      {"start": "12,288", "end": "20,480", "nr_accesses": {"samples": 0, "percent": null}, "age": {"usec": null}},
      {"start": "20,480", "end": "24,576", "nr_accesses": {"samples": 2, "percent": null}, "age": {"usec": null}}]}]},
  {"target_id": 9, "snapshots": [
    {"regions": [{"start": 4096, "end": "8,192", "nr_accesses": {"samples": 1}}]},
    {"regions": [{"start": "0", "end": "0", "nr_accesses": {"samples": -1}}]}]}]"#;

#[test]
fn damons_regions_become_visits_of_their_pages() {
    let trace = of(Format::Damon, DAMON.as_bytes());
    assert!(trace.about.pages);
    let pages: Vec<u64> = trace.threads[0].iter().map(|r| r.address / 4096).collect();
    assert_eq!(pages, [1, 2, 1, 2, 5, 1, 2, 1, 2, 5]);
    let other: Vec<u64> = trace.threads[1].iter().map(|r| r.address).collect();
    assert_eq!(other, [1 << 52 | 4096], "another target's pages are others");
    let kept = of(Format::Damon, DAMO.as_bytes());
    assert_eq!(kept, trace);
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(DAMO.as_bytes()).unwrap();
    assert_eq!(of(Format::Damon, &packer.finish().unwrap()), trace);
}

#[test]
fn damaged_damon_says_where() {
    refused(Format::Damon, b"x\ny damon_aggregated: target_id=z\n", "line 2");
    refused(Format::Damon, b"nothing", "no memory access");
    refused(Format::Damon, b"[{\"snapshots\": [{\"regions\": 3}]}]", "line 1 column");
    refused(Format::Damon, b"[{\"target_id\": 3}]", "snapshots");
    refused(Format::Damon, DAMO.replace("\"4,096\"", "\"x\"").as_bytes(), "\"x\" is no number at line 4");
    refused(
        Format::Damon,
        DAMON.replace("4096-12288", "12288-4096").as_bytes(),
        "a region from 12288 to 4096",
    );
}

#[test]
fn samples_of_perf_mem_are_loads_and_stores() {
    let text = "# a comment
 kv server 12/34 [001]  56.789012:          1 cpu/mem-loads,ldlat=30/P:     7f10a2c4  68100142 |OP LOAD|LVL L1 hit|SNP None|
\t    55d0c0a0 main+0x10 (/bin/kv)

        kv    35 56.789013:  1 mem-stores:  2000 1e05080144 |OP STORE|LVL L1 hit|
        kv    35 56.789014:  1 page-faults:  3000 1e05080021 |OP N/A|LVL N/A|
        kv    34 56.789015:  1 mem-stores:  2008 1e05080144 |OP STORE|LVL L1 hit|
";
    let expected = [
        (0, Kind::Load, 0x7f10_a2c0, 8),
        (1, Kind::StoreRelease, 0x2000, 8),
        (0, Kind::StoreRelease, 0x2008, 8),
    ];
    assert_eq!(kinds(&of(Format::PerfMem, text.as_bytes())), expected);
    refused(Format::PerfMem, b"kv 1 2.3: x: y z |OP LOAD|\n", "line 1");
    refused(Format::PerfMem, b"kv 1 2.3: cycles: 4\n", "-F +addr,+data_src");
}

#[test]
fn requests_for_objects_are_visits_of_their_pages() {
    let request = |object: u64, bytes: u32| {
        [&9u32.to_le_bytes()[..], &object.to_le_bytes(), &bytes.to_le_bytes(), &(-1i64).to_le_bytes()]
            .concat()
    };
    let file =
        [request(1 << 60, 5000), request(3, 1), request(1 << 60, 4096), request(3, 4097), request(4, 0)]
            .concat();
    let trace = of(Format::OracleGeneral, &file);
    assert!(trace.about.pages);
    let pages: Vec<u64> = trace.records().map(|r| r.address / 4096).collect();
    assert_eq!(pages, [1, 2, 3, 1, 4, 5], "an object that has grown gets other pages");
    refused(Format::OracleGeneral, &file[..30], "byte 24: 30 bytes");
}

#[test]
fn dirty_lines_of_windows_are_stores_with_a_mark_a_window() {
    let words = |words: &[u64]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let file = words(&[0, 2, 0x5000, 0b101, 0x9000, 1 << 63, 1, 0, 2, 1, 0x5000, 2]);
    let trace = of(Format::KTracker, &file);
    let told: Vec<(Kind, u64)> = trace.records().map(|r| (r.kind, r.address + r.value)).collect();
    let expected = [
        (Kind::Store, 0x5000),
        (Kind::Store, 0x5080),
        (Kind::Store, 0x9fc0),
        (Kind::Mark, 1),
        (Kind::Mark, 2),
        (Kind::Store, 0x5040),
        (Kind::Mark, 3),
    ];
    assert_eq!(told, expected);
    assert!(!trace.about.pages && trace.about.lacks.contains("loads"));
    refused(Format::KTracker, &file[..40], "byte 40: it ends in the midst of window 0");
    refused(Format::KTracker, &words(&[0, 1, 0x5008, 1]), "byte 16: 0x5008 is no page's address");
    refused(Format::KTracker, &words(&[0, 1 << 40]), "byte 8: a window of 1099511627776 pages");
    refused(Format::KTracker, &words(&[7, 1]), "byte 0: not KTracker's log: window 7 where 0 is next");
}

#[test]
fn a_trace_of_pages_says_so_in_both_files_and_has_no_time_at_line_fidelity() {
    let trace = of(Format::Damon, DAMON.as_bytes());
    for bytes in [crate::write_block_file(&trace).unwrap(), crate::write_parquet(&trace).unwrap()] {
        assert_eq!(crate::read(bytes).unwrap(), trace);
    }
}
