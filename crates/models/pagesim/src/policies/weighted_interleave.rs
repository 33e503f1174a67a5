//! Weighted interleave (`MPOL_WEIGHTED_INTERLEAVE`, Linux 6.9): a program's new pages go to the nodes in turn, so many to each
//! as its weight says, so that it has the bandwidth of all of them.
//!
//! The turn is the task's own (`il_prev`, `il_weight`); a node below its low mark is passed over by the allocator, as
//! anywhere. Sources: `mm/mempolicy.c`, and `Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave`, by
//! what they do. Not modelled: weights that the kernel computes from bandwidths (since 6.16), policies of single
//! areas, whose turn follows the page's place. Pages that are read ahead from the swap device take no turn.

use crate::memory::MemoryManager;
use crate::memory::{Medium, Zone};
use crate::policy::{Entry, Policy, needs_pm};
use params::{Parameters, Settings, StatSink, Statistics};

pub(super) const ENTRY: Entry = Entry {
    word: "weighted-interleave",
    about: "pages go to DRAM and PM in turn, by weights",
    params: InterleaveParameters::TABLE,
    ignores: &["os.describe_ns"],
    statistics: Interleaved::TABLE,
    check: needs_pm,
    new: |s| Box::new(WeightedInterleave::of(s)),
};

/// Parameters.
#[derive(Parameters)]
#[parameters(prefix = "os")]
struct InterleaveParameters {
    /// pages in a row that go to DRAM (weighted-interleave)
    #[param(
        default = "1",
        source = "datasheet: Linux, a node's weight is 1 until it is set",
        min = 1,
        max = 255
    )]
    interleave_dram: u64,
    /// and to each node of persistent memory
    #[param(
        default = "1",
        source = "datasheet: Linux, a node's weight is 1 until it is set",
        min = 1,
        max = 255
    )]
    interleave_pm: u64,
}

/// Where pages went.
#[derive(Clone, Copy, Debug, Default, Statistics)]
#[statistics(prefix = "os")]
struct Interleaved {
    /// pages that came to the node whose turn it was (numastat's interleave_hit)
    interleave_hits: u64,
    /// pages that did not: that node was below its low mark
    interleave_misses: u64,
}

/// The node whose turn it is, and how many pages it still gets.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    zone: usize,
    left: u64,
}

struct WeightedInterleave {
    weights: InterleaveParameters,
    /// By process.
    turns: Vec<Turn>,
    pages: Interleaved,
}

impl WeightedInterleave {
    fn of(s: &Settings) -> WeightedInterleave {
        let weights = InterleaveParameters::from_settings(s);
        WeightedInterleave { weights, turns: Vec::new(), pages: Interleaved::default() }
    }

    fn weight(&self, zone: &Zone) -> u64 {
        match zone.medium {
            Medium::Dram => self.weights.interleave_dram,
            Medium::Pm => self.weights.interleave_pm,
        }
    }
}

impl Policy for WeightedInterleave {
    fn first_choice(&mut self, process: u32, zones: &[Zone]) -> usize {
        let process = process as usize;
        if self.turns.len() <= process {
            let first = Turn { zone: 0, left: self.weight(&zones[0]) };
            self.turns.resize(process + 1, first);
        }
        let Turn { mut zone, mut left } = self.turns[process];
        if left == 0 {
            zone = (zone + 1) % zones.len();
            left = self.weight(&zones[zone]);
        }
        self.turns[process] = Turn { zone, left: left - 1 };
        let has_room = zones[zone].free() > zones[zone].marks.low;
        self.pages.interleave_hits += u64::from(has_room);
        self.pages.interleave_misses += u64::from(!has_room);
        zone
    }

    fn statistics(&self, _: &MemoryManager, sink: &mut dyn StatSink) {
        self.pages.hand_up(sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{program, ran_under, spec, sweep};
    use protocol::pages::PageStep;

    #[test]
    fn pages_go_to_nodes_by_their_weights() {
        let weights = InterleaveParameters { interleave_dram: 3, interleave_pm: 1 };
        let policy = WeightedInterleave { weights, turns: Vec::new(), pages: Interleaved::default() };
        let steps = vec![PageStep::Map { area: 0, pages: 4000 }, sweep(0, 4000, true)];
        let m = ran_under(Box::new(policy), spec(2, 2, true), program(steps));
        assert_eq!(
            m.memory().counts.pm_written,
            1000 * (4096 + 64),
            "one page in four is on persistent memory"
        );
    }
}
