//! The average memory access time of the work that followed PBerry: from miss counts at each level to nanoseconds.
//!
//! Source: KCacheSim (the artifact of Kona, ASPLOS 2021); its saved counts and results stand in `validation/kcachesim`.

/// Reads, or writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misses {
    /// References, of the run that gave the first two levels.
    pub references: f64,
    /// Missed the first level, the second, the third, and the cache of remote pages: shares of references.
    pub shares: [f64; 4],
}

/// Time of a hit at each level, nanoseconds: first, second, third, the cache of remote pages, the remote host.
pub type Latencies = [f64; 5];

/// First three levels of a Skylake server, as KCacheSim takes them.
pub const SKYLAKE: [f64; 3] = [2.0, 9.0, 26.0];
/// Local memory, and memory on the other socket, which stands for the agent's.
pub const LOCAL: f64 = 82.0;
/// See [`LOCAL`].
pub const AGENT: f64 = 130.0;

/// The average access time in nanoseconds: reads and writes weighted by how many there are.
pub fn average_access_time(reads: Misses, writes: Misses, latencies: Latencies) -> f64 {
    let all = reads.references + writes.references;
    [reads, writes]
        .into_iter()
        .map(|kind| {
            let [l1, rest @ ..] = latencies;
            let below: f64 = kind.shares.iter().zip(rest).map(|(share, time)| share * time).sum();
            kind.references / all * (l1 + below)
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Table = Vec<BTreeMap<&'static str, &'static str>>;

    fn table(text: &'static str) -> Table {
        let mut lines = text.trim_start_matches('\u{feff}').lines().filter(|l| !l.is_empty());
        let head: Vec<&str> = lines.next().unwrap().split(',').collect();
        lines.map(|l| head.iter().copied().zip(l.split(',')).collect()).collect()
    }

    fn file(name: &str) -> Table {
        table(match name {
            "1" => include_str!("../../../../validation/kcachesim/amat-vs-rss1.csv"),
            "2" => include_str!("../../../../validation/kcachesim/amat-vs-rss2.csv"),
            "3" => include_str!("../../../../validation/kcachesim/amat-vs-rss3.csv"),
            "sweep" => include_str!("../../../../validation/kcachesim/block-sweep-redis.csv"),
            "rdma" => include_str!("../../../../validation/kcachesim/rdma-read-lats.csv"),
            "misses" => include_str!("../../../../validation/kcachesim/misses.csv"),
            other => panic!("no table is called {other}"),
        })
    }

    fn number(row: &BTreeMap<&str, &str>, key: &str) -> f64 {
        row[key].parse().unwrap_or_else(|_| panic!("{key} of {row:?}"))
    }

    /// Misses of an application whose remote pages are cached in `size` bytes, in blocks of `block`.
    fn misses(app: &str, size: f64, block: f64) -> [Misses; 2] {
        let all = file("misses");
        let level = |name: &str| all.iter().find(|r| r["app"] == app && r["level"] == name).unwrap();
        let (l2, l3) = (level("l2"), level("l3"));
        let near = |r: &&BTreeMap<&str, &str>| {
            r["app"] == app
                && r["level"] == "dram"
                && (number(r, "block_bytes") - block).abs() < 0.5
                && (number(r, "size_bytes") / size - 1.0).abs() < 0.03
        };
        let cache = all.iter().find(near).unwrap_or_else(|| panic!("{app} {size} {block}"));
        [("d_reads", "rd"), ("d_writes", "wr")].map(|(references, kind)| {
            let share = |row: &BTreeMap<&str, &str>, what: &str| {
                number(row, &format!("{what}_miss_{kind}")) / number(row, references)
            };
            let shares = [share(l2, "d1"), share(l2, "ll"), share(l3, "ll"), share(cache, "ll")];
            Misses { references: number(l2, references), shares }
        })
    }

    fn time(misses: [Misses; 2], cache: f64, remote: f64) -> f64 {
        let [l1, l2, l3] = SKYLAKE;
        average_access_time(misses[0], misses[1], [l1, l2, l3, cache, remote])
    }

    /// Resident set, KiB.
    const APPS: [(&str, &str, f64); 3] =
        [("1", "redis", 3_855_648.0), ("2", "metis", 40_963_768.0), ("3", "turi", 6_020_948.0)];

    #[test]
    fn all_81_published_points_follow_from_the_published_misses() {
        let mut points = 0;
        for (name, app, rss) in APPS {
            for row in file(name) {
                let misses = misses(app, number(&row, "perc rss") / 100.0 * rss * 1024.0, 4096.0);
                let systems =
                    [("LegoOS", LOCAL, 10_000.0), ("Kona", AGENT, 3_110.0), ("Kona-main", LOCAL, 3_110.0)];
                for (system, cache, remote) in systems {
                    let (ours, published) = (time(misses, cache, remote), number(&row, system));
                    assert!((ours - published).abs() < 1e-12, "{app} {system}: {ours} {published}");
                    points += 1;
                }
            }
        }
        assert_eq!(points, 81);
    }

    #[test]
    fn all_24_points_of_the_block_sweep_follow_too() {
        let remote: BTreeMap<&str, f64> =
            file("rdma").iter().map(|r| (r["#bytes"], number(r, "t_avg[usec]") * 1e3)).collect();
        // The columns name shares of the resident set, rounded.
        let sizes = [("0.0", 16 << 20), ("27.0", 1 << 30), ("54.0", 2 << 30), ("109.0", 4u64 << 30)];
        let mut points = 0;
        for row in file("sweep") {
            for (column, size) in sizes {
                let block = number(&row, "blocksize");
                let ours = time(misses("redis", size as f64, block), AGENT, remote[row["blocksize"]]);
                assert!((ours - number(&row, column)).abs() < 1e-9, "{block} B, {column} %: {ours}");
                points += 1;
            }
        }
        assert_eq!(points, 24);
    }
}
