//! Simulated time and sizes, and numbers that are looked for in many places.
//!
//! Time is an integer number of picoseconds. A point in time ([`Time`]) and a stretch of it ([`Dur`]) are
//! different types, so that two points cannot be added by mistake. 64 bits hold 213 days.
#![forbid(unsafe_code)]

mod parse;
mod places;
mod spread;
pub mod watch;

pub use parse::{ParseError, parse_bytes, parse_dur};
pub use places::Places;
pub use spread::spread;

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in simulated time, in picoseconds since power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A stretch of simulated time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dur(u64);

impl Time {
    /// Power-on.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The point `ps` picoseconds after power-on.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since power-on.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds since power-on; for reports, never for timing.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The last point before this one; power-on has none and stays.
    pub const fn just_before(self) -> Time {
        Time(self.0.saturating_sub(1))
    }

    /// The stretch from `earlier` to here, zero when `earlier` is not earlier.
    pub const fn since(self, earlier: Time) -> Dur {
        Dur(self.0.saturating_sub(earlier.0))
    }
}

impl Dur {
    /// No time.
    pub const ZERO: Dur = Dur(0);

    /// `n` picoseconds.
    pub const fn ps(n: u64) -> Dur {
        Dur(n)
    }

    /// `n` nanoseconds.
    pub const fn ns(n: u64) -> Dur {
        Dur(n * 1_000)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds; for reports, never for timing.
    pub fn as_ns(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Add<Dur> for Time {
    type Output = Time;
    #[inline]
    fn add(self, d: Dur) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Dur> for Time {
    #[inline]
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}

impl Sub for Time {
    type Output = Dur;
    #[inline]
    fn sub(self, earlier: Time) -> Dur {
        debug_assert!(self >= earlier, "a stretch of time is never negative");
        Dur(self.0 - earlier.0)
    }
}

impl Add for Dur {
    type Output = Dur;
    #[inline]
    fn add(self, d: Dur) -> Dur {
        Dur(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Dur {
    #[inline]
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}

impl Sub for Dur {
    type Output = Dur;
    #[inline]
    fn sub(self, d: Dur) -> Dur {
        Dur(self.0.saturating_sub(d.0))
    }
}

impl Mul<u64> for Dur {
    type Output = Dur;
    #[inline]
    fn mul(self, k: u64) -> Dur {
        Dur(self.0.saturating_mul(k))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Dur(self.0), f)
    }
}

impl fmt::Display for Dur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} ns", self.0 / 1_000, self.0 % 1_000)
    }
}

/// A clock: edge `k` falls on `k * 10^6 / mhz` ps, rounded down, so that 3.6 GHz does not drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    mhz: u64,
}

impl Clock {
    /// A clock of `mhz` megahertz.
    ///
    /// # Panics
    /// When `mhz` is zero; descriptions are checked before a clock is made.
    pub const fn mhz(mhz: u64) -> Clock {
        assert!(mhz > 0);
        Clock { mhz }
    }

    /// When edge `k` falls.
    #[inline]
    pub fn edge(self, k: u64) -> Time {
        Time((u128::from(k) * 1_000_000 / u128::from(self.mhz)) as u64)
    }

    /// How long `k` cycles take, rounded down to a picosecond.
    #[inline]
    pub fn cycles(self, k: u64) -> Dur {
        Dur(self.edge(k).0)
    }
}

/// Deterministic random numbers for workloads and tests: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
/// The stream is part of the contract "same seed, same bytes": it never changes.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for every `(seed, stream)`.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut r = Random(seed ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03));
        r.next_u64();
        r
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Uniform in `0..n` (multiply-shift; its bias is below `n / 2^64`). `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `per_mille / 1000`.
    #[inline]
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// The finaliser of SplitMix64: a fixed 64-bit mixing function, used wherever a model needs a hash.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The numbers of the bits that are set, in order. Cost: one step a set bit.
#[inline]
pub fn bits(mask: u64) -> impl Iterator<Item = u32> {
    let next = |m: u64| (m & (m - 1) != 0).then(|| m & (m - 1));
    std::iter::successors((mask != 0).then_some(mask), move |m| next(*m)).map(u64::trailing_zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_in_order() {
        assert_eq!(bits(0).count(), 0);
        assert_eq!(bits(1 << 63 | 0b101).collect::<Vec<_>>(), [0, 2, 63]);
        assert_eq!(bits(u64::MAX).count(), 64);
    }

    #[test]
    fn a_clock_that_does_not_divide_a_nanosecond_does_not_drift() {
        assert_eq!(Clock::mhz(3600).edge(3_600_000_000), Time::from_ps(1_000_000_000_000));
        assert_eq!(Clock::mhz(2000).cycles(3), Dur::ps(1500));
    }

    #[test]
    fn random_streams_differ_by_seed_and_by_stream() {
        let first = |s, k| Random::new(s, k).next_u64();
        assert_ne!(first(1, 0), first(2, 0));
        assert_ne!(first(1, 0), first(1, 1));
        assert_eq!(first(7, 3), first(7, 3));
    }

    #[test]
    fn below_stays_below_and_reaches_both_ends() {
        let mut r = Random::new(1, 1);
        let seen: Vec<u64> = (0..200).map(|_| r.below(5)).collect();
        assert!(seen.iter().all(|&x| x < 5) && seen.contains(&0) && seen.contains(&4));
    }
}
