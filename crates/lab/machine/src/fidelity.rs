//! What a machine is simulated by: lines, or pages.

use crate::error::ConfigError;
use ::params::{Parameters, Words};
use protocol::Settings;

/// The smallest thing of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Fidelity {
    /// A line of 64 bytes.
    Line,
    /// A page of 4 KiB.
    Page,
    /// A line, in the caches of several hosts.
    Hosts,
}

/// What a machine is simulated by.
#[derive(Parameters)]
#[parameters(prefix = "machine")]
pub(crate) struct FidelityParameters {
    /// line: cores, caches, every line of 64 B; page: visits of pages, for footprints of hundreds of GB; hosts: several hosts
    /// that share memory
    #[param(default = "line", source = "open line: what is asked of a machine, lines, pages or hosts")]
    fidelity: Fidelity,
}

/// Whether this is a machine at page fidelity.
pub(crate) fn is_page(s: &Settings) -> bool {
    FidelityParameters::from_settings(s).fidelity == Fidelity::Page
}

/// Whether this is a machine of several hosts.
pub(crate) fn is_hosts(s: &Settings) -> bool {
    FidelityParameters::from_settings(s).fidelity == Fidelity::Hosts
}

/// Whether the sizes fit together.
///
/// # Errors
/// The key, and what is accepted.
pub(crate) fn check(s: &Settings) -> Result<(), ConfigError> {
    if !is_page(s) {
        return Ok(());
    }
    pagesim::check(s).map_err(ConfigError::new)?;
    Ok(())
}
