//! What a link is made of.

use super::flits::Format;
use units::Dur;

/// What a link is made of.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// Time of a flit on the wires.
    pub flit: Dur,
    /// What a flit holds.
    pub format: Format,
    /// Reads on their way at once, until their data is back.
    pub requests: usize,
    /// Ports and switches, one way.
    pub way: Dur,
    /// Between the device's port and its controllers.
    pub device: Dur,
    /// Links that share a memory's controllers.
    pub links: usize,
    /// What is at the other end, where that knows who has which line.
    pub home: Option<Home>,
}

impl LinkSpec {
    /// The same to an end that keeps nothing in memory.
    #[must_use]
    pub fn without_directory(self) -> LinkSpec {
        LinkSpec { home: self.home.map(|_| Home { keeps_directory: false }), ..self }
    }
}

/// An end that knows who has which line, so that a line that no cache has is claimed before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// Whether it keeps that in memory.
    pub keeps_directory: bool,
}
