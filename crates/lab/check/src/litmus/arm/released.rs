//! What release persistency lets a consistent execution leave: stores persist in the order that releases, acquires and fences
//! give them, each location on its own, and a DSB waits for all that comes before it.

use super::{Candidate, Event, Kind, Set};
use crate::litmus::ImageValues;
use std::collections::BTreeSet;

/// What a release orders within its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::litmus) enum Sides {
    /// What came before it, before itself.
    One,
    /// What came before it, before itself and before what comes after.
    Both,
}

impl Candidate<'_> {
    fn is_write(&self, e: usize) -> bool {
        self.events[e].kind == Kind::Write
    }

    /// Whether `b`, a store or a DSB, comes after store `a`, for one reason alone.
    fn persists_after(&self, a: usize, b: usize, sides: Sides) -> bool {
        if !self.is_write(a) || a == b {
            return false;
        }
        let Event { location, kind, releases, .. } = self.events[b];
        let waits = kind == Kind::Fence { waits: true };
        if kind != Kind::Write && !waits {
            return false;
        }
        let coherent = !waits && self.events[a].location == location && self.communicates(a, b);
        coherent
            || self.in_order(a, b) && (releases || waits || self.parted(a, b, sides))
            || self.acquired(a, b)
    }

    /// A fence of their thread between two events, or a release where it orders both ways.
    fn parted(&self, a: usize, b: usize, sides: Sides) -> bool {
        let parts = |e: &Event| matches!(e.kind, Kind::Fence { .. }) || e.releases && sides == Sides::Both;
        (0..self.events.len()).any(|e| self.in_order(a, e) && self.in_order(e, b) && parts(&self.events[e]))
    }

    /// The thread of `b` has read the release `a` of another by an acquire before.
    fn acquired(&self, a: usize, b: usize) -> bool {
        let meets = |r: usize| self.events[r].acquires && self.source[r] == Some(a) && self.in_order(r, b);
        self.events[a].releases && self.thread[a] != self.thread[b] && (0..self.events.len()).any(meets)
    }

    /// For each event the stores that persist before it.
    pub(super) fn persist_order(&self, sides: Sides) -> Vec<(usize, Set)> {
        self.closure(|a, b| self.persists_after(a, b, sides)).into_iter().enumerate().collect()
    }

    /// Every set of stores, of those that happened, that a power failure may leave.
    pub(super) fn leave_released(
        &self,
        happened: Set,
        before: &[(usize, Set)],
        found: &mut BTreeSet<ImageValues>,
    ) {
        let events = 0..self.events.len();
        let there = |e: &usize| happened >> e & 1 == 1;
        let dsb = events.clone().filter(|e| there(e) && !self.is_write(*e));
        let durable = dsb.fold(0, |all, d| all | before[d].1);
        let stores: Vec<usize> = events.filter(|e| there(e) && self.is_write(*e)).collect();
        for choice in 0..1u64 << stores.len() {
            let kept: Set = stores.iter().enumerate().map(|(i, e)| (choice >> i & 1) << e).sum();
            let closed = stores.iter().all(|e| kept >> e & 1 == 0 || before[*e].1 & !kept == 0);
            if closed && durable & !kept == 0 {
                found.insert(self.image(kept));
            }
        }
    }

    fn image(&self, kept: Set) -> ImageValues {
        let newest = |stores: &Vec<usize>| stores.iter().rev().find(|w| kept >> **w & 1 == 1).copied();
        let values = self.order.iter().zip(&self.test.initial);
        values.map(|(stores, initial)| newest(stores).map_or(*initial, |w| self.events[w].value)).collect()
    }
}
