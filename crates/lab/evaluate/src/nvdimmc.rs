//! NVDIMM-C (HPCA 2020), §V and §VII: figures 7 to 13, one beyond, and the scoreboard.
//!
//! Every size is the paper's over 1,024, or less where accesses miss. Megabytes are 10^6 bytes.

mod figures;
mod power;
mod tpch;

use crate::claims::Claim;
use crate::runs::{Changes, Key, Runs, owned};
use crate::verdict::Finding;
use crate::{Effort, Paper};
use machine::{ConfigError, RunError};

const BASELINE: &str = "nvdimmc-baseline";
const POC: &str = "nvdimmc-poc";
const HYPOTHETICAL: &str = "nvdimmc-hypothetical";
const THREADS: [u64; 5] = [1, 2, 4, 8, 16];
const BLOCKS: [u64; 7] = [128, 256, 1024, 4096, 16_384, 65_536, 262_144];
/// tD in ns: tREFI, a half, a quarter, and none.
const DELAYS: [u64; 4] = [7800, 3900, 1950, 0];
/// The slots in MiB.
const SLOTS_MIB: u64 = 15;
/// Copied so far, in MiB; the slots are full at 15.
const COPIED: [u64; 9] = [2, 4, 8, 12, 14, 16, 17, 18, 20];
/// Where accesses of fio miss: the slots in MiB, few, since each page takes long, and how many times as large the file is, the
/// device's 120 GB over 15.
const FEW_SLOTS_MIB: u64 = 2;
const FILE_OVER_SLOTS: u64 = 8;
/// Its operations there: as many as there are slots. Fitted to `nvdimmc.hypothetical.td` and `nvdimmc.uncached.4k`, one wait of
/// tD a miss: about one access in fifteen then hits what the layout left.
const LONG: u64 = FEW_SLOTS_MIB * 256;
/// How long that was is open.
const HOW_LONG: &str = "open 51..512: how long fio ran is not published; from half a minute, in which it comes to a tenth as many blocks as there are slots, to as many as there are, since the pages that go then have only been read, and the paper has a page written back for each that is read; stands at 512, fitted to nvdimmc.uncached.4k and nvdimmc.hypothetical.td";
/// Threads of the figure beyond the paper: enough to fill any queue that is tried.
const MANY: u64 = 8;

/// What is tried beyond the paper, on uncached reads and on a query, with [`MANY`] threads.
const BEYOND: [(&str, Changes); 8] = [
    ("as published", &[]),
    ("LRU", &[("nvdimm.replacement", "lru")]),
    ("CLOCK", &[("nvdimm.replacement", "clock")]),
    ("queue depth 8", &[("nvdimm.queue_depth", "8")]),
    ("merged commands", &[("nvdimm.merged_commands", "true")]),
    ("8 KB windows, queue depth 8", &[("nvdimm.window_bytes", "8192"), ("nvdimm.queue_depth", "8")]),
    ("media of 1 us", &[("nand.media", "fixed"), ("nand.read_ns", "1000")]),
    (
        "all of these",
        &[
            ("nvdimm.replacement", "lru"),
            ("nvdimm.queue_depth", "8"),
            ("nvdimm.merged_commands", "true"),
            ("nvdimm.window_bytes", "8192"),
            ("nand.media", "fixed"),
            ("nand.read_ns", "1000"),
        ],
    ),
];

/// The device with nothing to wait for but windows, and a host that is always ready.
const NO_LATENCY: Changes = &[("nand.media", "fixed"), ("nand.read_ns", "0"), ("nvdimm.decode_ns", "0")];

/// How it is evaluated.
pub const PAPER: Paper = Paper {
    name: "nvdimmc",
    is_collection: false,
    about: |seed| {
        format!("sizes over 1,024, seed {seed}; fitted: what the presets and fio's parameters say is")
    },
    declare,
    finding,
    figures: figures::all,
    tables: crate::no_tables,
    runs: 80,
    live: None,
};

/// Which of fio's runs: on what, reading or writing, found or not, bytes of a block.
#[derive(Clone, Copy)]
struct Fio {
    machine: &'static str,
    rw: &'static str,
    resident: bool,
    block: u64,
    effort: Effort,
}

impl Fio {
    const fn of(machine: &'static str, rw: &'static str, resident: bool) -> Fio {
        Fio { machine, rw, resident, block: 4096, effort: Effort::Whole }
    }

    fn name(&self) -> String {
        let found = if self.resident { "cached" } else { "uncached" };
        format!("{} {} {found} {}", self.machine, self.rw, self.block)
    }

    /// Bytes of the file: where every access hits, each block is visited once, as fio does, and a small file has enough small ones.
    fn file_bytes(&self) -> u64 {
        if !self.resident {
            return (FEW_SLOTS_MIB * FILE_OVER_SLOTS) << 20;
        }
        match self.effort {
            Effort::Whole if self.block >= 4096 => 4 << 20,
            Effort::Design if self.block >= 4096 => 2 << 20,
            Effort::Whole | Effort::Design => 1 << 20,
        }
    }

