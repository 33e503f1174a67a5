//! Amplification by granularity, dirty lines a page, run time by mechanism, bytes on the network, and what they hang on.

use super::{
    BLOCKS, FAULTS, LINES, LINKS, NETWORKS, PAGES, PROTECTED, TRACKED, USES, WAYS, WINDOWS, WORKLOADS,
    amplified, clean, slowdown, using, with, with_fault,
};
use crate::figure::{Figure, Lines, Row, row};
use crate::runs::Runs;

pub(super) fn all(runs: &Runs) -> Vec<Figure> {
    vec![
        amplification(runs),
        lines_per_page(runs),
        distribution(runs),
        windows(runs),
        run_time(runs),
        ways(runs),
        tracking(runs),
        network(runs),
        faults(runs),
        links(runs),
        uses(runs),
    ]
}

const DEFINITIONS: [(&str, &str); 3] = [
    ("bytes stored", "tracking"),
    ("content difference", "tracking.changed"),
    ("write-backs seen", "tracking.written_back"),
];

fn for_each(names: &[&str], of: impl Fn(&str, &str) -> f64) -> Vec<Row> {
    names.iter().flat_map(|name| WORKLOADS.map(|(w, ..)| row(w, name, None, of(name, w)))).collect()
}

fn amplification(runs: &Runs) -> Figure {
    let names = ["4 KiB pages", "2 MiB pages", "64 B lines"];
    let block = |name: &str| BLOCKS[names.iter().position(|n| *n == name).unwrap_or(0)];
    Lines {
        name: "table-1",
        title: "Share of each dirty block that is clean",
        caption: "Beside the paper's table 1: bytes stored, programs of 8 to 136 MB, windows that hold what a second held there.",
        axis: "share clean",
        x: "",
        order: &names,
    }
    .figure("grouped", for_each(&names, |name, w| amplified(runs, w, block(name))))
}

fn lines_per_page(runs: &Runs) -> Figure {
    let names = DEFINITIONS.map(|(name, _)| name);
    let of = |name: &str, workload: &str| {
        let key = DEFINITIONS.iter().find(|(n, _)| *n == name).map_or("", |(_, key)| key);
        let get = |unit: &str| runs.get(TRACKED, workload, 1, &format!("{key}.{unit}"));
        get("lines") / get("pages").max(1.0)
    };
    Lines {
        name: "lines-a-page",
        title: "Dirty lines of a dirty page, by three definitions of dirty",
        caption: "Of 64. Table 1 counts bytes stored, table 3 content difference; the agent sees write-backs.",
        axis: "lines a page",
        x: "",
        order: &names,
    }
    .figure("grouped", for_each(&names, of))
}

fn distribution(runs: &Runs) -> Figure {
    let rows = WORKLOADS.into_iter().flat_map(|(workload, ..)| {
        let pages = runs.lines_per_page(TRACKED, workload).unwrap_or_default();
        let all = pages.iter().sum::<u64>().max(1) as f64;
        let up_to = |lines: usize| pages.iter().take(lines + 1).sum::<u64>() as f64 / all;
        (0..=64).map(|lines| row("", workload, Some(lines as f64), up_to(lines))).collect::<Vec<_>>()
    });
    Lines {
        name: "dirty-lines",
        title: "Dirty pages with so many dirty lines, or fewer",
        caption: "Bytes stored, in windows of 1 ms: what a page-granular tracker would send whole.",
        axis: "share of dirty pages",
        x: "dirty lines of 64",
        order: &WORKLOADS.map(|(w, ..)| w),
    }
    .figure("time", rows.collect())
}

fn windows(runs: &Runs) -> Figure {
    let names = ["4 KiB pages", "64 B lines"];
    let rows = names.iter().zip([BLOCKS[0], BLOCKS[2]]).flat_map(|(name, block)| {
        WINDOWS.map(|window| {
            let machine = with(TRACKED, "window", window);
            row("", name, Some(window as f64 / 1e6), clean(runs, &machine, WORKLOADS[0].0, "tracking", block))
        })
    });
    Lines {
        name: "windows",
        title: "Share of each dirty block that is clean, by the length of a window",
        caption: "redis-random, bytes stored. The paper does not say how long its windows are.",
        axis: "share clean",
        x: "window, ms",
        order: &names,
    }
    .figure("lines", rows.collect())
}

fn run_time(runs: &Runs) -> Figure {
    let of = |name: &str, w: &str| runs.time(name, w, 1) / runs.time(TRACKED, w, 1);
    Lines {
        name: "run-time",
        title: "Run time by mechanism, over that with all memory local",
        caption: "Two fifths of memory local.",
        axis: "run time",
        x: "",
        order: &[PAGES, LINES],
    }
    .figure("grouped", for_each(&[PAGES, LINES], of))
}

