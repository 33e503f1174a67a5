//! ASAP (HPCA 2022), §III and §VII: figures 2, 3, 8 to 13, and the scoreboard.
//!
//! Averages over workloads are geometric means of ratios. Every run does half of the artifact's operations, of Echo's a fifth.

mod on_optane;

use crate::claims::Claim;
use crate::figure::{Figure, Row};
use crate::runs::{Changes, Key, Runs, mean, owned};
use crate::verdict::Finding;
use crate::{Effort, Paper};
use explore::{Outcome, explore};
use machine::{ConfigError, Description, WorkloadDescription};
use ordering::asap::Asap;
use ordering::explore::PathSpace;
use rayon::prelude::*;
use std::sync::OnceLock;
use units::watch;

pub(crate) const WORKLOADS: [&str; 14] = [
    "nstore",
    "echo",
    "vacation",
    "memcached",
    "heap",
    "queue",
    "skiplist",
    "cceh",
    "fast-fair",
    "dash-lh",
    "dash-eh",
    "p-art",
    "p-clht",
    "p-masstree",
];
pub(crate) const WHISPER: [&str; 4] = ["nstore", "echo", "vacation", "memcached"];
pub(crate) const CONCURRENT: [&str; 6] = ["cceh", "dash-lh", "dash-eh", "p-art", "p-clht", "p-masstree"];
const BELOW_BASELINE: [&str; 5] = ["queue", "cceh", "dash-lh", "dash-eh", "p-art"];
const MACHINES: [&str; 7] = ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "bbb", "eadr"];
const ARTIFACT: [&str; 6] = ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "eadr"];
const THREADS: [u64; 4] = [1, 2, 4, 8];
/// Media time of 64 bytes written, in ns: 1.15, 2.3, 4.6 and 9.2 GB/s a controller.
const WRITE_SERVICES: [(&str, f64); 4] = [("51.84", 1.15), ("25.92", 2.3), ("12.96", 4.6), ("6.48", 9.2)];

/// Machines of the ablation: a name, a preset, and what is changed.
const ABLATION: [(&str, &str, Changes); 4] = [
    (
        "hops-rp, eager trigger",
        "hops-rp",
        &[("ordering.flush_trigger", "2"), ("ordering.flush_timer_ns", "500")],
    ),
    ("asap-rp, pipelined commit", "asap-rp", &[("ordering.commit_pipelined", "true")]),
    ("asap-rp, free undo reads", "asap-rp", &[("ordering.undo_reads", "false")]),
    ("asap-rp, not eager", "asap-rp", &[("ordering.eager", "false")]),
];

/// How it is evaluated.
pub const PAPER: Paper = Paper {
    name: "asap",
    is_collection: false,
    about: |seed| {
        format!(
            "4 threads, 2 controllers, seed {seed}; presets of the paper; half of the artifact's operations, of Echo's a fifth; averages are geometric means"
        )
    },
    declare,
    finding: |runs, claim, _| finding(runs, claim),
    figures,
    tables: on_optane::tables,
    runs: 100,
    live: None,
};

/// A program as large as its original at the start, with so many operations and what else is changed: CCEH's public source makes
/// 16,384 segments.
pub(crate) fn sized(workload: &str, operations: &str, more: Changes) -> Vec<(&'static str, String)> {
    let original: Changes = match workload {
        "cceh" => &[("workload.initial_depth", "14"), ("workload.thread_mib", "512")],
        _ => &[],
    };
    let all = owned(original).into_iter().chain(owned(more));
    all.chain([("workload.operations", operations.to_string())]).collect()
}

fn declare(effort: Effort) -> Result<Runs, ConfigError> {
    let mut runs = Runs::default();
    for workload in WORKLOADS {
        let operations = operations(workload, effort)?;
        let sized = |more| sized(workload, &operations, more);
        let key = |machine: &str, threads| Key::new(machine, workload, threads);
        for machine in MACHINES {
            runs.add(key(machine, 4), machine, &sized(&[]))?;
        }
        for machine in ["hops-rp", "asap-rp"] {
            for threads in THREADS {
                runs.add(key(machine, threads), machine, &sized(&[]))?;
            }
        }
        for machine in ARTIFACT {
            let name = format!("{machine}@artifact");
            runs.add(key(&name, 4), &name, &sized(&[]))?;
        }
        for (name, preset, changes) in ABLATION {
            runs.add(key(name, 4), preset, &sized(changes))?;
        }
    }
    if effort == Effort::Whole {
        on_optane::declare(&mut runs)?;
    }
    for (service, _) in WRITE_SERVICES {
        for machine in ["hops-rp", "asap-rp"] {
            let key = Key::new(&format!("{machine} {service}"), "bandwidth", 1);
            runs.add(key, machine, &[("memory.pm.write_service_ns", service.into())])?;
        }
    }
    Ok(runs)
}

