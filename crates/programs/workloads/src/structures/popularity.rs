//! Which record YCSB asks for: its scrambled zipfian, of ten thousand million items that are hashed onto the records.
//!
//! Source: YCSB's ScrambledZipfianGenerator and ZipfianGenerator.

use units::{Random, mix};

/// Sum of the shares of all items, by YCSB's generator: ten thousand million, each wanted as often as its rank to the power of -0.99.
const ALL: f64 = 26.46902820178302;
/// Two to the power of 0.01.
const DOUBLED: f64 = 1.0069555500567189;
/// A share of one in the sums.
const ONE: f64 = (1u64 << 40) as f64;

/// How often an item is wanted, against the first one. By sums and products alone, which every host rounds alike, with the power of .01 taken
/// straight between powers of two: by six in ten thousand too little at most.
fn share(rank: u64) -> f64 {
    let doublings = rank.ilog2();
    let power = (0..doublings).fold(1.0, |power, _| power * DOUBLED);
    let beyond = rank as f64 / (1u64 << doublings) as f64 - 1.0;
    power * (1.0 + (DOUBLED - 1.0) * beyond) / rank as f64
}

/// The records of a store by how much they are wanted.
pub(super) struct Popularity {
    /// For each rank the shares up to it.
    sums: Vec<u64>,
}

impl Popularity {
    pub(super) fn new(records: u64) -> Popularity {
        let sums = (1..=records).scan(0.0, |sum, rank| {
            *sum += share(rank);
            Some((*sum * ONE) as u64)
        });
        Popularity { sums: sums.collect() }
    }

    /// The record that is asked for next.
    pub(super) fn next(&self, random: &mut Random) -> u64 {
        let records = self.sums.len() as u64;
        let drawn = random.below((ALL * ONE) as u64);
        let rank = self.sums.partition_point(|sum| *sum <= drawn) as u64;
        // Items beyond the records are hashed onto all of them.
        if rank == records { random.below(records) } else { mix(rank + 1) % records }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_as_ycsbs_do() {
        for rank in [1u64, 2, 3, 10, 1_000, 12_345, 30_000_000] {
            let exact = (rank as f64).powf(-0.99);
            assert!((share(rank) / exact - 1.0).abs() < 1e-3, "{rank}");
        }
    }

    #[test]
    fn what_lies_beyond_the_records_is_spread_over_all() {
        let popularity = Popularity::new(1000);
        let mut random = Random::new(1, 0);
        let mut counts = vec![0u64; 1000];
        for _ in 0..200_000 {
            counts[popularity.next(&mut random) as usize] += 1;
        }
        // The most wanted has one in 26.5; 7.7 of all shares are ranked, and the others give each record 142.
        let most = mix(1) as usize % 1000;
        assert!((7_000..9_000).contains(&counts[most]), "{}", counts[most]);
        assert!(counts.iter().all(|count| *count > 90));
    }
}