fn ways(runs: &Runs) -> Figure {
    let mut names = vec![PAGES, LINES];
    names.extend(WAYS.map(|(way, ..)| way));
    let of = |name: &str, w: &str| runs.time(name, w, 1) / runs.time(TRACKED, w, 1);
    let redis = WORKLOADS.iter().filter(|(w, ..)| w.starts_with("redis"));
    let rows = redis.flat_map(|(w, ..)| names.iter().map(|name| row(w, name, None, of(name, w))));
    Lines {
        name: "walks",
        title: "Run time by what page walks wait for, and by prefetching",
        caption: "Two fifths of memory local. A page walk waits for the whole page with pberry, for its first line, or for nothing; two prefetch; the last has as much memory again at the processor.",
        axis: "run time over all memory local",
        x: "",
        order: &names,
    }
    .figure("grouped", rows.collect())
}

fn tracking(runs: &Runs) -> Figure {
    Lines {
        name: "table-3",
        title: "Run time with page write-protection, over that without",
        caption: "Beside the paper's table 3: 1.38, 1.04, 1.03 and 1.03. All memory local, windows of 1 ms.",
        axis: "run time",
        x: "",
        order: &[PROTECTED],
    }
    .figure("grouped", for_each(&[PROTECTED], |_, w| slowdown(runs, w)))
}

fn network(runs: &Runs) -> Figure {
    let names = ["pages, sent", "lines, sent", "pages, received", "lines, received"];
    let of = |name: &str, workload: &str| {
        let machine = if name.starts_with("pages") { PAGES } else { LINES };
        let stat = if name.ends_with("sent") { "remote.bytes_sent" } else { "remote.bytes_received" };
        runs.get(machine, workload, 1, stat) / 1e6
    };
    Lines {
        name: "network",
        title: "Bytes on the network",
        caption: "Two fifths of memory local; headers included.",
        axis: "MB",
        x: "",
        order: &names,
    }
    .figure("grouped", for_each(&names, of))
}

fn faults(runs: &Runs) -> Figure {
    let names = NETWORKS.map(|n| format!("network {n} ns"));
    let order: Vec<&str> = names.iter().map(String::as_str).collect();
    let workload = WORKLOADS[0].0;
    let rows = NETWORKS.iter().zip(&names).flat_map(|(network, name)| {
        FAULTS.map(|fault| {
            let pages = with_fault(*network, fault);
            let lines = with(LINES, "network", *network);
            row(
                "",
                name,
                Some(fault as f64 / 1e3),
                runs.time(&pages, workload, 1) / runs.time(&lines, workload, 1),
            )
        })
    });
    Lines {
        name: "faults",
        title: "Speedup of lines over pages, by the cost of a page fault",
        caption: "redis-random; latency of the network one way. LegoOS's fault is 3.2 us without its fetch, Infiniswap's about 40 us.",
        axis: "speedup",
        x: "page fault, us",
        order: &order,
    }
    .figure("lines", rows.collect())
}

fn links(runs: &Runs) -> Figure {
    let workload = WORKLOADS[0].0;
    let pages = runs.time(&with_fault(NETWORKS[1], FAULTS[1]), workload, 1);
    let rows = LINKS.map(|link| {
        row("", LINES, Some(link as f64), pages / runs.time(&with(LINES, "link", link), workload, 1))
    });
    Lines {
        name: "links",
        title: "Speedup of lines over pages, by the link's latency",
        caption: "redis-random; one way between the shared cache and the agent. Page-granular paging has local memory at 5 ns.",
        axis: "speedup",
        x: "link, ns",
        order: &[LINES],
    }
    .figure("lines", rows.to_vec())
}

fn uses(runs: &Runs) -> Figure {
    let names = [PAGES, LINES];
    let moved = |machine: &str, used: &str| {
        runs.get(&using(machine, used), WORKLOADS[0].0, 1, "use.bytes_moved") / 1e6
    };
    let rows = names.iter().flat_map(|name| USES.map(|used| row(used, name, None, moved(name, used))));
    Lines {
        name: "table-2",
        title: "Bytes moved by use cases of tracking",
        caption: "Beside the paper's table 2: redis-random, all memory local, windows of 1 ms. Pages are told by faults, lines by the agent.",
        axis: "MB",
        x: "",
        order: &names,
    }
    .figure("grouped", rows.collect())
}
