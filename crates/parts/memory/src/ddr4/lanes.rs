//! Numbers of a rank's banks side by side: bank `b` is lane `b % GROUPS` of vector `b / GROUPS`, and since the low two bits
//! of a bank name its group, what holds by bank group is one vector for all.
//!
//! Kept are the low 32 bits of a clock or of a request's number, compared are differences in 16 bits, the widest that every
//! x86-64 finds the least of by one instruction. 31 bits hold any difference: a refresh comes at least every 2^28 clocks,
//! finds every bank's need anew, and moves what is long over up to itself. 15 bits hold any wait: see the bound of tRFC in
//! `Spec::check`.

use super::command::group;
use super::spec::{BANKS, GROUPS};
use wide::{i16x8, i32x4, i32x8};

const VECTORS: usize = BANKS / GROUPS;
/// Differences in a vector.
const SHORTS: usize = 8;

/// The highest difference: no command can go so late.
pub(super) const NEVER: i16 = i16::MAX;

/// All bits set in the lane of one bank group.
const LANE: [i32x4; GROUPS] = [
    i32x4::new([-1, 0, 0, 0]),
    i32x4::new([0, -1, 0, 0]),
    i32x4::new([0, 0, -1, 0]),
    i32x4::new([0, 0, 0, -1]),
];

/// The bit of each bank.
const BITS: [i16x8; BANKS / SHORTS] = [
    i16x8::new([1, 2, 4, 8, 16, 32, 64, 128]),
    i16x8::new([1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, i16::MIN]),
];

#[inline]
fn select(mask: i32x4, yes: i32x4, no: i32x4) -> i32x4 {
    (mask & yes) | (!mask & no)
}

#[inline]
fn shorts(low: i32x4, high: i32x4) -> i16x8 {
    i16x8::from_i32x8_saturate(wide::bytemuck::cast::<[i32x4; 2], i32x8>([low, high]))
}

/// A number for each bank of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Banks([i32x4; VECTORS]);

impl Banks {
    pub(super) const ZERO: Banks = Banks([i32x4::ZERO; VECTORS]);

    /// Sets the number of one bank. The whole vector is written, since it is soon read whole: a host hands on from a store
    /// what a load of the same width asks for.
    #[inline]
    pub(super) fn set(&mut self, bank: usize, number: u64) {
        let vector = &mut self.0[bank / GROUPS % VECTORS];
        *vector = select(LANE[bank % GROUPS], i32x4::splat(number as i32), *vector);
    }

    /// How far each number is beyond `number`, or behind it where negative.
    #[inline]
    pub(super) fn beyond(&self, number: u64) -> Shorts {
        let ([a, b, c, d], number) = (self.0, i32x4::splat(number as i32));
        Shorts([shorts(a - number, b - number), shorts(c - number, d - number)])
    }
}

/// A difference for each bank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shorts([i16x8; BANKS / SHORTS]);

impl Shorts {
    /// All bits set for the banks in `set`.
    #[inline]
    pub(super) fn members(set: u32) -> Shorts {
        let set = i16x8::splat(set as i16);
        Shorts([(set & BITS[0]).simd_eq(BITS[0]), (set & BITS[1]).simd_eq(BITS[1])])
    }

    #[inline]
    pub(super) fn splat(number: i16) -> Shorts {
        Shorts([i16x8::splat(number); BANKS / SHORTS])
    }

    #[inline]
    fn with(self, other: Shorts, op: impl Fn(i16x8, i16x8) -> i16x8) -> Shorts {
        Shorts([op(self.0[0], other.0[0]), op(self.0[1], other.0[1])])
    }

    #[inline]
    pub(super) fn and(self, other: Shorts) -> Shorts {
        self.with(other, |a, b| a & b)
    }

    #[inline]
    pub(super) fn or(self, other: Shorts) -> Shorts {
        self.with(other, |a, b| a | b)
    }

    #[inline]
    pub(super) fn max(self, other: Shorts) -> Shorts {
        self.with(other, i16x8::max)
    }

    #[inline]
    pub(super) fn least(self) -> i16 {
        self.0[0].min(self.0[1]).reduce_min()
    }

    /// The banks with this number.
    #[inline]
    pub(super) fn equal(self, number: i16) -> u32 {
        let number = i16x8::splat(number);
        self.0[0].simd_eq(number).to_bitmask() | self.0[1].simd_eq(number).to_bitmask() << SHORTS
    }
}

/// When a rank allows a command, by bank group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed(i32x4);

impl Allowed {
    pub(super) const AT_ONCE: Allowed = Allowed(i32x4::ZERO);

    /// Not before `same` clocks from `clock` on in the group of `bank`, and `other` clocks in the others.
    #[inline]
    pub(super) fn not_before(&mut self, clock: u64, bank: u8, same: u64, other: u64) {
        let group = LANE[group(bank)];
        let after = select(group, i32x4::splat(same as i32), i32x4::splat(other as i32));
        let clock = i32x4::splat(clock as i32);
        self.0 = clock + (self.0 - clock).max(after);
    }

    /// Clocks from `free` until it does; negative where it does already.
    #[inline]
    pub(super) fn beyond(&self, free: u64) -> Shorts {
        let clocks = self.0 - i32x4::splat(free as i32);
        Shorts([shorts(clocks, clocks); BANKS / SHORTS])
    }
    /// When it does in the group of `bank`, by the low 32 bits.
    #[cfg(test)]
    pub(super) fn low_clock(&self, bank: u8) -> u32 {
        self.0.to_array()[group(bank)] as u32
    }
}
