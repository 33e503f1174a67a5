//! Ranges of durations, in picoseconds.

/// Up to a millisecond.
pub const NS: (u64, u64) = (0, 1_000_000_000);
/// Up to ten thousand seconds.
pub const LONG: (u64, u64) = (0, 10_000_000_000_000_000);
/// A wire: from a tenth of a nanosecond, which the engine needs, to a microsecond.
pub const WIRE: (u64, u64) = (100, 1_000_000);
/// Between two steps of something that is done for every store: up to a microsecond, or a run takes for ever.
pub const STEP: (u64, u64) = (1, 1_000_000);
/// What happens again and again: up to a tenth of a second.
pub const SHORT: (u64, u64) = (0, 100_000_000_000);
/// From one look at something to the next: an uncached line takes ten nanoseconds to read, and a wait of a millisecond has not more than 100,000 looks.
pub const POLL: (u64, u64) = (10_000, 1_000_000_000);
/// What keeps something busy: more than nothing, up to a millisecond.
pub const SERVICE: (u64, u64) = (1, 1_000_000_000);