/// Half of the artifact's, or a tenth: means over workloads are the same within 2 %. An operation of Echo has fifty epochs,
/// and a fifth of them is enough.
fn operations(workload: &str, effort: Effort) -> Result<String, ConfigError> {
    let all = WorkloadDescription::named(workload)?.settings.number("workload.operations");
    let part = match effort {
        Effort::Whole if workload == "echo" => 5,
        Effort::Whole => 2,
        Effort::Design => 10,
    };
    Ok((all / part).to_string())
}

/// Speedup of a machine over another, with 4 threads.
fn speedup(runs: &Runs, machine: &str, over: &str, workload: &str) -> f64 {
    runs.time(over, workload, 4) / runs.time(machine, workload, 4)
}

fn average(runs: &Runs, machine: &str, over: &str) -> f64 {
    mean(WORKLOADS.map(|w| speedup(runs, machine, over, w)))
}

/// How many times as fast as another a machine is on average, of a claim about that: which of them, and which other.
fn compared(id: &str) -> Option<[&'static str; 2]> {
    Some(match id {
        "asap.speedup.rp" => ["asap-rp", "intel"],
        "asap.speedup.ep" => ["asap-ep", "intel"],
        "asap.over-hops.ep" => ["asap-ep", "hops-ep"],
        "asap.over-hops.rp" => ["asap-rp", "hops-rp"],
        "asap.of-ideal" => ["eadr", "asap-rp"],
        _ => return None,
    })
}

fn finding(runs: &Runs, claim: &Claim) -> Finding {
    let value = |v: f64| Finding::Values(vec![v]);
    if let Some([machine, over]) = compared(&claim.id) {
        return value(average(runs, machine, over));
    }
    match claim.id.as_str() {
        "asap.bandwidth" => value(mean(
            WRITE_SERVICES.map(|(s, _)| bandwidth(runs, "asap-rp", s) / bandwidth(runs, "hops-rp", s)),
        )),
        "asap.hops-ep-below-baseline" => below_baseline(runs),
        "asap.rp-beats-ep" => release_beats_epoch(runs),
        "asap.cross-deps" => cross_dependences(runs),
        "asap.pb-occupancy" => persist_buffers(runs),
        "asap.rt-occupancy" => recovery_tables(runs),
        "asap.drain.eadr" => drain(|s| {
            // The second level includes the first; half of the blocks are dirty.
            (32 * s.number("l2.size_bytes") + s.number("llc.size_bytes")) as f64 / 2.0 / 1e6
        }),
        "asap.drain.bbb" => drain(|s| (32 * s.number("ordering.persist_buffer") * 64) as f64 / 1e3),
        "asap.drain.asap" => drained_undo_records(runs),
        "asap.theorem.progress" if runs.any_done() => theorem(|message| message.starts_with("deadlock")),
        "asap.theorem.recovery" if runs.any_done() => theorem(|message| !message.starts_with("deadlock")),
        "asap.theorem.progress" | "asap.theorem.recovery" => Finding::not_run(),
        other => Finding::unknown(other),
    }
}

pub(crate) fn statement(holds: bool, because: String) -> Finding {
    Finding::Statement { holds, because }
}

/// What is explored for the theorems: everything full, and everything with room.
const SPACES: [PathSpace<Asap>; 2] = [
    PathSpace { epochs: 3, ..PathSpace::small(Asap { recovery_table: 1, ..Asap::SMALL }) },
    PathSpace { persist_buffer: 2, ..PathSpace::small(Asap::SMALL) },
];

const STATES: usize = 5_000_000;

/// Exhaustive exploration of small machines; both theorems hang on the same one.
fn explored() -> &'static [Outcome] {
    static EXPLORED: OnceLock<Vec<Outcome>> = OnceLock::new();
    let own = watch::entered();
    let one = |space| watch::shared(own.as_ref(), || explore(space, STATES));
    EXPLORED.get_or_init(|| SPACES.par_iter().map(one).collect())
}

