//! How statistics are handed up: plain counters and level histograms, by name. Names, units and meanings
//! stand in one table in `machine`; a test holds the two together.

use units::{Dur, Time};

/// Receives statistics. Several devices report under one name: counts and times add up, levels merge.
pub trait StatSink {
    /// A number of things.
    fn count(&mut self, name: &'static str, value: u64);
    /// A sum of time.
    fn time(&mut self, name: &'static str, value: Dur);
    /// How long a buffer was how full; becomes `name.mean`, `name.p99` and `name.max`.
    fn occupancy(&mut self, name: &'static str, value: &Occupancy);
}

/// How long a buffer stood at each level. Cost of a change: one addition.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    time_ps: Vec<u64>,
    level: usize,
    since: Time,
    max: usize,
}

impl Occupancy {
    /// The level changes to `level` at `now`.
    #[inline]
    pub fn set(&mut self, now: Time, level: usize) {
        self.pass(now);
        self.level = level;
        self.max = self.max.max(level);
    }

    /// Counts the time up to `now` at the present level.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        if self.level >= self.time_ps.len() {
            self.time_ps.resize(self.level + 1, 0);
        }
        self.time_ps[self.level] += now.since(self.since).as_ps();
        self.since = self.since.max(now);
    }

    /// Adds another buffer's times.
    pub fn merge(&mut self, other: &Occupancy) {
        self.time_ps.resize(self.time_ps.len().max(other.time_ps.len()), 0);
        for (mine, theirs) in self.time_ps.iter_mut().zip(&other.time_ps) {
            *mine += theirs;
        }
        self.max = self.max.max(other.max);
    }

    /// Forgets the past, keeps the level: the part that counts begins.
    pub fn restart(&mut self, now: Time) {
        self.time_ps.fill(0);
        self.since = now;
        self.max = self.level;
    }

    /// The highest level.
    pub fn max(&self) -> usize {
        self.max
    }

    /// The mean level over time.
    pub fn mean(&self) -> f64 {
        let total: u64 = self.time_ps.iter().sum();
        let weighted: u128 =
            self.time_ps.iter().enumerate().map(|(level, t)| level as u128 * u128::from(*t)).sum();
        if total == 0 { 0.0 } else { weighted as f64 / total as f64 }
    }

    /// The level that is not exceeded during 99 % of the time.
    pub fn p99(&self) -> usize {
        let total: u64 = self.time_ps.iter().sum();
        let mut seen = 0;
        for (level, t) in self.time_ps.iter().enumerate() {
            seen += t;
            if u128::from(seen) * 100 >= u128::from(total) * 99 {
                return level;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_weighted_by_time_and_p99_ignores_the_last_hundredth() {
        let mut o = Occupancy::default();
        o.set(Time::ZERO, 2);
        o.set(Time::from_ps(995), 10);
        o.set(Time::from_ps(1000), 0);
        assert_eq!((o.max(), o.p99()), (10, 2));
        assert!((o.mean() - 2.04).abs() < 1e-9);
    }
}
