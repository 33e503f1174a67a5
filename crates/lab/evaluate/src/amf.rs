//! AMF (HPCA 2018), §6: Table 4's experiments, energy, pass-through, SQLite and Redis; and beyond the paper,
//! AMF beside what else could be done with the same persistent memory, slower than DRAM as it is.

mod figures;

use crate::claims::Claim;
use crate::runs::{Changes, Key, Runs, owned};
use crate::verdict::Finding;
use crate::{Effort, Paper};
use machine::{ConfigError, Description, WorkloadDescription};
use protocol::params::{Among, Source};

const UNIFIED: &str = "unified";
const AMF: &str = "amf";
/// All of the platform's persistent memory is hidden, where the unified design has the experiment's.
const WHOLE: &str = "amf, 448 GiB hidden";

/// Table 4: instances, and GiB of persistent memory.
const EXPERIMENTS: [(u64, u64); 4] = [(129, 64), (193, 128), (277, 192), (385, 320)];
/// When batches of instances came is not published: the middle, by factors, of 100 ms and 10 s, as other open values.
const ARRIVALS: &str = "1000000000";
/// The mix of figures 13 and 14 (§6.1).
const MIX_INSTANCES: u64 = 675;
/// It is run at a 32nd of the size: AMF hides all of the platform's persistent
/// memory, the unified design has an experiment's, GiB.
const MIX: u64 = MIX_INSTANCES / MIX_SCALE;
const MIX_HIDDEN: u64 = 448 / MIX_SCALE;
const MIX_SCALE: u64 = 32;
/// Table 4's experiments with as much persistent memory for both, and what is beyond the paper, are run at an eighth of the size.
/// Energy over the other design's hangs on it by a hundredth; where DRAM swaps, a mix takes 15 times as long as with all of it
/// in one space, and at a sixteenth 7 times.
const SCALE: u64 = 8;
/// The platform's swap device.
const SWAP: &str = "os.swap_gib";
/// Cores of the platform, each of which starts an instance of a batch.
const CORES: u64 = 32;
/// The one that is shown over time.
const SHOWN: usize = 1;

/// The same persistent memory in other designs.
const DESIGNS: [&str; 7] =
    ["amf@pm", "unified@pm", "hotplug", "tiering", "dram-cache", "pm-block", "dram-swap"];
/// AMF's hidden memory as another system of this project: its word, and what it takes besides.
const HIDDEN: [(&str, &str, Changes); 3] = [
    ("a medium", "pm", &[]),
    ("NVDIMM-C", "nvdimmc", &[("nvdimm.slots_mib", "1024")]),
    ("remote memory", "remote", &[("remote.local_kib", "1048576")]),
];

const DATABASES: [(&str, &[&str]); 2] = [
    ("sqlite-mem", &["insert", "update", "select", "delete"]),
    ("redis-mem", &["set", "get", "lpush", "lpop"]),
];

/// How it is evaluated.
pub(crate) const PAPER: Paper = Paper {
    name: "amf",
    is_collection: false,
    about: |seed| {
        format!(
            "seed {seed}; table 4 at an eighth of the size: instances of 1 GiB on average, so that they need more than there is, and \
             the same persistent memory for both; nothing is fitted"
        )
    },
    declare,
    finding,
    figures: figures::all,
    tables: crate::no_tables,
    runs: 60,
    live: None,
};

fn experiment(number: usize) -> String {
    format!("exp. {}", number + 1)
}

/// The name of a machine in an experiment.
fn at(machine: &str, number: usize) -> String {
    format!("{machine}, {}", experiment(number))
}

/// The name of a machine with such hidden memory.
fn hiding(what: &str) -> String {
    format!("amf, {what}")
}

/// Persistent memory of a machine in the mix of 675 instances, GiB: AMF has the same in all of them.
fn mix_pm(machine: &str, number: usize) -> u64 {
    if machine == AMF { MIX_HIDDEN } else { EXPERIMENTS[number].1 / MIX_SCALE }
}

/// The name of a machine in that mix.
fn mixed(machine: &str, number: usize) -> String {
    format!("{machine}, {MIX_INSTANCES} instances, {} GiB", MIX_SCALE * mix_pm(machine, number))
}

