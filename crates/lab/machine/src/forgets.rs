//! Machines whose memory keeps nothing when the power fails, and where a recorded program lies on them.

use crate::describe::{Description, WorkloadDescription};
use crate::error::ConfigError;
use protocol::params::Setting;

/// Why a power failure leaves nothing of any of the machine's memories; none where it leaves something, and where memory is a
/// simulator's own.
///
/// # Errors
/// When the list of its memories is not accepted.
pub fn forgets_all(machine: &Description) -> Result<Option<&'static str>, ConfigError> {
    if machine.simulator().is_some() {
        return Ok(None);
    }
    let entries = machine.entries()?;
    let volatile = entries.iter().map(|e| e.kind.is_volatile(&e.settings)).collect::<Option<Vec<_>>>();
    Ok(volatile.and_then(|why| why.first().copied()))
}

impl WorkloadDescription {
    /// The same on `machine`: a recorded program has no memory besides the machine's where a power failure leaves nothing of that,
    /// unless something else is asked for.
    ///
    /// # Errors
    /// When the list of the machine's memories is not accepted.
    pub(crate) fn in_memory_of(&self, machine: &Description) -> Result<WorkloadDescription, ConfigError> {
        let mut placed = self.clone();
        if self.recording().is_some() && self.settings.text("workload.pm") == "auto" {
            let word = if forgets_all(machine)?.is_some() { "all" } else { "ranges" };
            placed.settings.set("workload.pm", Setting::Text(word.into()));
        }
        Ok(placed)
    }
}
