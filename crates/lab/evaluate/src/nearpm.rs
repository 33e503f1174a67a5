//! NearPM (EuroSys 2023), §2 and §8: figures 1 and 15 to 20, one beyond, and the scoreboard.

mod artifact;
mod figures;
mod on_optane;
mod order;

use crate::claims::Claim;
use crate::runs::{Changes, Key, Runs, acting, owned};
use crate::verdict::Finding;
use crate::{Effort, Paper};
use machine::{ConfigError, Description};

const CPU: &str = "nearpm-cpu";
const SD: &str = "nearpm-sd";
const SWSYNC: &str = "nearpm-md-swsync";
const MD: &str = "nearpm-md";
const MACHINES: [&str; 4] = [CPU, SD, SWSYNC, MD];
/// The programs of the paper's evaluation (table 4).
pub const WORKLOADS: [&str; 9] =
    ["tpcc", "tatp", "btree", "rbtree", "pm-skiplist", "hashmap", "pm-memcached", "redis", "pmemkv"];
/// As the paper calls them.
const MECHANISMS: [(&str, &str); 3] =
    [("logging", "logging"), ("checkpoint", "checkpointing"), ("shadow", "shadow paging")];
/// Units of figure 19; four are the preset's.
const UNITS: [u64; 3] = [1, 2, 4];
const THREADS: [u64; 5] = [1, 2, 4, 8, 16];
const SERVERS: [&str; 2] = ["pm-memcached", "redis"];
/// Bytes of the micro-benchmark's copies.
const SIZES: [u64; 9] = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384];

/// What is tried beyond the paper, with logging, against the same workload on the cores of a machine changed alike.
const BEYOND: [(&str, &str, Changes); 5] = [
    ("two devices", MD, &[]),
    ("16 units", MD, &[("neardata.units", "16")]),
    ("four devices", MD, &[("neardata.devices", "4")]),
    ("under ASAP", "nearpm-md@asap", &[]),
    ("behind CXL", "nearpm-md@cxl", &[]),
];

/// How it is evaluated.
pub const PAPER: Paper = Paper {
    name: "nearpm",
    is_collection: false,
    about: |seed| format!("seed {seed}; fitted: what the presets and the workloads' parameters say is"),
    declare,
    finding,
    figures: figures::all,
    tables: |runs| [artifact::tables(runs), on_optane::tables(runs)].concat(),
    runs: 200,
    live: None,
};

/// Transactions: enough for a steady state, and few where each takes long.
fn operations(workload: &str, effort: Effort) -> u64 {
    let all = if workload == "tpcc" { 200 } else { 1000 };
    if effort == Effort::Whole { all } else { all / 5 }
}

/// A name for a machine with a mechanism and what else distinguishes a run.
fn name(machine: &str, mechanism: &str) -> String {
    format!("{machine} {mechanism}")
}

fn with_units(units: u64) -> String {
    format!("{units} units")
}

