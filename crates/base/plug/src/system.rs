//! What a system declares of itself: one value in its folder, one line in the registry.

use crate::MemoryKind;
use explore::Harness;
use params::{Derive, Param, StatisticInfo};

/// A system, or a part that every machine has.
#[derive(Clone, Copy)]
pub struct System {
    /// Every parameter that it reads, table by table.
    pub parameters: &'static [&'static [Param]],
    /// What its keys begin with, and what these are about: the headings of `show`.
    pub groups: &'static [(&'static str, &'static str)],
    /// Keys that once had another name, each before the name that it has; and so a value's word, as `KEY = WORD`.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Every statistic that it reports, table by table.
    pub statistics: &'static [&'static [StatisticInfo]],
    /// Tells what follows from these.
    pub derived: Option<Derive>,
    /// The kind of memory that it is.
    pub memory: Option<&'static dyn MemoryKind>,
    /// Its protocols, for exploration.
    pub protocols: &'static [Harness],
}

impl System {
    /// One that declares nothing: what most leave out.
    pub const NOTHING: System = System {
        parameters: &[],
        groups: &[],
        renamed: &[],
        statistics: &[],
        derived: None,
        memory: None,
        protocols: &[],
    };
}
