//! The one table of machine parameters. Files, `--set`, `show`, the JSON Schema and the wiring all follow it. Each
//! system says its own in its folder.

use crate::registry::{PARAMETERS, SYSTEMS};
use ::params::Param;

/// Every parameter of a machine.
pub const MACHINE: &[Param] = PARAMETERS;

/// The interval of `cpu.ipc`, which no recording tells.
pub const IPC_INTERVAL: [&str; 2] = ["0.5", "3"];

/// The present name of a key that had another one.
pub fn renamed(key: &str) -> Option<&'static str> {
    let mut all = SYSTEMS.iter().flat_map(|system| system.renamed);
    all.find(|(old, _)| *old == key).map(|(_, new)| *new)
}
