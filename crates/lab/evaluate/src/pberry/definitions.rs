//! Table 1's two Redis loads by three definitions of dirty, for whoever measures them on a real one.

use super::served::{KEYS, SERVED, Served};
use super::{BLOCKS, FUNCTIONAL, LINES, SLOWED, TRACKED, clean, declare_served, sized};
use crate::Effort;
use crate::runs::{Key, Runs};
use machine::RunError;

/// Shares of dirty blocks that are clean: of pages of 4 KiB, of 2 MiB, of lines.
pub type Shares = [f64; 3];

/// A load of table 1, simulated.
pub struct Load {
    /// The workload.
    pub workload: &'static str,
    /// Whether each connection takes its keys in order; else at random.
    pub in_order: bool,
    /// How many there are.
    pub keys: u64,
    /// The claim that has what is published.
    pub claim: &'static str,
    /// A byte is dirty when it was stored.
    pub stored: Shares,
    /// When it differs at a window's end.
    pub changed: Shares,
    /// When the agent saw its line written back.
    pub written_back: Shares,
}

/// Both loads. Stores and differences are of programs of 136 MB, write-backs of a small one on a machine with caches.
///
/// # Errors
/// When a run cannot be done.
pub(crate) fn loads(seed: u64) -> Result<Vec<Load>, RunError> {
    let mut runs = Runs::default();
    declare_served(&mut runs, Effort::Whole)?;
    for Served { workload, .. } in SERVED {
        // Caches that hold a part of the program, or nothing would be written back.
        let local = [("remote.local_kib", "65536"), ("llc.size_bytes", "1 MiB"), ("l2.size_bytes", "64 KiB")];
        runs.add(Key::new(TRACKED, workload, 1), LINES, &sized(Effort::Whole, workload, &local)?)?;
    }
    runs.run(seed, || {})?;
    let shares = |machine: &str, workload: &str, definition: &str| {
        BLOCKS.map(|block| clean(&runs, machine, workload, definition, block))
    };
    let load = |Served { workload, claim, in_order, .. }| Load {
        workload,
        in_order,
        keys: KEYS,
        claim,
        stored: shares(SLOWED, workload, "tracking"),
        changed: shares(FUNCTIONAL, workload, "tracking.changed"),
        written_back: shares(TRACKED, workload, "tracking.written_back"),
    };
    Ok(SERVED.map(load).into())
}
