//! Which record is asked for: as YCSB does, by its scrambled zipfian of ten thousand million items that are hashed onto the records, or by
//! rank alone.
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

/// The records of a store by how much they are wanted, which lie anywhere among all.
pub(super) struct Popularity {
    /// For each rank the shares up to it.
    sums: Vec<u64>,
    /// Those of all, with what is beyond the ranks.
    all: u64,
}

impl Popularity {
    /// YCSB's.
    pub(super) fn ycsb(records: u64) -> Popularity {
        let sums = (1..=records).scan(0.0, |sum, rank| {
            *sum += share(rank);
            Some((*sum * ONE) as u64)
        });
        Popularity { sums: sums.collect(), all: (ALL * ONE) as u64 }
    }

    /// The n-th most wanted is wanted an n-th as often as the first.
    pub(super) fn by_rank(records: u64) -> Popularity {
        let sums = (1..=records).scan(0, |sum, rank| {
            *sum += (1 << 40) / rank;
            Some(*sum)
        });
        let sums: Vec<u64> = sums.collect();
        let all = sums.last().copied().unwrap_or(1);
        Popularity { sums, all }
    }

    /// The record that is asked for next.
    pub(super) fn next(&self, random: &mut Random) -> u64 {
        let records = self.sums.len() as u64;
        let drawn = random.below(self.all);
        let rank = self.sums.partition_point(|sum| *sum <= drawn) as u64;
        // Items beyond the ranks are hashed onto all records.
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
        let popularity = Popularity::ycsb(1000);
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

    #[test]
    fn the_most_wanted_key_is_asked_for_twice_as_often_as_the_second_and_all_are_keys() {
        let (wanted, mut random) = (Popularity::by_rank(1000), Random::new(1, 0));
        let mut counts = vec![0_u64; 1000];
        (0..100_000).for_each(|_| counts[wanted.next(&mut random) as usize] += 1);
        let of = |rank: u64| counts[(mix(rank) % 1000) as usize];
        let ratio = of(1) as f64 / of(2) as f64;
        assert!((1.85..2.15).contains(&ratio), "{ratio}");
        // One in 7.49 is for the first of a thousand.
        assert!((13_000..14_000).contains(&of(1)), "{}", of(1));
    }
}
