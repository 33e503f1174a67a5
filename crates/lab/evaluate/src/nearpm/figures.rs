//! Figures 1 and 15 to 20 as the simulation gives them, and what the paper leaves to others.

use super::{
    BEYOND, CPU, MACHINES, MD, MECHANISMS, SERVERS, SIZES, THREADS, UNITS, WORKLOADS, by_cores, copy_speedup,
    name, region_speedup, shares, speedup, with_units_speedup,
};
use crate::figure::{Figure, Lines, Row, row};
use crate::runs::Runs;

pub(super) fn all(runs: &Runs) -> Vec<Figure> {
    let mut all = vec![overhead(runs), movement(runs), regions(runs)];
    for (index, (mechanism, said)) in MECHANISMS.into_iter().enumerate() {
        all.push(end_to_end(runs, index, mechanism, said));
    }
    all.extend([copies(runs), parallel(runs), units(runs), threads(runs), beyond(runs)]);
    all
}

/// A bar for each workload and mechanism.
fn by_mechanism(of: impl Fn(&str, &str) -> f64) -> Vec<Row> {
    let mut rows = Vec::new();
    for (mechanism, said) in MECHANISMS {
        rows.extend(WORKLOADS.map(|w| row(w, said, None, of(mechanism, w))));
    }
    rows
}

fn said() -> [&'static str; 3] {
    MECHANISMS.map(|(_, said)| said)
}

fn overhead(runs: &Runs) -> Figure {
    Lines {
        name: "figure-1a",
        title: "Share of the run that goes into crash consistency, on the cores",
        caption: "Beside the paper's figure 1a. Its averages are 0.38, 0.49 and 0.67; logging's is fitted.",
        axis: "share of time",
        x: "",
        order: &said(),
    }
    .figure("grouped", by_mechanism(|m, w| shares(runs, CPU, m, w).0))
}

fn movement(runs: &Runs) -> Figure {
    Lines {
        name: "figure-1b",
        title: "Share of crash consistency that is data movement, on the cores",
        caption: "Beside the paper's figures 1b to 1d: copies until they persist. Its averages are 0.69, 0.60 and 0.71.",
        axis: "share of time in crash consistency",
        x: "",
        order: &said(),
    }
    .figure("grouped", by_mechanism(|m, w| shares(runs, CPU, m, w).1))
}

fn regions(runs: &Runs) -> Figure {
    Lines {
        name: "figure-15",
        title: "Speedup inside crash-consistency regions, two devices",
        caption: "Beside the paper's figure 15. Its averages are 6.9, 4.3 and 9.8.",
        axis: "speedup",
        x: "",
        order: &said(),
    }
    .figure("grouped", by_mechanism(|m, w| region_speedup(runs, (CPU, MD), m, w)))
}

fn end_to_end(runs: &Runs, index: usize, mechanism: &str, said: &str) -> Figure {
    let mut rows = Vec::new();
    for machine in MACHINES {
        rows.extend(WORKLOADS.map(|w| row(w, machine, None, speedup(runs, (CPU, machine), mechanism, w, 1))));
    }
    Lines {
        name: ["figure-16a", "figure-16b", "figure-16c"][index],
        title: &format!("End-to-end speedup with {said}"),
        caption: "Beside a third of the paper's figure 16.",
        axis: "speedup",
        x: "",
        order: &MACHINES,
    }
    .figure("grouped", rows)
}

fn copies(runs: &Runs) -> Figure {
    let rows = SIZES.map(|s| row("", "one device", Some((s as f64).log2()), copy_speedup(runs, s)));
    Lines {
        name: "figure-17",
        title: "Speedup of a persistent copy",
        caption: "Beside the paper's figure 17: 64 bytes (6) to 16 KB (14). Its ends, 1.13 and 5.57, are fitted.",
        axis: "speedup",
        x: "binary logarithm of the bytes of a copy",
        order: &["one device"],
    }
    .figure("lines", rows.to_vec())
}

fn parallel(runs: &Runs) -> Figure {
    let share = |m: &str, w: &str| runs.get(&name(MD, m), w, 1, "neardata.parallel_share");
    Lines {
        name: "figure-18",
        title: "Share of the time in which units work, two devices",
        caption: "Beside the paper's figure 18: how much of the run devices take part in.",
        axis: "share of time",
        x: "",
        order: &said(),
    }
    .figure("grouped", by_mechanism(share))
}

fn units(runs: &Runs) -> Figure {
    let rows = UNITS.map(|u| row("", "average", Some(u as f64), with_units_speedup(runs, u)));
    Lines {
        name: "figure-19",
        title: "End-to-end speedup with more units in each of two devices",
        caption: "Beside the paper's figure 19: the mean over workloads and mechanisms.",
        axis: "speedup",
        x: "units",
        order: &["average"],
    }
    .figure("lines", rows.to_vec())
}

fn threads(runs: &Runs) -> Figure {
    let mut rows = Vec::new();
    for workload in SERVERS {
        let at = |t: u64| row("", workload, Some(t as f64), speedup(runs, (CPU, MD), "logging", workload, t));
        rows.extend(THREADS.map(at));
    }
    Lines {
        name: "figure-20",
        title: "Speedup with more threads, logging, two devices",
        caption: "Beside the paper's figure 20: each thread of Memcached has a pool, those of Redis share one.",
        axis: "speedup over as many threads on the cores",
        x: "threads",
        order: &SERVERS,
    }
    .figure("lines", rows)
}

fn beyond(runs: &Runs) -> Figure {
    let mut rows = Vec::new();
    for (label, ..) in BEYOND {
        let time = |named: &str, w: &str| runs.time(&name(named, "logging"), w, 1);
        rows.extend(WORKLOADS.map(|w| row(w, label, None, time(&by_cores(label), w) / time(label, w))));
    }
    Lines {
        name: "beyond-the-paper",
        title: "End-to-end speedup of logging on other machines",
        caption: "Each against the same machine with its devices left alone.",
        axis: "speedup",
        x: "",
        order: &BEYOND.map(|(label, ..)| label),
    }
    .figure("grouped", rows)
}
