//! Optane DIMMs of the other socket: what an access takes, and how much threads read and write, beside those of their own.

use super::optane::{BANDWIDTH, idle};
use super::rows::{self, MACHINE, Mixed};
use crate::figure::{Cell, Grid};
use crate::runs::{Key, Runs};
use machine::ConfigError;

/// The same machine with its DIMMs on the other socket.
const REMOTE: &str = "optane@remote";
/// Bytes of an access, which no table names: a block of the DIMM's.
const ACCESS: u64 = 256;
/// Bytes that all threads go over, once before they are measured: sixteen times the machine's caches, so that what the other socket
/// knows of a line is what the pass before has left, as after seconds.
const BYTES: u64 = 32 << 20;

fn preset(is_remote: bool) -> &'static str {
    if is_remote { REMOTE } else { MACHINE }
}

fn name(row: &Mixed) -> String {
    format!("{}, {}, {} threads", preset(row.is_remote), row.mix, row.threads)
}

fn sets(row: &Mixed) -> Vec<(&'static str, String)> {
    let (operation, reads) = match row.reads_per_store {
        None => ("load", 1),
        Some(0) => ("ntstore", 1),
        Some(reads) => ("mix", reads),
    };
    // An access less than a share of these: what is read in one pass is written in another.
    let sizes = [
        ("workload.access_size", ACCESS),
        ("workload.stride", ACCESS),
        ("workload.footprint", BYTES / row.threads - ACCESS),
        ("workload.warm", BYTES / 64),
    ];
    let sizes = sizes.map(|(key, value)| (key, value.to_string()));
    let mix =
        [("workload.operation", operation.to_string()), ("workload.reads_per_store", reads.to_string())];
    let needed = if operation == "mix" { 2 } else { 1 };
    sizes.into_iter().chain(mix.into_iter().take(needed)).collect()
}

fn idle_name(is_remote: bool, access: &str) -> String {
    if is_remote { format!("{access}, {REMOTE}") } else { access.to_string() }
}

pub(super) fn declare(runs: &mut Runs) -> Result<(), ConfigError> {
    for row in rows::mixes() {
        runs.add(Key::new(&name(&row), "lattester", row.threads), preset(row.is_remote), &sets(&row))?;
    }
    // Those of the own socket are there already.
    for (access, sets) in idle() {
        runs.add(Key::new(&idle_name(true, access), "lattester", 1), REMOTE, &sets)?;
    }
    Ok(())
}

/// The values of `hardware.optane.remote-WHAT`: those of the other socket over those of the own.
pub(super) fn finding(runs: &Runs, what: &str) -> Option<Vec<f64>> {
    let is_alone = |row: &Mixed| matches!(row.reads_per_store, None | Some(0));
    match what {
        "latency" => Some(latencies(runs)),
        "bandwidth" => Some(ratios(runs, is_alone)),
        "mix" => Some(ratios(runs, |row| !is_alone(row) && row.threads > 1)),
        "mix.one" => Some(ratios(runs, |row| !is_alone(row) && row.threads == 1)),
        _ => None,
    }
}

/// Times of accesses, over those on the own socket.
fn latencies(runs: &Runs) -> Vec<f64> {
    let speed = |is_remote, access: &str| runs.get(&idle_name(is_remote, access), "lattester", 1, BANDWIDTH);
    idle().iter().map(|(access, _)| speed(false, access) / speed(true, access)).collect()
}

/// GiB/s.
fn simulated(runs: &Runs, row: &Mixed) -> f64 {
    runs.get(&name(row), "lattester", row.threads, BANDWIDTH) / rows::GIB
}

/// Rows of the other socket, each over the same row of the own.
fn ratios(runs: &Runs, wanted: impl Fn(&Mixed) -> bool) -> Vec<f64> {
    pairs()
        .iter()
        .filter(|[_, remote]| wanted(remote))
        .map(|pair| ratio(pair, |r| simulated(runs, r)))
        .collect()
}

fn ratio([own, remote]: &[Mixed; 2], of: impl Fn(&Mixed) -> f64) -> f64 {
    of(remote) / of(own)
}

/// Each mix with so many threads, on the own socket and on the other.
fn pairs() -> Vec<[Mixed; 2]> {
    let all = rows::mixes();
    let own = |remote: &Mixed| {
        let same = |row: &&Mixed| !row.is_remote && row.mix == remote.mix && row.threads == remote.threads;
        Some([all.iter().find(same)?.clone(), remote.clone()])
    };
    all.iter().filter(|row| row.is_remote).filter_map(own).collect()
}

pub(super) fn table(runs: &Runs) -> Grid {
    let line = |pair: &[Mixed; 2]| {
        let ours = |row: &Mixed| simulated(runs, row);
        let [own, remote] = pair;
        let numbers = [
            own.threads as f64,
            own.gib_per_s,
            ours(own),
            remote.gib_per_s,
            ours(remote),
            ratio(pair, |row| row.gib_per_s),
            ratio(pair, ours),
        ];
        std::iter::once(Cell::Text(own.mix.into())).chain(numbers.map(Cell::Number)).collect()
    };
    let head = [
        "reads to writes",
        "threads",
        "own socket, measured",
        "simulated",
        "other socket, measured",
        "simulated",
        "share of the own, measured",
        "simulated",
    ];
    Grid {
        title: "Optane: DIMMs of the own socket and of the other".into(),
        caption: "Bandwidths in GiB/s; six DIMMs, accesses of 256 bytes one after the other, over 32 MiB again and again; writes are non-temporal stores.".into(),
        head: head.map(String::from).to_vec(),
        rows: pairs().iter().map(line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_other_socket_has_one_of_the_own() {
        let pairs = pairs();
        assert_eq!((rows::mixes().len(), pairs.len()), (24, 12));
        let shares: Vec<u64> =
            pairs.iter().map(|pair| (ratio(pair, |row| row.gib_per_s) * 1e3).round() as u64).collect();
        // Reads alone; then ever more writes; writes alone: one thread and four of each.
        assert_eq!(shares[..2], [919, 910]);
        assert_eq!(shares[10..], [409, 437]);
        assert!(pairs.iter().all(|[own, remote]| sets(own) == sets(remote) && name(own) != name(remote)));
    }
}
