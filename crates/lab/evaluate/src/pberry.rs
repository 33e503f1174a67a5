//! Project PBerry (HotOS 2019), §2 and §7: tables 1 and 3 by their own definitions of dirty, run time by mechanism, and what
//! it hangs on.

pub(crate) mod definitions;
mod figures;
mod served;

use crate::claims::Claim;
use crate::counted::Counted;
use crate::runs::{Changes, Key, Runs, mean, owned};
use crate::verdict::Finding;
use crate::{Effort, Paper};
use machine::ConfigError;
use served::{SERVED, Served};

const PAGES: &str = "remote-pages";
const LINES: &str = "pberry";
/// All of the program's memory is local: what tracking alone costs.
const TRACKED: &str = "tracked by lines";
const PROTECTED: &str = "tracked by write-protection";
/// The same machine without protection: the paper's emulator (§4.3) compares copies of the memory while the program is
/// paused, and no agent answers walks.
const EMULATED: &str = "tracked by comparing copies";
/// The remote host goes for a while.
const AWAY: &str = "pberry, host away";

/// What programs change, tracked without a machine.
const FUNCTIONAL: &str = "tracked";
/// The same under the tool of table 1, which slows programs.
const SLOWED: &str = "tracked under Pin";

/// Metis as it is tracked: a window is a split, of 16.
const MAP_REDUCE: [(&str, Changes); 2] = [
    ("linreg", &[("workload.input_bytes", "33554432"), ("workload.split_bytes", "2097152")]),
    ("histogram", &[("workload.input_bytes", "8388608"), ("workload.split_bytes", "524288")]),
];

/// Local memory holds a part of each program's, about two fifths: KiB of it, and of a design's programs.
const WORKLOADS: [(&str, &str, &str); 4] = [
    ("redis-random", "4096", "1024"),
    ("redis-seq", "4096", "1024"),
    ("linreg", "4096", "1024"),
    ("histogram", "1024", "256"),
];

/// Ways in which the agent answers page walks, prefetching, and as much memory again at the processor.
const WAYS: [(&str, &str, &str); 5] = [
    ("first line", "remote.page_table", "first-line"),
    ("untracked", "remote.page_table", "untracked"),
    ("next pages", "remote.prefetch", "next"),
    ("by stride", "remote.prefetch", "stride"),
    ("and CPU memory", "remote.cpu_kib", "4096"),
];

/// What the speedup hangs on: costs of a page fault, one-way latencies of the network, and of the link.
const FAULTS: [u64; 4] = [1000, 3200, 10_000, 40_000];
const NETWORKS: [u64; 3] = [500, 1195, 3000];
const LINKS: [u64; 4] = [5, 29, 49, 150];
/// Lengths of a window, nanoseconds; the second is the presets'.
const WINDOWS: [u64; 4] = [250_000, 1_000_000, 4_000_000, 16_000_000];

/// The use cases of table 2 that are built; reclamation and caching are the machines themselves.
const USES: [&str; 7] =
    ["pre-copy", "post-copy", "copy-on-write", "checkpoint", "replicate", "encrypt", "log"];

/// How it is evaluated.
pub(crate) const PAPER: Paper = Paper {
    name: "pberry",
    is_collection: false,
    about: |seed| {
        format!(
            "seed {seed}; tables 1 and 3 by programs of 8 to 136 MB, times of Metis and the rest by small ones of the same kind and windows of 1 ms; fitted: the time to protect a page (pberry.wp-pause)"
        )
    },
    declare,
    finding,
    figures: figures::all,
    tables: crate::no_tables,
    runs: 60,
    live: Some(definitions::loads),
};