/// The name of STREAM's run with arrays in device files, or not.
fn stream(passthrough: bool) -> &'static str {
    if passthrough { "device files" } else { "arrays" }
}

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    let mix = |instances: u64, pm: u64| {
        vec![
            ("workload.instances", instances.to_string()),
            ("workload.scale_percent", "118".into()),
            ("workload.interval_ns", ARRIVALS.into()),
            ("fusion.pm_gib", pm.to_string()),
            ("fusion.device_gib", "0".into()),
        ]
    };
    for (workload, _) in DATABASES {
        let sets = match effort {
            Effort::Whole => Vec::new(),
            Effort::Design => eighth_of_database(workload)?,
        };
        for machine in [UNIFIED, AMF] {
            runs.add(Key::new(machine, workload, 1), machine, &sets)?;
        }
    }
    for passthrough in [true, false] {
        let sets = [
            ("workload.passthrough", passthrough.to_string()),
            ("workload.array_bytes", (1_u64 << 30).to_string()),
            ("workload.operations", "4".into()),
        ];
        runs.add(Key::new(stream(passthrough), "stream", 1), AMF, &sets)?;
    }
    // A batch starts as many instances as there are cores.
    let scaled = |by: u64, instances: u64, pm: u64| {
        let mut sets = mix(instances, pm);
        sets.extend([
            ("fusion.dram_gib", (64 / by).to_string()),
            ("os.cores", (CORES / by).to_string()),
            ("workload.batch", (CORES / by).to_string()),
        ]);
        sets
    };
    let by = if effort == Effort::Whole { SCALE } else { MIX_SCALE };
    let (instances, _) = EXPERIMENTS[SHOWN];
    let sets = scaled(by, instances / by, 448 / by);
    add_swapping(&mut runs, WHOLE, AMF, by, sets)?;
    for (number, (instances, pm)) in EXPERIMENTS.iter().enumerate().rev() {
        for machine in [UNIFIED, AMF] {
            let sets = scaled(by, instances / by, pm / by);
            add_swapping(&mut runs, &at(machine, number), machine, by, sets)?;
        }
    }
    let beyond = || scaled(SCALE, 160 / SCALE, 128 / SCALE);
    for number in 0..EXPERIMENTS.len() {
        for machine in [UNIFIED, AMF] {
            let sets = scaled(MIX_SCALE, MIX, mix_pm(machine, number));
            add_swapping(&mut runs, &mixed(machine, number), machine, MIX_SCALE, sets)?;
        }
    }
    for design in DESIGNS {
        add_swapping(&mut runs, design, design, SCALE, beyond())?;
    }
    for (what, hidden, besides) in HIDDEN {
        let mut sets = beyond();
        sets.push(("fusion.hidden", hidden.into()));
        sets.extend(owned(besides));
        add_swapping(&mut runs, &hiding(what), "amf@pm", SCALE, sets)?;
    }
    Ok(runs)
}

