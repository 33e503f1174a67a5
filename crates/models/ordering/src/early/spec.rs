//! How cores flush.

/// What distinguishes core sides.
#[derive(Clone, Copy, Debug)]
pub struct EarlySpec {
    /// Flush epochs that are not safe yet. Without it the oldest epoch alone is flushed.
    pub eager: bool,
    /// The next epoch is safe as soon as the commit is sent, not when it is acknowledged.
    pub commit_pipelined: bool,
    /// A seeded mistake; none in every machine.
    pub mutant: Option<super::Mutant>,
}

impl EarlySpec {
    /// Everything goes as soon as it can.
    pub const EAGER: EarlySpec = EarlySpec { eager: true, commit_pipelined: false, mutant: None };
}