fn theorem(is_about: impl Fn(&str) -> bool) -> Finding {
    let explored = explored();
    if let Some(cut) = explored.iter().find(|o| !o.complete && o.violation.is_none()) {
        return Finding::Open(format!("more than {} states", cut.states));
    }
    let states: usize = explored.iter().map(|o| o.states).sum();
    let violation = explored.iter().filter_map(|o| o.violation.as_ref()).find(|v| is_about(&v.message));
    match violation {
        Some(v) => statement(false, v.message.clone()),
        None => statement(true, format!("{states} states of two small machines, a power failure in each")),
    }
}

fn listed(runs: &Runs, workloads: &[&str], f: impl Fn(&Runs, &str) -> f64) -> String {
    workloads.iter().map(|w| format!("{w} {:.2}", f(runs, w))).collect::<Vec<_>>().join(", ")
}

fn below_baseline(runs: &Runs) -> Finding {
    let over_intel = |runs: &Runs, w: &str| speedup(runs, "hops-ep", "intel", w);
    let below = BELOW_BASELINE.iter().all(|w| over_intel(runs, w) < 1.0);
    let above = WHISPER.iter().all(|w| over_intel(runs, w) >= 1.0);
    let text = listed(runs, &[&BELOW_BASELINE[..], &WHISPER[..]].concat(), over_intel);
    statement(below && above, format!("HOPS_EP over Intel: {text}"))
}

fn release_beats_epoch(runs: &Runs) -> Finding {
    let (hops, asap) = (average(runs, "hops-rp", "hops-ep"), average(runs, "asap-rp", "asap-ep"));
    let holds = hops > 1.0 && asap > 1.0 && asap - 1.0 < (hops - 1.0) / 2.0;
    statement(holds, format!("release over epoch persistency: HOPS {hops:.3}, ASAP {asap:.3}"))
}

/// Dependences for each hundred epochs.
fn dependence_rate(runs: &Runs, workload: &str) -> f64 {
    let get = |name| runs.get("asap-rp", workload, 4, name);
    100.0 * get("ordering.cross_dependences") / get("ordering.epochs").max(1.0)
}

fn cross_dependences(runs: &Runs) -> Finding {
    // The paper gives no number for rare and frequent: each that it calls frequent has more than any that it calls rare.
    let rates = |of: &[&str]| of.iter().map(|w| dependence_rate(runs, w)).collect::<Vec<_>>();
    let most = rates(&WHISPER).into_iter().fold(0.0, f64::max);
    let holds = rates(&CONCURRENT).into_iter().all(|rate| rate > most);
    let text = listed(runs, &[&WHISPER[..], &CONCURRENT[..]].concat(), dependence_rate);
    statement(holds, format!("for each hundred epochs: {text}"))
}

fn persist_buffers(runs: &Runs) -> Finding {
    let over = |machine: &str, stat: &str| {
        WORKLOADS.map(|w| runs.get(machine, w, 4, stat)).iter().sum::<f64>() / 14.0
    };
    let of = |stat: &str| (over("asap-rp", stat), over("hops-rp", stat));
    let ((asap, hops), (asap99, hops99)) =
        (of("ordering.persist_buffer.mean"), of("ordering.persist_buffer.p99"));
    let holds = asap < hops / 2.0 && asap99 < hops99 && asap < 16.0;
    statement(
        holds,
        format!(
            "mean of means {asap:.1} against {hops:.1}, of 99th percentiles {asap99:.1} against {hops99:.1}, of 32"
        ),
    )
}

fn recovery_tables(runs: &Runs) -> Finding {
    let most = |w: &str, threads| runs.get("asap-rp", w, threads, "ordering.recovery_table.max").max(1.0);
    let rise = mean(WORKLOADS.map(|w| most(w, 8) / most(w, 4)));
    let nacks = runs.get("asap-rp", "nstore", 4, "ordering.nacks");
    let nstore = speedup(runs, "asap-rp", "hops-rp", "nstore");
    let holds = rise <= 1.25 && nacks > 0.0 && nstore >= 1.0;
    statement(
        holds,
        format!("8 threads over 4: {rise:.2}; nstore: {nacks} NACKs, {nstore:.2} times as fast as HOPS"),
    )
}

