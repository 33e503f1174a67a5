//! What ASAP has of its own.

/// ASAP's own.
#[derive(Clone, Copy, Debug)]
pub struct AsapSpec {
    /// Flush epochs that are not safe yet. Without it, ASAP's buffer flushes as HOPS's does.
    pub eager: bool,
    /// The next epoch is safe as soon as the commit is sent, not when it is acknowledged.
    pub commit_pipelined: bool,
    /// A seeded mistake; none in every machine.
    pub mutant: Option<super::Mutant>,
}
