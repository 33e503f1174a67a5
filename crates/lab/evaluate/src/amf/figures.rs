//! Faults, swap and processor time over time; totals by experiment; energy; pass-through; databases; other designs.

use super::{
    AMF, CORES, DATABASES, DESIGNS, EXPERIMENTS, HIDDEN, MIX_INSTANCES, MIX_SCALE, SCALE, SHOWN, UNIFIED,
    WHOLE, at, experiment, faults, gain, hiding, in_mix, of, stream,
};
use crate::figure::{Figure, Lines, Row, row};
use crate::runs::Runs;
use machine::Series;

/// Points of a line.
const POINTS: usize = 60;

pub(super) fn all(runs: &Runs) -> Vec<Figure> {
    vec![
        faults_over_time(runs),
        swap_over_time(runs),
        processor(runs),
        totals("figure-13", "Page faults", "million", &of_mix(), &|m, n| faults(runs, m, n) / 1e6),
        totals("figure-14", "Most of the swap device in use", "GiB", &of_mix(), &|m, n| {
            in_mix(runs, m, n, "os.swap_bytes_max") / f64::from(1 << 30)
        }),
        totals(
            "figure-15",
            "Energy of memory",
            "kJ",
            "By experiment of table 4, at an eighth of its size, with the same persistent memory.",
            &|m, n| of(runs, m, n, "energy_j") / 1e3,
        ),
        pass_through(runs),
        database(runs, 0, "figure-17"),
        database(runs, 1, "figure-18"),
        integration(runs),
        designs(runs),
        hidden(runs),
    ]
}

/// A value over time, at a few points: the mean of each stretch, from the difference of sums where it is a rate.
fn over_time(
    runs: &Runs,
    key: &str,
    workload: &str,
    name: &str,
    value: impl Fn(&Series, usize, usize) -> f64,
) -> Vec<Row> {
    let Some(series) = runs.series(key, workload) else { return Vec::new() };
    let steps = series.seconds.len().saturating_sub(1);
    let points = POINTS.min(steps);
    let bound = |n: usize| n * steps / points.max(1);
    (0..points)
        .map(|n| (bound(n), bound(n + 1)))
        .map(|(from, to)| row("", name, Some(rounded(series.seconds[to])), value(series, from, to)))
        .collect()
}

/// Seconds with one digit after the point.
fn rounded(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

fn column<'a>(series: &'a Series, name: &str) -> &'a [f64] {
    series.columns.iter().find(|(n, _)| *n == name).map_or(&[], |(_, values)| values)
}

/// How much a sum grew, a second.
fn rate(series: &Series, name: &str, from: usize, to: usize) -> f64 {
    let sums = column(series, name);
    (sums[to] - sums[from]) / (series.seconds[to] - series.seconds[from]).max(f64::MIN_POSITIVE)
}

fn both(runs: &Runs, value: impl Fn(&Series, usize, usize) -> f64 + Copy) -> Vec<Row> {
    let mut rows: Vec<Row> = [UNIFIED, AMF]
        .into_iter()
        .flat_map(|m| over_time(runs, &at(m, SHOWN), "spec-mix", m, value))
        .collect();
    rows.extend(over_time(runs, WHOLE, "spec-mix", WHOLE, value));
    rows
}

fn faults_over_time(runs: &Runs) -> Figure {
    let rows = both(runs, |s, from, to| {
        (rate(s, "minor_faults", from, to) + rate(s, "major_faults", from, to)) / 1e6
    });
    Lines {
        name: "figure-10",
        title: "Page faults over time",
        caption: "Experiment 2 of table 4, at an eighth of its size. The paper shows mcf alone; here the mix of nine programs.",
        axis: "million a second",
        x: "seconds",
        order: &[UNIFIED, AMF, WHOLE],
    }
    .figure("time", rows)
}

fn swap_over_time(runs: &Runs) -> Figure {
    Lines {
        name: "figure-11",
        title: "Swap device in use over time",
        caption: "Experiment 2 of table 4, at an eighth of its size.",
        axis: "GiB",
        x: "seconds",
        order: &[UNIFIED, AMF, WHOLE],
    }
    .figure("time", both(runs, |s, _, to| column(s, "swap_gib")[to]))
}

fn processor(runs: &Runs) -> Figure {
    let mut rows = Vec::new();
    for machine in [UNIFIED, AMF] {
        for (mode, name) in [("user", "user_s"), ("system", "system_s")] {
            let label = format!("{machine}, {mode}");
            rows.extend(over_time(runs, &at(machine, SHOWN), "spec-mix", &label, |s, from, to| {
                rate(s, name, from, to) / (CORES / SCALE) as f64
            }));
        }
    }
    Lines {
        name: "figure-12",
        title: "Share of the cores' time in user and system mode",
        caption: "Experiment 2 of table 4, at an eighth of its size; the kernel's threads count as system time.",
        axis: "share",
        x: "seconds",
        order: &["unified, user", "unified, system", "amf, user", "amf, system"],
    }
    .figure("time", rows)
}