fn add(
    (runs, effort): (&mut Runs, Effort),
    of: (&str, &str, &str),
    workload: &str,
    threads: u64,
    more: &[(&'static str, String)],
) -> Result<(), ConfigError> {
    let (named, preset, mechanism) = of;
    let mut sets = vec![
        ("workload.operations", (operations(workload, effort) * threads).to_string()),
        ("workload.mechanism", mechanism.to_string()),
    ];
    if mechanism == "shadow" {
        // As the artifact's programs do.
        sets.push(("workload.pages", "first".to_string()));
    }
    sets.extend(more.iter().cloned());
    runs.add(Key::new(&name(named, mechanism), workload, threads), preset, &sets)
}

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    for (mechanism, _) in MECHANISMS {
        for workload in WORKLOADS {
            for machine in MACHINES {
                add((&mut runs, effort), (machine, machine, mechanism), workload, 1, &[])?;
            }
            for units in [1, 2] {
                let more = [("neardata.units", units.to_string())];
                add((&mut runs, effort), (&with_units(units), MD, mechanism), workload, 1, &more)?;
            }
        }
    }
    for workload in SERVERS {
        for threads in THREADS {
            for machine in [CPU, MD] {
                add((&mut runs, effort), (machine, machine, "logging"), workload, threads, &[])?;
            }
        }
    }
    for size in SIZES {
        for machine in [CPU, SD] {
            let sets = [("workload.block_size", size.to_string()), ("workload.operations", "50".to_string())];
            runs.add(Key::new(&copying(machine, size), "copy", 1), machine, &sets)?;
        }
    }
    for (label, preset, changes) in BEYOND {
        let mut by_cores_alone = Description::preset(preset)?;
        by_cores_alone.set("neardata.offload", "false")?;
        for workload in WORKLOADS {
            add((&mut runs, effort), (label, preset, "logging"), workload, 1, &owned(changes))?;
            // What belongs to requests does nothing where there are none.
            let mut alone = acting(&by_cores_alone, owned(changes));
            alone.push(("neardata.offload", "false".into()));
            add((&mut runs, effort), (&by_cores(label), preset, "logging"), workload, 1, &alone)?;
        }
    }
    if effort == Effort::Whole {
        artifact::declare(&mut runs)?;
        on_optane::declare((&mut runs, effort))?;
    }
    Ok(runs)
}

fn copying(machine: &str, size: u64) -> String {
    format!("{machine} {size} B")
}

fn by_cores(label: &str) -> String {
    format!("{label}, by the cores")
}

/// A workload's time on the cores over its time on a machine.
fn speedup(runs: &Runs, (cpu, machine): (&str, &str), mechanism: &str, workload: &str, threads: u64) -> f64 {
    runs.time(&name(cpu, mechanism), workload, threads)
        / runs.time(&name(machine, mechanism), workload, threads)
}

/// The same of the time inside crash-consistency regions.
fn region_speedup(runs: &Runs, (cpu, machine): (&str, &str), mechanism: &str, workload: &str) -> f64 {
    let region = |m: &str| runs.get(&name(m, mechanism), workload, 1, "neardata.region_time_ns");
    region(cpu) / region(machine)
}

/// The share of the run that goes into crash consistency on the cores, and the share of that which is movement.
fn shares(runs: &Runs, cpu: &str, mechanism: &str, workload: &str) -> (f64, f64) {
    let get = |stat| runs.get(&name(cpu, mechanism), workload, 1, stat);
    let (region, moved) = (get("neardata.region_time_ns"), get("neardata.movement_time_ns"));
    (get("neardata.region_share"), moved / region)
}

/// A copy's time on the cores over its time on a device.
fn copy_speedup(runs: &Runs, size: u64) -> f64 {
    let time = |machine| runs.time(&copying(machine, size), "copy", 1);
    time(CPU) / time(SD)
}

fn average(values: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = values.collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// The numbers of a claim that is of all programs and mechanisms, on presets whose names have this ending; none for other claims.
fn of_programs(runs: &Runs, id: &str, ending: &str) -> Option<Vec<f64>> {
    let named = |machine: &str| format!("{machine}{ending}");
    let cpu = named(CPU);
    let each = |of: &dyn Fn(&str, &str) -> f64| {
        MECHANISMS.iter().map(|(m, _)| average(WORKLOADS.iter().map(|w| of(m, w)))).collect()
    };
    let whole = |machine| each(&|m, w| speedup(runs, (&cpu, &named(machine)), m, w, 1));
    Some(match id {
        "nearpm.overhead-share" => each(&|m, w| shares(runs, &cpu, m, w).0),
        "nearpm.movement-share" => each(&|m, w| shares(runs, &cpu, m, w).1),
        "nearpm.region-speedup" => each(&|m, w| region_speedup(runs, (&cpu, &named(MD)), m, w)),
        "nearpm.e2e.md" => whole(MD),
        "nearpm.e2e.sd" => whole(SD),
        "nearpm.e2e.md-swsync" => whole(SWSYNC),
        _ => return None,
    })
}

fn finding(runs: &Runs, claim: &Claim, seed: u64) -> Finding {
    if let Some(values) = of_programs(runs, &claim.id, "") {
        return Finding::Values(values);
    }
    match claim.id.as_str() {
        "nearpm.micro" => Finding::Values([64, 16_384].map(|s| copy_speedup(runs, s)).to_vec()),
        "nearpm.units" => units(runs),
        "nearpm.threads" => threads(runs),
        "nearpm.persistence-domain" => match persistence_domain() {
            Ok(bytes) => Finding::Values(vec![bytes as f64]),
            Err(e) => Finding::Open(e.to_string()),
        },
        "nearpm.ppo" if runs.any_done() => order::finding(seed),
        "nearpm.ppo" => Finding::not_run(),
        other => Finding::unknown(other),
    }
}

fn persistence_domain() -> Result<usize, ConfigError> {
    let preset = Description::preset(MD)?;
    Ok(::nearpm::plug::dispatcher(&preset.settings, preset.address_map()?, 0).persistence_domain_bytes())
}

/// The average speedup with so many units.
fn with_units_speedup(runs: &Runs, units: u64) -> f64 {
    let machine = if units == 4 { MD.to_string() } else { with_units(units) };
    let all = MECHANISMS.iter().flat_map(|(m, _)| WORKLOADS.iter().map(move |w| (*m, *w)));
    average(all.map(|(m, w)| speedup(runs, (CPU, &machine), m, w, 1)))
}

fn units(runs: &Runs) -> Finding {
    let all = UNITS.map(|u| with_units_speedup(runs, u));
    Finding::Statement {
        holds: all[0] < all[1] && all[1] < all[2],
        because: format!("{:.4}, {:.4} and {:.4} with 1, 2 and 4 units", all[0], all[1], all[2]),
    }
}

fn threads(runs: &Runs) -> Finding {
    let of = |w: &str| THREADS.map(|t| speedup(runs, (CPU, MD), "logging", w, t));
    // Less than a hundredth is no trend.
    let shrinks = |all: &[f64; 5]| all[4] < 0.99 * all[0] && all.iter().all(|s| *s > 1.0);
    let (memcached, redis) = (of(SERVERS[0]), of(SERVERS[1]));
    let say = |all: &[f64; 5]| all.iter().map(|s| format!("{s:.2}")).collect::<Vec<_>>().join(", ");
    Finding::Statement {
        holds: shrinks(&memcached) && shrinks(&redis),
        because: format!("1 to 16 threads: Memcached {}; Redis {}", say(&memcached), say(&redis)),
    }
}