/// Declares a mix on a platform at a part of its size, whose swap device, if it has one, is as much smaller, and as open.
fn add_swapping(
    runs: &mut Runs,
    name: &str,
    machine: &str,
    by: u64,
    mut sets: Vec<(&'static str, String)>,
) -> Result<(), ConfigError> {
    let key = Key::new(name, "spec-mix", 1);
    let preset = Description::preset(machine)?;
    // Rows are of what acts alone.
    let Some((.., source)) = preset.rows().find(|(param, ..)| param.key == SWAP) else {
        return runs.add(key, machine, &sets);
    };
    sets.push((SWAP, (preset.settings.number(SWAP) / by).to_string()));
    runs.add(key.clone(), machine, &sets)?;
    if let Some(source) = over(&source, by) {
        runs.source(&key, SWAP, source);
    }
    Ok(())
}

/// What an open size may be on a platform at a part of its size.
fn over(source: &str, by: u64) -> Option<String> {
    let open = Source::read(source).ok()?.open()?;
    let Among::Interval(low, high) = open.among else { return None };
    let part = |text: &str| Some(text.parse::<u64>().ok()? / by);
    Some(format!("open {}..{}: over {by}; {}", part(low)?, part(high)?, open.reason))
}

/// An eighth of a database on an eighth of the platform.
fn eighth_of_database(workload: &str) -> Result<Vec<(&'static str, String)>, ConfigError> {
    let all = WorkloadDescription::named(workload)?.settings.number("workload.operations");
    let swap = Description::preset(AMF)?.settings.number(SWAP);
    let parts = [("workload.operations", all), ("fusion.dram_gib", 64), ("fusion.pm_gib", 448), (SWAP, swap)];
    Ok(parts.map(|(key, value)| (key, (value / 8).to_string())).to_vec())
}

fn of(runs: &Runs, machine: &str, number: usize, stat: &str) -> f64 {
    runs.get(&at(machine, number), "spec-mix", 1, stat)
}

fn in_mix(runs: &Runs, machine: &str, number: usize, stat: &str) -> f64 {
    runs.get(&mixed(machine, number), "spec-mix", 1, stat)
}

fn faults(runs: &Runs, machine: &str, number: usize) -> f64 {
    ["os.minor_faults", "os.major_faults"].iter().map(|stat| in_mix(runs, machine, number, stat)).sum()
}

/// Most and average of what AMF avoids, over the experiments; where the unified design has none, nothing is avoided.
fn avoided(value: impl Fn(&str, usize) -> f64) -> Finding {
    let saved = |n: usize| {
        let all = value(UNIFIED, n);
        if all > 0.0 { 1.0 - value(AMF, n) / all } else { 0.0 }
    };
    let all: Vec<f64> = (0..EXPERIMENTS.len()).map(saved).collect();
    let most = all.iter().copied().fold(f64::MIN, f64::max);
    Finding::Values(vec![most, all.iter().sum::<f64>() / all.len() as f64])
}

/// How much more of an operation AMF does in a second.
fn gain(runs: &Runs, workload: &str, kind: &str) -> f64 {
    let rate = |machine| runs.get(machine, workload, 1, &format!("phase.{kind}"));
    rate(AMF) / rate(UNIFIED)
}

fn finding(runs: &Runs, claim: &Claim, _seed: u64) -> Finding {
    let average = |workload: &str, kinds: &[&str]| {
        kinds.iter().map(|k| gain(runs, workload, k)).sum::<f64>() / kinds.len() as f64
    };
    match claim.id.as_str() {
        "amf.descriptors" => {
            let last = EXPERIMENTS.len() - 1;
            let bytes = in_mix(runs, UNIFIED, last, "os.descriptor_bytes_max");
            let gib = (64 / MIX_SCALE + mix_pm(UNIFIED, last)) as f64;
            Finding::Values(vec![bytes / gib * 1024.0 / f64::from(1 << 30)])
        }
        "amf.page-faults" => avoided(|machine, n| faults(runs, machine, n)),
        "amf.swap" => avoided(|machine, n| in_mix(runs, machine, n, "os.swap_bytes_max")),
        "amf.sqlite" => {
            let [(sqlite, kinds), _] = DATABASES;
            let most = kinds.iter().map(|k| gain(runs, sqlite, k)).fold(f64::MIN, f64::max);
            Finding::Values(vec![most, average(sqlite, kinds)])
        }
        "amf.redis" => {
            let [_, (redis, kinds)] = DATABASES;
            Finding::Values(vec![average(redis, &kinds[..2]), average(redis, &kinds[2..])])
        }
        "amf.energy" => {
            let pair = |n| [AMF, UNIFIED].map(|m| of(runs, m, n, "energy_j"));
            let all: Vec<[f64; 2]> = (0..EXPERIMENTS.len()).map(pair).collect();
            let words: Vec<String> = all.iter().map(|[a, u]| format!("{:.3}", a / u)).collect();
            Finding::Statement {
                holds: all.iter().all(|[a, u]| a < u),
                because: format!(
                    "energy over the unified design's, experiments 1 to 4: {}",
                    words.join(", ")
                ),
            }
        }
        other => Finding::unknown(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bands::space::Space;

    #[test]
    fn the_swap_device_of_a_smaller_platform_is_as_open_as_the_platforms() {
        assert_eq!(over("open 576..1152: why", 32).as_deref(), Some("open 18..36: over 32; why"));
        assert_eq!(over("paper: AMF §6", 32), None);
        let runs = declare(Effort::Design).unwrap();
        let (machine, workload, _) = runs.declared(&Key::new(&mixed(UNIFIED, 0), "spec-mix", 1)).unwrap();
        let space = Space::of([(machine, workload)], &std::collections::BTreeSet::new());
        let swap = space.dimensions.iter().find(|d| d.key == SWAP).unwrap();
        assert_eq!((swap.value.as_str(), swap.at(0.0), swap.at(1.0)), ("24", "18".into(), "36".into()));
    }
}
