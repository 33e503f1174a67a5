//! Words at the beginning of DRAM that programs and kernels share, a line each. They stand here together, so that no two are one.

use crate::DRAM_BASE;

/// What threads that meet count in.
pub const BARRIER: u64 = DRAM_BASE + 64;
/// The lock of a kernel's page tables.
pub const MAPPING_LOCK: u64 = DRAM_BASE + 128;
/// Set by a program whose other threads go on until then.
pub const DONE: u64 = DRAM_BASE + 192;