fn drain(bytes: impl Fn(&protocol::Settings) -> f64) -> Finding {
    match Description::preset("intel") {
        Ok(d) => Finding::Values(vec![bytes(&d.settings)]),
        Err(e) => Finding::Open(e.to_string()),
    }
}

fn drained_undo_records(runs: &Runs) -> Finding {
    let most = |w: &str| {
        runs.get("asap-rp", w, 4, "ordering.undo_table.max").max(runs.get(
            "asap-rp",
            w,
            8,
            "ordering.undo_table.max",
        ))
    };
    let bytes = WORKLOADS.iter().map(|w| most(w) * 64.0 * 2.0).fold(0.0, f64::max);
    statement(bytes < 4096.0, format!("at most {bytes} bytes of undo records in two tables at once"))
}

fn bandwidth(runs: &Runs, machine: &str, service: &str) -> f64 {
    runs.get(&format!("{machine} {service}"), "bandwidth", 1, "throughput.operations_per_second") * 256.0
        / 1e9
}

fn names(machines: &[&str]) -> Vec<String> {
    machines.iter().map(ToString::to_string).collect()
}

/// A row for every workload and machine, and the average where `with_mean` asks for it.
fn table(machines: &[&str], with_mean: bool, value: impl Fn(&str, &str) -> f64) -> Vec<Row> {
    let row = |workload: &str, machine: &str, value| Row {
        workload: workload.into(),
        machine: machine.into(),
        x: None,
        value,
        high: None,
    };
    let mut rows: Vec<Row> =
        WORKLOADS.iter().flat_map(|w| machines.iter().map(|m| row(w, m, value(m, w)))).collect();
    if with_mean {
        rows.extend(machines.iter().map(|m| row("average", m, mean(WORKLOADS.map(|w| value(m, w))))));
    }
    rows
}

fn grouped(
    name: &'static str,
    title: &str,
    caption: &str,
    axis: &'static str,
    machines: &[&str],
    rows: Vec<Row>,
) -> Figure {
    Figure {
        name,
        title: title.into(),
        caption: caption.into(),
        kind: "grouped",
        axis,
        x: "",
        order: names(machines),
        rows,
    }
}

fn figures(runs: &Runs) -> Vec<Figure> {
    let over_intel = |m: &str, w: &str| speedup(runs, m, "intel", w);
    let four = |m: &str, w: &str, stat: &str| runs.get(m, w, 4, stat);
    let per_ms = |w: &str, stat: &str| four("asap-rp", w, stat) / runs.time("asap-rp", w, 4) * 1e6;
    let epochs = |m: &str, w: &str| {
        per_ms(w, if m == "epochs" { "ordering.epochs" } else { "ordering.cross_dependences" })
    };
    let shown = ["intel", "hops-ep", "hops-rp", "asap-ep", "asap-rp", "eadr"];
    let ablation = ["hops-rp", ABLATION[0].0, ABLATION[3].0, "asap-rp", ABLATION[1].0, ABLATION[2].0, "eadr"];
    let artifact: Vec<String> = ARTIFACT.iter().map(|m| format!("{m}@artifact")).collect();
    let artifact: Vec<&str> = artifact.iter().map(String::as_str).collect();
    let writes =
        |m: &str, w: &str| four(m, w, "memory.writes") / four("hops-rp", w, "memory.writes").max(1.0);
    vec![
        grouped(
            "figure-2",
            "Epochs and cross-thread dependences a simulated millisecond",
            "Beside the paper's figure 2: ASAP_RP, 4 threads.",
            "a millisecond",
            &["epochs", "dependences"],
            table(&["epochs", "dependences"], false, epochs),
        ),
        grouped(
            "figure-3",
            "Persist buffers with work that cannot flush",
            "Beside the paper's figure 3: share of core time, 4 threads.",
            "share of time",
            &["hops-rp", "asap-rp"],
            table(&["hops-rp", "asap-rp"], false, |m, w| four(m, w, "ordering.blocked_share")),
        ),
        grouped(
            "figure-8",
            "Speedup over Intel (clwb and sfence)",
            "Beside the paper's figure 8: 4 threads, 2 controllers.",
            "speedup",
            &shown,
            table(&shown, true, over_intel),
        ),
        grouped(
            "figure-9",
            "Writes to persistent memory, against HOPS",
            "Beside the paper's figure 9: media writes with release persistency.",
            "writes, HOPS = 1",
            &["hops-rp", "asap-rp"],
            table(&["hops-rp", "asap-rp"], true, writes),
        ),
        scaling(runs),
        occupancies(runs),
        recovery_figure(runs),
        bandwidth_figure(runs),
        grouped(
            "ablation",
            "What each part of ASAP buys: speedup over Intel",
            "Beyond the paper: HOPS with ASAP's flush trigger, and ASAP with one parameter changed.",
            "speedup",
            &ablation,
            table(&ablation, true, over_intel),
        ),
        grouped(
            "artifact",
            "The artifact's variants: speedup over its own baseline",
            "Beyond the paper: every difference of the public artifact at once (machines with @artifact).",
            "speedup",
            &artifact,
            table(&artifact, true, |m, w| speedup(runs, m, "intel@artifact", w)),
        ),
    ]
}

