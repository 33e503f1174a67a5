//! What is to be run, and on what.

use params::Settings;
use std::sync::Arc;
use trace::Recording;
use workloads::{PageWorkload, SharedWorkload, Visits, Workload};

/// Where a workload's programs come from.
#[derive(Clone, Copy)]
pub enum Work<'a> {
    /// At line fidelity, and perhaps at that of pages under the same name.
    Lines(&'static Workload),
    /// At page fidelity.
    Pages(&'static PageWorkload),
    /// On several hosts.
    Hosts(&'static SharedWorkload),
    /// A recorded program.
    Recording(&'a Recording),
}

impl Work<'_> {
    /// What it runs at, as `machine.fidelity` has it.
    pub fn fidelity(self) -> &'static str {
        match self {
            Work::Lines(_) | Work::Recording(_) => "line",
            Work::Pages(_) => "page",
            Work::Hosts(_) => "hosts",
        }
    }
}

/// A workload on a machine.
#[derive(Clone)]
pub struct Task<'a> {
    /// The machine's name.
    pub machine: &'a str,
    /// Its parameters.
    pub settings: &'a Settings,
    /// The workload's name.
    pub workload: &'a str,
    /// Its programs.
    pub work: Work<'a>,
    /// Their parameters.
    pub parameters: &'a Settings,
    /// Recorded visits of pages that the user gave.
    pub visits: Option<Arc<Visits>>,
    /// Seed of every random stream.
    pub seed: u64,
}
