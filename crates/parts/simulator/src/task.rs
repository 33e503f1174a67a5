//! What is to be run, and on what.

use params::{Settings, Words};
use std::fmt;
use std::sync::Arc;
use trace::Recording;
use workloads::{PageWorkload, SharedWorkload, Visits, Workload};

/// What a machine simulates, and so what its programs are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Fidelity {
    /// Every cache line, by the engine.
    Line,
    /// Visits of pages.
    Page,
    /// Lines of several hosts.
    Hosts,
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

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
    /// What it runs at.
    pub fn fidelity(self) -> Fidelity {
        match self {
            Work::Lines(_) | Work::Recording(_) => Fidelity::Line,
            Work::Pages(_) => Fidelity::Page,
            Work::Hosts(_) => Fidelity::Hosts,
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
