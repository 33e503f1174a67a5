//! How times are distributed, in buckets a sixty-fourth of an octave wide.

use units::Dur;

/// Bits of a time that tell its bucket, the highest one left aside.
const BITS: u32 = 6;

/// Times, counted by bucket. Cost of one: an addition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    counts: Vec<u64>,
    sum_ps: u128,
}

/// The shares that are told, with their words.
pub const SHARES: [(&str, f64); 6] =
    [("p10", 0.10), ("p50", 0.50), ("p90", 0.90), ("p99", 0.99), ("p999", 0.999), ("p99999", 0.99999)];

impl Distribution {
    /// One more.
    pub fn add(&mut self, time: Dur) {
        let bucket = bucket_of(time.as_ps());
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.sum_ps += u128::from(time.as_ps());
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Distribution) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum_ps += other.sum_ps;
    }

    /// Takes away what was counted before.
    pub(crate) fn subtract(&mut self, before: &Distribution) {
        self.counts.iter_mut().zip(&before.counts).for_each(|(mine, theirs)| *mine -= theirs);
        self.sum_ps -= before.sum_ps;
    }

    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean in nanoseconds; 0 of nothing.
    pub fn mean_ns(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            count => self.sum_ps as f64 / count as f64 / 1e3,
        }
    }

    /// The time in nanoseconds that a share of all does not exceed: the middle of its bucket; 0 of nothing.
    pub fn quantile_ns(&self, share: f64) -> f64 {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        let reached = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        self.counts.iter().position(reached).map_or(0.0, |bucket| middle_of(bucket) / 1e3)
    }
}

fn bucket_of(ps: u64) -> usize {
    let shift = (63 - (ps | 1).leading_zeros()).saturating_sub(BITS);
    ((u64::from(shift) << BITS) + (ps >> shift)) as usize
}

fn middle_of(bucket: usize) -> f64 {
    let shift = (bucket >> BITS).saturating_sub(1);
    let first = (bucket - (shift << BITS)) as f64;
    (first + if shift > 0 { 0.5 } else { 0.0 }) * (shift as f64).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_within_a_hundredth_of_its_buckets_middle() {
        let mut last = 0;
        for ps in (0..5000).chain((13..60).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 12345]))
        {
            let bucket = bucket_of(ps);
            assert!(bucket >= last || ps < 1 << 14, "{ps}");
            last = bucket;
            let apart = (middle_of(bucket) - ps as f64).abs();
            assert!(apart <= ps as f64 * 0.01, "{ps} is in the bucket of {}", middle_of(bucket));
        }
    }

    #[test]
    fn quantiles_are_of_all_that_were_added_together() {
        let (mut low, mut high) = (Distribution::default(), Distribution::default());
        (0..90).for_each(|_| low.add(Dur::ns(100)));
        (0..10).for_each(|_| high.add(Dur::ns(5000)));
        assert_eq!((high.quantile_ns(0.5) / 100.0).round() as u64, 50);
        low.merge(&high);
        let near = |share: f64, ns: f64| (low.quantile_ns(share) / ns - 1.0).abs() < 0.01;
        assert!(near(0.1, 100.0) && near(0.9, 100.0) && near(0.91, 5000.0) && near(0.999, 5000.0));
        assert_eq!(low.mean_ns().round() as u64, 590);
        low.subtract(&high);
        assert_eq!((low.mean_ns().round() as u64, low.count()), (100, 90));
        assert_eq!(Distribution::default().quantile_ns(0.5).to_bits(), 0);
    }
}
