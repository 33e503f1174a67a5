//! `coreplane bench`: how fast this host simulates, unpacks traces, and records.

use crate::Failure;
use crate::args::BenchArgs;
use crate::lines::say;
use crate::output::{self, Table};
use crate::{bench_against, bench_memory, bench_real, bench_requests, progress};
use machine::{Description, RunOptions, WorkloadDescription};
use serde_json::json;

/// The goals of the performance budget, in million a second.
const GOAL_REFERENCES: f64 = 10.0;
const GOAL_DECODE: f64 = 40.0;
/// How many times the native processor time a recorded program may take.
const GOAL_SLOWDOWN: f64 = 5.6;

const MACHINES: [&str; 11] = [
    "intel",
    "hops-ep",
    "hops-rp",
    "asap-ep",
    "asap-rp",
    "bbb",
    "eadr",
    "nearpm-md",
    "nvdimmc-poc",
    "remote-pages",
    "pberry",
];

pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    /// What is measured beside machines.
    const OTHERS: usize = 9;
    if let Some(other) = &args.against {
        return bench_against::bench(args, other);
    }
    if args.memory {
        let sizes = bench_memory::sizes()?;
        return tell(args, &json!({"memory": sizes}), || bench_memory::print(&sizes));
    }
    if args.on.as_deref() == Some(bench_requests::MACHINE) {
        return of_requests(args);
    }
    let families = bench_real::chosen(args.on.as_deref())?;
    let programs: usize = families.iter().map(|family| family.workloads.len()).sum();
    let others = if args.on.is_some() { 0 } else { MACHINES.len() + OTHERS + bench_requests::PARTS };
    let bar = progress::bar(&args.common, programs + others, "bench");
    let rates = families.iter().map(|family| bench_real::rates(family, || bar.step()));
    let real: Vec<_> = rates.collect::<Result<_, Failure>>()?;
    if args.on.is_some() {
        drop(bar);
        let data = json!({"real_programs": real, "peers": bench_real::peers()});
        return tell(args, &data, || bench_real::print(&real));
    }
    let mut rows = Vec::new();
    for name in MACHINES {
        rows.push(one(name)?);
        bar.step();
    }
    let memory = bar.stepped(bench_memory::sizes())?;
    let decode = bar.stepped(decode_rate())?;
    let recorder = bar.stepped(crate::bench_recorder::slowdown())?;
    let lab = bar.stepped(crate::bench_lab::rates())?;
    let ddr4 = bar.stepped(crate::bench_ddr4::rates())?;
    let ddr5 = bar.stepped(crate::bench_ddr4::rates_of_ddr5())?;
    let requests = bench_requests::rates(|| bar.step())?;
    let ftl = bar.stepped(crate::bench_ftl::rates())?;
    let track = bar.stepped(crate::bench_track::rates());
    let pages = bar.stepped(crate::bench_pages::rates())?;
    drop(bar);
    if output::is_json(&args.common) {
        output::print_json(&json!({
            "real_programs": real,
            "peers": bench_real::peers(),
            "goal_million_references_per_second": GOAL_REFERENCES,
            "machines": rows,
            "goal_million_records_decoded_per_second": GOAL_DECODE,
            "million_records_decoded_per_second": decode,
            "goal_recorder_slowdown": GOAL_SLOWDOWN,
            "recorder_slowdown_sqlite": recorder.as_ref().map(|r| r.processor),
            "recorder_slowdown_sqlite_user": recorder.as_ref().map(|r| r.user),
            "recorder_slowdown_sqlite_elapsed": recorder.as_ref().map(|r| r.elapsed),
            "goal_million_replayed_references_per_second": crate::bench_recorder::GOAL_REPLAY,
            "million_replayed_references_per_second": recorder.as_ref().map(|r| r.replay),
            "memory": memory,
            "crash_points_per_second": lab.crash_points,
            "goal_crash_points_per_second": crate::bench_lab::GOAL_CRASH_POINTS,
            "model_images_per_second": lab.images,
            "explorer_states_per_second": lab.states,
            "ddr4": ddr4,
            "ddr5": ddr5,
            "requests": requests,
            "ftl": ftl,
            "track": track,
            "pages": pages,
            "goal_million_page_visits_per_second": crate::bench_pages::GOAL,
            "goal_ftl_million_host_pages_per_second": crate::bench_ftl::GOAL,
        }));
        return Ok(());
    }
    bench_real::print(&real);
    say!(
        "\nmillion references a host second, four cores, workload bench (goal {GOAL_REFERENCES} with ASAP on)\n"
    );
    let mut table = Table::new(["machine", "Mref/s", "of goal", "L1 hits", "events/ref"]);
    for r in &rows {
        let f = |key: &str| r[key].as_f64().unwrap_or(0.0);
        let speed = f("million_references_per_second");
        table.row([
            r["machine"].as_str().unwrap_or("").to_string(),
            format!("{speed:.1}"),
            format!("{:.2}", speed / GOAL_REFERENCES),
            format!("{:.1} %", f("l1_hit_share") * 100.0),
            format!("{:.2}", f("events_per_reference")),
        ]);
    }
    table.print();
    say!("\ntrace decoding: {decode:.0} million records a second (goal {GOAL_DECODE})");
    match recorder {
        Some(times) => {
            say!(
                "recorder: SQLite takes {:.1} times the native processor time (user and system; goal at most {GOAL_SLOWDOWN}), {:.1} times of user time alone, and {:.1} times as long",
                times.processor,
                times.user,
                times.elapsed
            );
            say!(
                "replay of that recording on {}: {:.1} million references a processor second (goal {})",
                crate::bench_recorder::REPLAYS_ON,
                times.replay,
                crate::bench_recorder::GOAL_REPLAY
            );
        }
        None => {
            say!("recorder: not measured; run in a checkout, whose tests/sqlite brings SQLite's source")
        }
    }
    say!(
        "crash points: {:.0} a second with recovery of a hash map of 10,000 operations (goal {})",
        lab.crash_points,
        crate::bench_lab::GOAL_CRASH_POINTS
    );
    say!("images of a model: {:.0} a second, recovery of 1,000 operations included", lab.images);
    say!("exploration: {:.0} states a second, all protocols", lab.states);
    let number = |rate: &serde_json::Value, key: &str| rate[key].as_f64().unwrap_or(0.0);
    for rate in ddr4 {
        say!(
            "DDR4, {} requests: {:.1} million a second (goal {}), {:.0} times Ramulator 2.1, {:.0} times DRAMsim3",
            rate["pattern"].as_str().unwrap_or(""),
            number(&rate, "million_requests_per_second"),
            number(&rate, "goal"),
            number(&rate, "times_ramulator"),
            number(&rate, "times_dramsim3"),
        );
    }
    for rate in ddr5 {
        say!(
            "DDR5, {} requests to a sub-channel: {:.1} million a second",
            rate["pattern"].as_str().unwrap_or(""),
            number(&rate, "million_requests_per_second"),
        );
    }
    bench_requests::print(&requests);
    for rate in ftl {
        say!(
            "FTL, {} writes: {:.1} million host pages a second, write amplification {:.2} (goal {})",
            rate["pattern"].as_str().unwrap_or(""),
            number(&rate, "million_host_pages_per_second"),
            number(&rate, "write_amplification"),
            crate::bench_ftl::GOAL
        );
    }
    say!(
        "live tracking: pages are compared with their copies at {:.1} GiB/s, {:.2} of memcpy",
        number(&track, "compare_gib_per_second"),
        number(&track, "share_of_memcpy")
    );
    say!("\nmillion visits of pages a second, AMF (goal {})", crate::bench_pages::GOAL);
    for case in &pages {
        let (name, speed) = (case["case"].as_str().unwrap_or(""), number(case, "million_visits_per_second"));
        say!("  {name}: {speed:.1}, {:.2} faults a visit", number(case, "faults_per_visit"));
    }
    println!();
    bench_memory::print(&memory);
    Ok(())
}

