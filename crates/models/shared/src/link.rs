//! Links that fail and come back.
//!
//! What is on its way when a link fails is kept by both ends and sent again when the link is back: nothing is lost as long as
//! the link comes back in time, and nothing arrives before. Whoever needs the device waits meanwhile, and so does another
//! host that needs a line which hardware keeps coherent and which the cut-off host has dirty.

use crate::mutant::Mutant;
use crate::state::State;

impl<W: Copy + Eq, const N: usize> State<W, N> {
    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.down.len()
    }

    /// Whether a host's link is down.
    pub fn is_cut_off(&self, host: usize) -> bool {
        self.down[host]
    }

    /// A host's link fails.
    pub fn link_fails(&mut self, host: usize) {
        self.down[host] = true;
        if self.has(Mutant::LinkForgets) {
            self.forget_in_flight(host);
        }
    }

    /// A host's link is back.
    pub fn link_returns(&mut self, host: usize) {
        self.down[host] = false;
    }

    /// The host whose link has to come back before `host` can use a line: its own, or that of who has the line where
    /// hardware keeps it coherent.
    pub fn waits_for(&self, host: usize, line: usize, uses: Use) -> Option<usize> {
        let copy = self.copy(host, line);
        let has_it = match uses {
            Use::Load => copy.is_some(),
            Use::Store => copy.is_some_and(|copy| copy.dirty || !self.is_coherent(line)),
            Use::StorePast => !self.is_coherent(line),
        };
        if has_it {
            return None;
        }
        if self.is_cut_off(host) {
            return Some(host);
        }
        if !self.is_coherent(line) || self.has(Mutant::SnoopSkipsLostLinks) {
            return None;
        }
        let has = |other: &usize| {
            let must_give = self.copy(*other, line).is_some_and(|copy| copy.dirty || uses != Use::Load);
            must_give || self.in_flight(*other).iter().any(|write| write.line == line)
        };
        (0..self.hosts()).filter(|other| *other != host && self.is_cut_off(*other)).find(has)
    }
}

/// What a host does to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Loads from it.
    Load,
    /// Stores into its copy.
    Store,
    /// Stores past its caches.
    StorePast,
}