    /// Blocks: all of a file that is in the DRAM; elsewhere few, where each takes long.
    fn operations(&self, threads: u64) -> u64 {
        if self.resident {
            return self.file_bytes() / self.block;
        }
        (LONG / self.block.div_ceil(4096)).max(16 * threads)
    }

    fn sets(&self, threads: u64) -> Vec<(&'static str, String)> {
        let mut sets = vec![
            ("workload.rw", self.rw.into()),
            ("workload.block_size", self.block.to_string()),
            ("workload.operations", self.operations(threads).to_string()),
            ("workload.file_bytes", self.file_bytes().to_string()),
        ];
        if !self.resident {
            sets.push(("nvdimm.slots_mib", FEW_SLOTS_MIB.to_string()));
        }
        sets
    }
}

/// The three cases of figures 8 to 10.
fn cases(rw: &'static str) -> [Fio; 3] {
    [Fio::of(BASELINE, rw, true), Fio::of(POC, rw, true), Fio::of(POC, rw, false)]
}

fn add_fio(
    (runs, effort): (&mut Runs, Effort),
    fio: Fio,
    threads: u64,
    name: &str,
    more: &[(&'static str, String)],
) -> Result<(), ConfigError> {
    let fio = Fio { effort, ..fio };
    let sets: Vec<_> = fio.sets(threads).into_iter().chain(more.iter().cloned()).collect();
    runs.add(Key::new(name, "fio", threads), fio.machine, &sets)
}

/// The same of blocks that miss, where how many there are is open.
fn add_open(
    (runs, effort): (&mut Runs, Effort),
    fio: Fio,
    name: &str,
    more: &[(&'static str, String)],
) -> Result<(), ConfigError> {
    add_fio((runs, effort), fio, 1, name, more)?;
    runs.source(&Key::new(name, "fio", 1), "workload.operations", HOW_LONG.into());
    Ok(())
}

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    for rw in ["read", "write"] {
        let uncached = Fio::of(POC, rw, false);
        add_open((&mut runs, effort), uncached, &uncached.name(), &[])?;
        for fio in cases(rw) {
            for threads in THREADS {
                add_fio((&mut runs, effort), fio, threads, &fio.name(), &[])?;
            }
            for block in BLOCKS {
                let fio = Fio { block, ..fio };
                add_fio((&mut runs, effort), fio, 1, &fio.name(), &[])?;
            }
        }
    }
    for delay in DELAYS {
        let fio = Fio::of(HYPOTHETICAL, "read", false);
        let more = [("nvdimm.hypothetical.td_ns", delay.to_string())];
        add_open((&mut runs, effort), fio, &delayed(delay), &more)?;
    }
    for threads in [1, MANY] {
        for refresh in [7800, 3900, 1950] {
            let more = [("memory.refresh.trefi_ns", refresh.to_string())];
            add_fio((&mut runs, effort), Fio::of(POC, "read", true), threads, &refreshed(refresh), &more)?;
        }
    }
    for (name, changes) in BEYOND {
        add_fio((&mut runs, effort), Fio::of(POC, "read", false), MANY, name, &owned(changes))?;
        let query = [("workload.query", "Q10".into()), ("nvdimm.slots_mib", "2".into())];
        let sets: Vec<_> = owned(changes).into_iter().chain(query).collect();
        runs.add(Key::new(name, "tpch", MANY), POC, &sets)?;
    }
    for refresh in [7800, 3900] {
        let mut more = owned(NO_LATENCY);
        more.push(("memory.refresh.trefi_ns", refresh.to_string()));
        add_fio((&mut runs, effort), Fio::of(POC, "read", false), 4, &no_latency(refresh, 1), &more)?;
        more.push(("nvdimm.queue_depth", "32".into()));
        more.push(("nvdimm.driver.poll_ns", "2000".into()));
        add_fio((&mut runs, effort), Fio::of(POC, "read", false), 32, &no_latency(refresh, 32), &more)?;
    }
    for mib in COPIED {
        let bytes = ((mib << 20) / smaller(effort)).next_multiple_of(4096);
        let mut sets = vec![("workload.file_bytes", bytes.to_string())];
        if effort == Effort::Design {
            sets.push(("nvdimm.slots_mib", (SLOTS_MIB / smaller(effort)).to_string()));
        }
        runs.add(Key::new(&copied(mib), "filecopy", 1), POC, &sets)?;
    }
    // That commands never meet on the channel hangs on nothing that is open.
    if effort == Effort::Whole {
        runs.add(Key::new(POC, "stream", 4), POC, &[])?;
    }
    tpch::declare(&mut runs, effort)?;
    Ok(runs)
}

fn delayed(delay: u64) -> String {
    format!("tD {delay}")
}

fn refreshed(refresh: u64) -> String {
    format!("tREFI {refresh}")
}

fn no_latency(refresh: u64, depth: u64) -> String {
    format!("no latency, tREFI {refresh}, depth {depth}")
}

fn copied(mib: u64) -> String {
    format!("{mib} MiB copied")
}

/// How much smaller a design's files and slots are, where a copy has its two rates in any.
fn smaller(effort: Effort) -> u64 {
    if effort == Effort::Whole { 1 } else { 5 }
}

/// MB/s of one of fio's runs.
fn rate(runs: &Runs, name: &str, threads: u64) -> f64 {
    runs.get(name, "fio", threads, "throughput.bytes_per_second") / 1e6
}

fn finding(runs: &Runs, claim: &Claim, seed: u64) -> Finding {
    let read_and_write = |resident: bool, machine: &'static str| {
        Finding::Values(
            ["read", "write"].map(|rw| rate(runs, &Fio::of(machine, rw, resident).name(), 1)).to_vec(),
        )
    };
    match claim.id.as_str() {
        "nvdimmc.baseline.4k" => read_and_write(true, BASELINE),
        "nvdimmc.cached.4k" => read_and_write(true, POC),
        "nvdimmc.uncached.4k" => read_and_write(false, POC),
        "nvdimmc.min-latency" => least_times(runs),
        "nvdimmc.window-bandwidth" => {
            Finding::Values([7800, 3900].map(|r| device_bandwidth(runs, r)).to_vec())
        }
        "nvdimmc.filecopy" => Finding::Values(vec![copying(runs, 0, 14), copying(runs, 16, 20)]),
        "nvdimmc.hypothetical.td" => Finding::Values([0, 7800].map(|d| rate(runs, &delayed(d), 1)).to_vec()),
        "nvdimmc.tpch" => tpch::order(runs),
        "nvdimmc.lru" => tpch::hit_shares(runs),
        "nvdimmc.no-collision" if runs.any_done() => no_collision(runs, seed),
        "nvdimmc.powerfail" if runs.any_done() => power::finding(seed),
        "nvdimmc.no-collision" | "nvdimmc.powerfail" => Finding::not_run(),
        other => Finding::unknown(other),
    }
}

/// Microseconds of a command, and of a pair, which each miss takes, with media of no latency and more than one thread asking.
fn least_times(runs: &Runs) -> Finding {
    let name = no_latency(7800, 1);
    let time = runs.time(&name, "fio", 4) / 1e3;
    let moved = |stat| runs.get(&name, "fio", 4, stat);
    let commands = moved("nvdimm.cachefills") + moved("nvdimm.writebacks");
    Finding::Values(vec![time / commands, time / moved("nvdimm.faults")])
}

/// MB/s that the device's windows carry: what those that move data move, at the rate at which windows come.
fn device_bandwidth(runs: &Runs, refresh: u64) -> f64 {
    let name = no_latency(refresh, 32);
    let moved = |stat| runs.get(&name, "fio", 32, stat);
    let bytes = 4096.0 * (moved("nvdimm.cachefills") + moved("nvdimm.writebacks"));
    bytes / moved("nvdimm.windows_used") * moved("nvdimm.windows") / runs.time(&name, "fio", 32) * 1e3
}

/// MB/s from one amount copied to another.
fn copying(runs: &Runs, from: u64, to: u64) -> f64 {
    let of = |mib: u64| {
        let get = |stat| runs.get(&copied(mib), "filecopy", 1, stat);
        if mib == 0 { (0.0, 0.0) } else { (get("cpu.operations") * 4096.0, get("time_ns")) }
    };
    let ((before, began), (after, ended)) = (of(from), of(to));
    (after - before) / (ended - began) * 1e3
}

/// STREAM ran to its end, which a wrong byte or two commands that met would have prevented; a device that does not wait
/// for its window must not.
fn no_collision(runs: &Runs, seed: u64) -> Finding {
    let windows = runs.get(POC, "stream", 4, "nvdimm.windows");
    let mut wrong = Runs::default();
    let sets = [("nvdimm.device.ignore_window", "true".to_string())];
    let done = wrong.add(Key::new("wrong", "stream", 4), POC, &sets).map_err(RunError::from);
    match done.and_then(|()| wrong.run(seed, || {})) {
        Err(RunError::Violation(text)) => Finding::Statement {
            holds: windows > 0.0,
            because: format!("{windows} windows beside STREAM, every element right; without windows: {text}"),
        },
        Err(RunError::Config(e)) => Finding::Open(e.to_string()),
        Ok(()) => Finding::Statement {
            holds: false,
            because: "a device that does not wait for its window was not caught".into(),
        },
    }
}
