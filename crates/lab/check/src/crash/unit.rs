//! What persists as a whole.

/// What persists as a whole: a line, or an aligned word, by its first address; or [`METADATA`].
pub type Unit = u64;

/// In a choice: how many of the changes in flight of files are there.
pub const METADATA: Unit = Unit::MAX;

/// The epoch of stores by the kernel: they are in no thread's order.
pub(super) const KERNEL: u32 = u32::MAX;
