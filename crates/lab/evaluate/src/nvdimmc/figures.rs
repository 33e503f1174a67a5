//! Figures 7 to 13 as the simulation gives them, and what the paper leaves to future work.

use super::{
    BEYOND, BLOCKS, COPIED, DELAYS, Fio, HYPOTHETICAL, MANY, POC, THREADS, cases, copying, delayed, rate,
    refreshed,
};
use crate::figure::{Figure, Lines, Row, row};
use crate::runs::Runs;

const SERIES: [&str; 3] = ["baseline", "NVDIMM-C, cached", "NVDIMM-C, uncached"];

pub(super) fn all(runs: &Runs) -> Vec<Figure> {
    vec![
        copy(runs),
        random(runs),
        threads(runs, "figure-9-read", "read"),
        threads(runs, "figure-9-write", "write"),
        blocks(runs, "figure-10-read", "read"),
        blocks(runs, "figure-10-write", "write"),
        super::tpch::figure(runs),
        hypothetical(runs),
        host_side(runs),
        beyond(runs),
    ]
}

fn copy(runs: &Runs) -> Figure {
    let steps = std::iter::once(0).chain(COPIED).zip(COPIED);
    let rows =
        steps.map(|(from, to)| row("", "NVDIMM-C", Some(to as f64), copying(runs, from, to))).collect();
    Lines {
        name: "figure-7",
        title: "A file copied from a disk of 520 MB/s",
        caption: "Beside the paper's figure 7: 20 MiB onto a device with 15 MiB of slots, all sizes over 1,024.",
        axis: "MB/s",
        x: "MiB copied",
        order: &["NVDIMM-C"],
    }
    .figure("lines", rows)
}

fn random(runs: &Runs) -> Figure {
    let one = |rw| {
        cases(rw)
            .into_iter()
            .zip(SERIES)
            .map(move |(fio, series)| row(rw, series, None, rate(runs, &fio.name(), 1)))
    };
    Lines {
        name: "figure-8",
        title: "4 KB random accesses, one thread",
        caption: "Beside the paper's figure 8: fio with its libpmem engine. Fitted: see the presets.",
        axis: "MB/s",
        x: "",
        order: &SERIES,
    }
    .figure("grouped", one("read").chain(one("write")).collect())
}

fn threads(runs: &Runs, name: &'static str, rw: &'static str) -> Figure {
    let mut rows = Vec::new();
    for (fio, series) in cases(rw).into_iter().zip(SERIES) {
        rows.extend(THREADS.map(|t| row("", series, Some(t as f64), rate(runs, &fio.name(), t))));
    }
    Lines {
        name,
        title: &format!("4 KB random {rw}s with more threads"),
        caption: "Beside the paper's figure 9, one half of it: 1 to 16 threads.",
        axis: "MB/s",
        x: "threads",
        order: &SERIES,
    }
    .figure("lines", rows)
}

fn blocks(runs: &Runs, name: &'static str, rw: &'static str) -> Figure {
    let mut rows = Vec::new();
    for (fio, series) in cases(rw).into_iter().zip(SERIES) {
        let at = |block: u64| {
            row("", series, Some((block as f64).log2()), rate(runs, &Fio { block, ..fio }.name(), 1))
        };
        rows.extend(BLOCKS.map(at));
    }
    Lines {
        name,
        title: &format!("Random {rw}s of other sizes"),
        caption: "Beside the paper's figure 10, one half of it: blocks of 128 bytes (7) to 256 KB (18), one thread.",
        axis: "MB/s",
        x: "binary logarithm of the bytes of a block",
        order: &SERIES,
    }
    .figure("lines", rows)
}

fn hypothetical(runs: &Runs) -> Figure {
    let mut rows: Vec<Row> = DELAYS
        .iter()
        .map(|d| {
            row(&format!("tD {:.2} us", *d as f64 / 1e3), HYPOTHETICAL, None, rate(runs, &delayed(*d), 1))
        })
        .collect();
    rows.push(row("cached", HYPOTHETICAL, None, rate(runs, &Fio::of(POC, "read", true).name(), 1)));
    Lines {
        name: "figure-12",
        title: "4 KB random reads with a wait in place of the device",
        caption: "Beside the paper's figure 12: one access in fifteen hits, one thread; the last bar is the proof of concept when all do.",
        axis: "MB/s",
        x: "",
        order: &[HYPOTHETICAL],
    }
    .figure("grouped", rows)
}

fn host_side(runs: &Runs) -> Figure {
    let mut rows = Vec::new();
    for (threads, series) in [(1, "1 thread"), (MANY, "8 threads")] {
        let at = |refresh| {
            row(
                &format!("tREFI {:.2} us", refresh as f64 / 1e3),
                series,
                None,
                rate(runs, &refreshed(refresh), threads),
            )
        };
        rows.extend([7800, 3900, 1950].map(at));
    }
    Lines {
        name: "figure-13",
        title: "What more frequent refresh costs the host",
        caption: "Beside the paper's figure 13: cached 4 KB random reads; 8 threads are beyond it.",
        axis: "MB/s",
        x: "",
        order: &["1 thread", "8 threads"],
    }
    .figure("grouped", rows)
}

fn beyond(runs: &Runs) -> Figure {
    let series = [("fio", "fio, uncached"), ("tpch", "TPC-H, Q10")];
    let rate = |name, workload| runs.get(name, workload, MANY, "throughput.bytes_per_second") / 1e6;
    let of =
        |name: &'static str| series.map(|(workload, shown)| row(name, shown, None, rate(name, workload)));
    Lines {
        name: "beyond",
        title: "What the paper's wish list buys",
        caption: "Beyond the paper: 8 threads, one change at a time and all together. fio hits once in fifteen, whatever is replaced.",
        axis: "MB/s",
        x: "",
        order: &series.map(|(_, shown)| shown),
    }
    .figure("grouped", BEYOND.iter().flat_map(|(name, _)| of(name)).collect())
}