type Sets = Vec<(&'static str, String)>;

/// How large programs are on machines, and how large for a design: a quarter, as is the memory that holds a part of them.
const SIZES: [(&str, Changes, Changes); 4] = [
    ("redis-random", REDIS, REDIS_QUARTER),
    ("redis-seq", REDIS, REDIS_QUARTER),
    // 16 splits, as Metis has for each core.
    (
        "linreg",
        &[("workload.split_bytes", "1048576")],
        &[("workload.input_bytes", "4194304"), ("workload.split_bytes", "262144")],
    ),
    (
        "histogram",
        &[("workload.split_bytes", "131072")],
        &[("workload.input_bytes", "524288"), ("workload.split_bytes", "32768")],
    ),
];

const REDIS: Changes = &[("workload.keys", "20000"), ("workload.operations", "8000")];
const REDIS_QUARTER: Changes = &[("workload.keys", "5000"), ("workload.operations", "2000")];

/// What a program of [`SIZES`] is run with.
///
/// # Errors
/// When it is none of them.
fn sized(effort: Effort, workload: &str, more: &[(&'static str, &str)]) -> Result<Sets, ConfigError> {
    let unknown = || ConfigError(format!("{workload}: no size is known for it"));
    let (_, whole, quarter) = SIZES.iter().find(|(name, ..)| *name == workload).ok_or_else(unknown)?;
    let size = if effort == Effort::Whole { whole } else { quarter };
    Ok(size.iter().chain(more).map(|(key, value)| (*key, (*value).to_string())).collect())
}

/// Half the size, for what is varied in many steps: keys at random, two fifths of them local.
fn halved(more: &[(&'static str, String)]) -> Sets {
    let size = [("workload.keys", "10000"), ("workload.operations", "6000"), ("remote.local_kib", "2048")];
    size.map(|(key, value)| (key, value.to_string())).into_iter().chain(more.iter().cloned()).collect()
}

fn with(name: &str, what: &str, value: u64) -> String {
    format!("{name}, {what} {value}")
}

fn with_fault(network: u64, fault: u64) -> String {
    with(&with(PAGES, "network", network), "fault", fault)
}

fn using(machine: &str, used: &str) -> String {
    format!("{machine} for {used}")
}

/// The two Redis as they are tracked, and as they are under the tool that slows them.
fn declare_served(runs: &mut Runs, effort: Effort) -> Result<(), ConfigError> {
    for served in &SERVED {
        let sets = served.tracked(effort);
        let key = |name| Key::new(name, served.workload, 1);
        runs.add_counted(key(FUNCTIONAL), Counted::Windows(served.window), LINES, &sets)?;
        runs.add_counted(key(SLOWED), Counted::Slowed(served.window), LINES, &sets)?;
    }
    Ok(())
}

fn declare_tracks(runs: &mut Runs, effort: Effort) -> Result<(), ConfigError> {
    declare_served(runs, effort)?;
    for (workload, sizes) in MAP_REDUCE {
        let key = Key::new(FUNCTIONAL, workload, 1);
        runs.add_counted(key, Counted::Windows(1), LINES, &owned(sizes))?;
    }
    Ok(())
}

/// Table 3's run time with write-protection and without. The paper's emulator has the same memory behind both (§4.3).
fn declare_pauses(runs: &mut Runs, effort: Effort, workload: &str) -> Result<(), ConfigError> {
    let (mut sets, window_ns) = match Served::named(workload) {
        Some(served) => served.timed(effort),
        None => (sized(effort, workload, &[])?, 1_000_000),
    };
    // All of it is local, behind the link to the agent.
    sets.extend([("remote.local_kib", "262144".into()), ("remote.link_ns", "29".into())]);
    let key = |name| Key::new(name, workload, 1);
    runs.add(key(EMULATED), PAGES, &sets)?;
    sets.push(("remote.protect_ns", window_ns.to_string()));
    runs.add(key(PROTECTED), PAGES, &sets)
}

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    declare_tracks(&mut runs, effort)?;
    for (workload, local, quarter) in WORKLOADS {
        declare_pauses(&mut runs, effort, workload)?;
        let mut add = |name: &str, preset: &str, more: &[(&'static str, &str)]| {
            runs.add(Key::new(name, workload, 1), preset, &sized(effort, workload, more)?)
        };
        let part = if effort == Effort::Whole { local } else { quarter };
        let some = ("remote.local_kib", part);
        let all = ("remote.local_kib", "65536");
        add(PAGES, PAGES, &[some])?;
        add(LINES, LINES, &[some])?;
        add(TRACKED, LINES, &[all])?;
        for (way, key, value) in WAYS.into_iter().filter(|_| workload.starts_with("redis")) {
            add(way, LINES, &[some, (key, value)])?;
        }
    }
    let mut add = |name: &str, preset: &str, more: &[(&'static str, String)]| {
        runs.add(Key::new(name, WORKLOADS[0].0, 1), preset, &halved(more))
    };
    for network in NETWORKS {
        let latency = ("remote.network_ns", network.to_string());
        add(&with(LINES, "network", network), LINES, std::slice::from_ref(&latency))?;
        for fault in FAULTS {
            add(
                &with_fault(network, fault),
                PAGES,
                &[latency.clone(), ("remote.fault_ns", fault.to_string())],
            )?;
        }
    }
    for link in LINKS {
        add(&with(LINES, "link", link), LINES, &[("remote.link_ns", link.to_string())])?;
    }
    for window in WINDOWS {
        let sets = [("remote.window_ns", window.to_string()), ("remote.local_kib", "65536".to_string())];
        add(&with(TRACKED, "window", window), LINES, &sets)?;
    }
    for used in USES {
        let sets = [("remote.use", used.to_string()), ("remote.local_kib", "65536".to_string())];
        add(&using(PAGES, used), PAGES, &sets)?;
        add(&using(LINES, used), LINES, &sets)?;
    }
    let away = [("remote.fault.away_from_ns", "15000000"), ("remote.fault.away_to_ns", "16000000")];
    add(AWAY, LINES, &away.map(|(key, value)| (key, value.to_string())))?;
    Ok(runs)
}

/// The share of dirty blocks that is clean, by a definition of dirty: `tracking`, `tracking.changed` or
/// `tracking.written_back`.
fn clean(runs: &Runs, machine: &str, workload: &str, definition: &str, block: (&str, f64)) -> f64 {
    let get = |unit: &str| runs.get(machine, workload, 1, &format!("{definition}.{unit}"));
    let blocks = get(block.0) * block.1;
    if blocks > 0.0 { 1.0 - get("bytes") / blocks } else { 0.0 }
}

const BLOCKS: [(&str, f64); 3] = [("pages", 4096.0), ("huge_pages", 2_097_152.0), ("lines", 64.0)];

/// Table 1: by bytes stored. A split of the others is a window however slow it is.
fn amplified(runs: &Runs, workload: &str, block: (&str, f64)) -> f64 {
    let machine = if workload.starts_with("redis") { SLOWED } else { FUNCTIONAL };
    clean(runs, machine, workload, "tracking", block)
}

fn amplification(runs: &Runs, workload: &str) -> Finding {
    Finding::Values(BLOCKS.map(|block| amplified(runs, workload, block)).to_vec())
}

/// Table 3: dirty data avoided by lines against pages, by content difference.
fn reduction(runs: &Runs, workload: &str) -> f64 {
    let get = |unit| runs.get(FUNCTIONAL, workload, 1, unit);
    1.0 - get("tracking.changed.lines") * 64.0 / (get("tracking.changed.pages") * 4096.0)
}

fn slowdown(runs: &Runs, workload: &str) -> f64 {
    runs.time(PROTECTED, workload, 1) / runs.time(EMULATED, workload, 1)
}

/// What protecting each further page takes, for 40 GB of pages, in milliseconds: two programs of different size, few of
/// whose pages are written.
fn pause(runs: &Runs) -> f64 {
    let of = |workload, stat| {
        runs.get(PROTECTED, workload, 1, stat) / runs.get(PROTECTED, workload, 1, "os.protections").max(1.0)
    };
    let slope = (of("linreg", "os.protect_time") - of("histogram", "os.protect_time"))
        / (of("linreg", "os.protected_pages") - of("histogram", "os.protected_pages"));
    slope * (40u64 << 30 >> 12) as f64 / 1e6
}

fn no_write_faults(runs: &Runs) -> Finding {
    let sum = |machine: &str, stat: &str| {
        WORKLOADS.map(|(w, ..)| runs.get(machine, w, 1, stat)).iter().sum::<f64>()
    };
    let (write, major) = (sum(LINES, "os.write_faults"), sum(LINES, "os.major_faults"));
    let held = sum(LINES, "remote.walks_held");
    let away = |stat| runs.get(AWAY, WORKLOADS[0].0, 1, stat);
    let (failed, faults) = (away("remote.walks_failed"), away("os.major_faults"));
    Finding::Statement {
        holds: write + major == 0.0 && held > 0.0 && failed > 0.0 && faults > 0.0,
        because: format!(
            "{write} write faults and {major} page faults with lines, {held} pages fetched at their walk; with the host away for 1 ms \
             {failed} walks failed, {faults} page faults waited for it, and the program ended"
        ),
    }
}

fn finding(runs: &Runs, claim: &Claim, _: u64) -> Finding {
    match claim.id.as_str() {
        "pberry.amplification.redis-random" => amplification(runs, "redis-random"),
        "pberry.amplification.redis-seq" => amplification(runs, "redis-seq"),
        "pberry.amplification.linreg" => amplification(runs, "linreg"),
        "pberry.amplification.histogram" => amplification(runs, "histogram"),
        "pberry.reduction" => Finding::Values(WORKLOADS.map(|(w, ..)| reduction(runs, w)).to_vec()),
        "pberry.wp-slowdown" => {
            let metis = mean(["linreg", "histogram"].map(|w| slowdown(runs, w)));
            Finding::Values(vec![slowdown(runs, "redis-random"), slowdown(runs, "redis-seq"), metis])
        }
        "pberry.wp-pause" => Finding::Values(vec![pause(runs)]),
        "pberry.no-write-faults" => no_write_faults(runs),
        other => Finding::unknown(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_a_size_and_one_that_has_none_is_an_error() {
        for effort in [Effort::Whole, Effort::Design] {
            assert!(WORKLOADS.iter().all(|(workload, ..)| sized(effort, workload, &[]).is_ok()));
            let unknown = sized(effort, "linear-regression", &[]).unwrap_err();
            assert_eq!(unknown.0, "linear-regression: no size is known for it");
        }
    }
}