fn of_requests(args: &BenchArgs) -> Result<(), Failure> {
    let bar = progress::bar(&args.common, bench_requests::PARTS, "bench");
    let rates = bench_requests::rates(|| bar.step())?;
    drop(bar);
    tell(args, &json!({"requests": rates}), || bench_requests::print(&rates))
}

/// What was measured of one thing alone, as data or as `print` prints it.
fn tell(args: &BenchArgs, data: &serde_json::Value, print: impl FnOnce()) -> Result<(), Failure> {
    if output::is_json(&args.common) {
        output::print_json(data);
    } else {
        print();
    }
    Ok(())
}

/// Million records a second that blocks are unpacked at.
fn decode_rate() -> Result<f64, Failure> {
    const BLOCK: u32 = 1 << 16;
    let mut random = units::Random::new(1, 1);
    let mut address = 1 << 40;
    let mut next = |n: u32| {
        address = if random.chance(300) { (1 << 40) + random.below(1 << 26) } else { address + 8 };
        let kind = if n.is_multiple_of(3) { trace::Kind::Store } else { trace::Kind::Load };
        let value = if kind.has_value() { random.below(1 << 20) } else { 0 };
        trace::Record {
            address,
            value,
            stamp: 0,
            location: 4096 + n % 64 * 8,
            instructions: 0,
            thread: 0,
            kind,
            size: 8,
        }
    };
    let block = trace::encode_block(&(0..BLOCK).map(&mut next).collect::<Vec<_>>());
    let mut sum = 0u64;
    let mut each = |r: trace::Record| sum = sum.wrapping_add(r.address ^ r.value);
    let ((), seconds) = output::fastest(50, || trace::decode_block(&block, 0, BLOCK, &mut each))?;
    std::hint::black_box(sum);
    Ok(f64::from(BLOCK) / seconds / 1e6)
}

fn one(name: &str) -> Result<serde_json::Value, Failure> {
    let machine = Description::preset(name)?;
    let workload = WorkloadDescription::named("bench")?;
    let options = RunOptions { seed: 1, without_images: true, ..RunOptions::default() };
    let (report, seconds) = output::fastest(3, || machine::run(&machine, &workload, &options))?;
    let references = report.references as f64;
    Ok(json!({
        "machine": name,
        "million_references_per_second": references / seconds / 1e6,
        "l1_hit_share": report.get("cpu.l1.hits").unwrap_or(0.0) / report.get("cpu.references").unwrap_or(1.0),
        "events_per_reference": report.events as f64 / references,
    }))
}