fn of_mix() -> String {
    format!(
        "{MIX_INSTANCES} instances, sizes over {MIX_SCALE}: AMF hides all of the platform's persistent memory, the unified design has each experiment's."
    )
}

fn totals(
    name: &'static str,
    title: &str,
    axis: &'static str,
    caption: &str,
    value: &dyn Fn(&str, usize) -> f64,
) -> Figure {
    let machines = [UNIFIED, AMF];
    let rows = (0..EXPERIMENTS.len())
        .flat_map(|n| machines.map(|m| row(&experiment(n), m, None, value(m, n))))
        .collect();
    Lines { name, title, caption, axis, x: "", order: &machines }.figure("grouped", rows)
}

fn pass_through(runs: &Runs) -> Figure {
    let names = [false, true].map(stream);
    let rate = |name: &str, kind: &str| runs.get(name, "stream", 1, &format!("phase.{kind}"));
    let rows = ["copy", "scale", "add", "triad"]
        .into_iter()
        .flat_map(|kind| names.map(|n| row(kind, n, None, rate(names[0], kind) / rate(n, kind))))
        .collect();
    Lines {
        name: "figure-16",
        title: "STREAM with arrays in device files",
        caption: "Time over that of arrays in memory; three arrays of 1 GiB.",
        axis: "time",
        x: "",
        order: &names,
    }
    .figure("grouped", rows)
}

fn database(runs: &Runs, which: usize, name: &'static str) -> Figure {
    let (workload, kinds) = DATABASES[which];
    let bar = |kind: &str| [row(kind, UNIFIED, None, 1.0), row(kind, AMF, None, gain(runs, workload, kind))];
    Lines {
        name,
        title: if which == 0 { "SQLite, transactions a second" } else { "Redis, requests a second" },
        caption: "Over the unified design; both have all of the platform's persistent memory.",
        axis: "relative rate",
        x: "",
        order: &[UNIFIED, AMF],
    }
    .figure("grouped", kinds.iter().flat_map(|k| bar(k)).collect())
}

fn integration(runs: &Runs) -> Figure {
    let lines = [
        ("free", "free_gib"),
        ("low watermark", "low_gib"),
        ("high watermark", "high_gib"),
        ("integrated PM", "pm_integrated_gib"),
        ("kpmemd integrates below", "integrates_below_gib"),
    ];
    let rows = lines
        .into_iter()
        .flat_map(|(label, name)| over_time(runs, AMF, "redis-mem", label, |s, _, to| column(s, name)[to]))
        .collect();
    Lines {
        name: "integration",
        title: "Free memory, watermarks and integrated persistent memory",
        caption: &runs.series(AMF, "redis-mem").map_or_else(String::new, integrated),
        axis: "GiB",
        x: "seconds",
        order: &lines.map(|(label, _)| label),
    }
    .figure("time", rows)
}

/// When hidden memory came in a run, how much of it, and whether it has gone again.
fn integrated(series: &Series) -> String {
    let most = |name: &str| column(series, name).iter().copied().fold(0.0, f64::max);
    let (below, all) = (most("integrates_below_gib"), most("pm_integrated_gib"));
    let left = column(series, "pm_integrated_gib").last().copied().unwrap_or(0.0);
    let came = match all {
        0.0 => "and none comes".to_string(),
        _ if left < all => format!("{all:.0} GiB at most; {left:.0} GiB are left at the end"),
        _ => format!("{all:.0} GiB at most, which is still there at the end"),
    };
    format!("AMF under redis-mem: hidden memory is to come when less than {below:.0} GiB is free, {came}.")
}

fn designs(runs: &Runs) -> Figure {
    let base = runs.time("unified@pm", "spec-mix", 1);
    let value = |design: &str| {
        [
            runs.time(design, "spec-mix", 1) / base,
            runs.get(design, "spec-mix", 1, "energy_j") / runs.get("unified@pm", "spec-mix", 1, "energy_j"),
        ]
    };
    let rows = DESIGNS
        .into_iter()
        .flat_map(|d| [row("time", d, None, value(d)[0]), row("energy", d, None, value(d)[1])])
        .collect();
    Lines {
        name: "designs",
        title: "The same persistent memory in other designs",
        caption: "Beyond the paper: 20 programs of 1 GiB on 8 GiB of DRAM and 16 GiB of persistent memory at 300 ns; over one space from boot on.",
        axis: "relative",
        x: "",
        order: &DESIGNS,
    }
    .figure("grouped", rows)
}

fn hidden(runs: &Runs) -> Figure {
    let names = HIDDEN.map(|(what, ..)| hiding(what));
    let base = runs.time(&names[0], "spec-mix", 1);
    let rows = names.iter().map(|n| row("time", n, None, runs.time(n, "spec-mix", 1) / base)).collect();
    let order: Vec<&str> = names.iter().map(String::as_str).collect();
    Lines {
        name: "hidden",
        title: "AMF's hidden memory as another system",
        caption: "Beyond the paper: NVDIMM-C with 1 GiB of slots, and remote memory with its agent's local memory, page costs measured at line fidelity.",
        axis: "time over a medium of its own",
        x: "",
        order: &order,
    }
    .figure("grouped", rows)
}
