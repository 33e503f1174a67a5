//! TPC-H on a device whose data is larger than its DRAM: figure 11, and the replacement rules by themselves.

use super::{BASELINE, POC};
use crate::Effort;
use crate::counted::Counted;
use crate::figure::{Figure, Lines, row};
use crate::runs::{Key, Runs, acting};
use crate::verdict::Finding;
use machine::{ConfigError, Description};
use workloads::{PageStream, Query};

/// Slots in MiB: of the 13 MiB of data as much as 15 GB are of 100 GB.
const SLOTS: &str = "2";
/// What the paper's figure shows, and a better rule beyond it.
const SERIES: [(&str, &str, &str); 3] =
    [("baseline", BASELINE, "lrc"), ("NVDIMM-C, LRC", POC, "lrc"), ("NVDIMM-C, LRU", POC, "lru")];

/// The queries of which the claim speaks.
const NAMED: [&str; 2] = ["Q1", "Q20"];

fn run_name(series: &str, query: &str) -> String {
    format!("{series} {query}")
}

pub(super) fn declare(runs: &mut Runs, effort: Effort) -> Result<(), ConfigError> {
    let pages = if effort == Effort::Whole { "2500" } else { "500" };
    let stream = PageStream::small();
    for query in asked(&stream, effort) {
        for (series, machine, rule) in SERIES {
            let sets = [
                ("workload.query", query.name.clone()),
                ("workload.operations", pages.to_string()),
                ("nvdimm.slots_mib", SLOTS.to_string()),
                ("nvdimm.replacement", rule.to_string()),
            ];
            // Where all of the data is in DRAM, nothing is replaced.
            let sets = acting(&Description::preset(machine)?, sets);
            runs.add(Key::new(&run_name(series, &query.name), "tpch", 1), machine, &sets)?;
        }
    }
    for percent in PERCENTS {
        let counted = Counted::LeastRecentlyUsed(percent);
        runs.add_counted(Key::new(&with_slots(percent), "tpch", 1), counted, POC, &[])?;
    }
    Ok(())
}

/// The queries to run: all, or in a design those of which the claim speaks and the two that work longest for each page, which
/// are slowed least.
fn asked(stream: &PageStream, effort: Effort) -> Vec<&Query> {
    let mut queries: Vec<&Query> = stream.queries.iter().collect();
    if effort == Effort::Design {
        queries.sort_by_key(|q| std::cmp::Reverse((NAMED.contains(&&q.name[..]), q.work_ns)));
        queries.truncate(NAMED.len() + 2);
    }
    queries
}

/// How many times as long as on the baseline a query takes.
fn slowdown(runs: &Runs, series: &str, query: &str) -> f64 {
    let time = |series: &str| runs.time(&run_name(series, query), "tpch", 1);
    time(series) / time("baseline")
}

pub(super) fn order(runs: &Runs) -> Finding {
    let stream = PageStream::small();
    let of = |query: &str| slowdown(runs, "NVDIMM-C, LRC", query);
    // A design has not run every query.
    let all = stream.queries.iter().map(|q| of(&q.name));
    let least = all.filter(|slowdown| *slowdown > 0.0).fold(f64::MAX, f64::min);
    let [first, twentieth] = NAMED.map(of);
    Finding::Statement {
        holds: first <= least && twentieth > 10.0 * first,
        because: format!(
            "Q1 {first:.1} times as long as on the baseline, Q20 {twentieth:.1}, the least {least:.1}"
        ),
    }
}

pub(super) fn figure(runs: &Runs) -> Figure {
    let mut rows = Vec::new();
    for query in &PageStream::small().queries {
        for (series, ..) in &SERIES[1..] {
            rows.push(row(&query.name, series, None, slowdown(runs, series, &query.name)));
        }
    }
    Lines {
        name: "figure-11",
        title: "TPC-H's queries: time over the baseline's",
        caption: "Beside the paper's figure 11: pages as SQLite reads them, 13 MiB of data, 2 MiB of slots; the first 2,500 pages of each query. LRU is beyond it.",
        axis: "times as long",
        x: "",
        order: &[SERIES[1].0, SERIES[2].0],
    }
    .figure("grouped", rows)
}

/// Slots of the replacement rule by itself, in per cent of the raw data.
const PERCENTS: [u32; 2] = [1, 16];

fn with_slots(percent: u32) -> String {
    format!("LRU, slots for {percent} %")
}

/// The shares of references that hit, counted with slots for 1 % and for 16 %.
pub(super) fn hit_shares(runs: &Runs) -> Finding {
    let share = |percent| runs.get(&with_slots(percent), "tpch", 1, "nvdimm.hit_share.page");
    Finding::Values(PERCENTS.map(share).to_vec())
}
