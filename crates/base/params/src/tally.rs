//! How statistics are handed up: plain counters and level histograms, by name.

use crate::Distribution;
use units::{Dur, Time};

/// Receives statistics. Several devices report under one name: counts and times add up, levels merge.
pub trait StatSink {
    /// A number of things.
    fn count(&mut self, name: &'static str, value: u64);
    /// A sum of time.
    fn time(&mut self, name: &'static str, value: Dur);
    /// How long a buffer was how full; becomes `name.mean`, `name.p99` and `name.max`.
    fn occupancy(&mut self, name: &'static str, value: &Occupancy);
    /// How times are distributed; becomes `name.mean`, `name.p10` and so on to `name.p99999`.
    fn distribution(&mut self, name: &'static str, value: &Distribution);
}

/// A value of a [`Tally`].
#[derive(Clone, Debug)]
pub enum Value {
    /// A number of things.
    Count(u64),
    /// A sum of time.
    Time(Dur),
    /// Levels over time.
    Levels(Occupancy),
    /// Times one by one.
    Times(Distribution),
}

/// Statistics gathered by name, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Tally(Vec<(&'static str, Value)>);

impl Tally {
    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// The count or the time in nanoseconds called `name`; 0 where nobody has counted it.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Count(n)) => *n as f64,
            Some(Value::Time(t)) => t.as_ns(),
            Some(Value::Levels(_) | Value::Times(_)) | None => 0.0,
        }
    }

    fn entry(&mut self, name: &'static str, zero: Value) -> &mut Value {
        let known = self.0.iter().position(|(n, _)| *n == name);
        let index = known.unwrap_or_else(|| {
            self.0.push((name, zero));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }

    /// Adds everything of `other`.
    pub fn add(&mut self, other: &Tally) {
        for (name, value) in other.iter() {
            match value {
                Value::Count(n) => self.count(name, *n),
                Value::Time(t) => self.time(name, *t),
                Value::Levels(o) => self.occupancy(name, o),
                Value::Times(d) => self.distribution(name, d),
            }
        }
    }

    /// The sums of time alone.
    #[must_use]
    pub fn times(&self) -> Tally {
        let is_time = |entry: &&(&'static str, Value)| matches!(entry.1, Value::Time(_));
        Tally(self.0.iter().filter(is_time).cloned().collect())
    }

    /// Takes away what had been counted before the region of interest began.
    pub fn subtract(&mut self, before: &Tally) {
        for (name, value) in &mut self.0 {
            let Some(earlier) = before.get(name) else { continue };
            match (value, earlier) {
                (Value::Count(n), Value::Count(b)) => *n -= b,
                (Value::Time(t), Value::Time(b)) => *t = *t - *b,
                (Value::Levels(o), Value::Levels(b)) => o.subtract(b),
                (Value::Times(d), Value::Times(b)) => d.subtract(b),
                (value, earlier) => panic!("{name}: {value:?} was {earlier:?}"),
            }
        }
    }
}

impl StatSink for Tally {
    fn count(&mut self, name: &'static str, value: u64) {
        if let Value::Count(n) = self.entry(name, Value::Count(0)) {
            *n += value;
        }
    }

    fn time(&mut self, name: &'static str, value: Dur) {
        if let Value::Time(t) = self.entry(name, Value::Time(Dur::ZERO)) {
            *t += value;
        }
    }

    fn occupancy(&mut self, name: &'static str, value: &Occupancy) {
        if let Value::Levels(o) = self.entry(name, Value::Levels(Occupancy::default())) {
            o.merge(value);
        }
    }

    fn distribution(&mut self, name: &'static str, value: &Distribution) {
        if let Value::Times(d) = self.entry(name, Value::Times(Distribution::default())) {
            d.merge(value);
        }
    }
}

/// How long a buffer stood at each level. Cost of a change: one addition.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    time_ps: Vec<u64>,
    level: usize,
    since: Time,
}

impl Occupancy {
    /// The level changes to `level` at `now`.
    #[inline]
    pub fn set(&mut self, now: Time, level: usize) {
        self.pass(now);
        self.level = level;
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
    }

    fn subtract(&mut self, before: &Occupancy) {
        for (mine, theirs) in self.time_ps.iter_mut().zip(&before.time_ps) {
            *mine -= theirs;
        }
    }

    /// The highest level that lasted.
    pub fn max(&self) -> usize {
        self.time_ps.iter().rposition(|t| *t > 0).unwrap_or(0)
    }

    /// The mean level over time.
    pub fn mean(&self) -> f64 {
        let total: u64 = self.time_ps.iter().sum();
        let weighted: u128 =
            self.time_ps.iter().enumerate().map(|(level, t)| level as u128 * u128::from(*t)).sum();
        if total == 0 { 0.0 } else { weighted as f64 / total as f64 }
    }

    /// The share of the time at levels above zero.
    pub fn share_filled(&self) -> f64 {
        let total: u64 = self.time_ps.iter().sum();
        let filled: u64 = self.time_ps.iter().skip(1).sum();
        if total == 0 { 0.0 } else { filled as f64 / total as f64 }
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