fn scaling(runs: &Runs) -> Figure {
    let value = |m: &str, w: &str, t: u64| runs.time("hops-rp", w, 1) / runs.time(m, w, t);
    let mut rows = Vec::new();
    for machine in ["hops-rp", "asap-rp"] {
        for threads in THREADS {
            let mut add = |workload: &str, value| {
                rows.push(Row {
                    workload: workload.into(),
                    machine: machine.into(),
                    x: Some(threads as f64),
                    value,
                    high: None,
                });
            };
            add("p-art", value(machine, "p-art", threads));
            add("skiplist", value(machine, "skiplist", threads));
            add("average", mean(WORKLOADS.map(|w| value(machine, w, threads))));
        }
    }
    let caption =
        "Beside the paper's figure 10: the same work with 1 to 8 threads, over one thread of HOPS_RP."
            .to_string();
    let title = "Scaling with threads".to_string();
    Figure {
        name: "figure-10",
        title,
        caption,
        kind: "lines",
        axis: "speedup",
        x: "threads",
        order: names(&["hops-rp", "asap-rp"]),
        rows,
    }
}

fn occupancies(runs: &Runs) -> Figure {
    let order = ["hops-rp", "asap-rp"];
    let mut rows = table(&order, false, |m, w| runs.get(m, w, 4, "ordering.persist_buffer.mean"));
    for row in &mut rows {
        row.high = Some(runs.get(&row.machine, &row.workload, 4, "ordering.persist_buffer.p99"));
    }
    let caption =
        "Beside the paper's figure 11: bars are means over time, caps the 99th percentile; 32 entries."
            .to_string();
    let title = "Filling of the persist buffers".to_string();
    Figure {
        name: "figure-11",
        title,
        caption,
        kind: "capped",
        axis: "entries",
        x: "",
        order: names(&order),
        rows,
    }
}

fn recovery_figure(runs: &Runs) -> Figure {
    let order = ["4 threads", "8 threads"];
    let value = |m: &str, w: &str| {
        runs.get("asap-rp", w, if m == order[0] { 4 } else { 8 }, "ordering.recovery_table.max")
    };
    grouped(
        "figure-12",
        "Highest filling of a recovery table",
        "Beside the paper's figure 12: ASAP_RP, 32 entries a controller.",
        "records",
        &order,
        table(&order, false, value),
    )
}

fn bandwidth_figure(runs: &Runs) -> Figure {
    let mut rows = Vec::new();
    for machine in ["hops-rp", "asap-rp"] {
        for (service, gb) in WRITE_SERVICES {
            rows.push(Row {
                workload: String::new(),
                machine: machine.into(),
                x: Some(gb * 2.0),
                value: bandwidth(runs, machine, service),
                high: None,
            });
        }
    }
    let caption = "Beside the paper's figure 13: 256-byte blocks alternating between 2 controllers, ordered by ofence, one thread; the text does not name the axis of its sweep, media bandwidth is taken.".to_string();
    let title = "Bandwidth of ordered writes".to_string();
    Figure {
        name: "figure-13",
        title,
        caption,
        kind: "lines",
        axis: "GB/s",
        x: "write bandwidth of the media, GB/s",
        order: names(&["hops-rp", "asap-rp"]),
        rows,
    }
}
