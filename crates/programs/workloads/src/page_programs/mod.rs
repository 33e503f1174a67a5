//! Programs at page fidelity: what they map, which pages they visit, how long they think. For footprints of hundreds of GB.

mod recorded;
mod spec_mix;
mod stream;
mod visits;

pub use visits::{Phase, Visits};

use params::Kind::{Count, Nanoseconds};
use protocol::pages::Arrival;
use protocol::{Param, Settings};
use std::sync::Arc;

/// What a program at page fidelity is made from.
#[derive(Clone, Debug)]
pub struct PageContext {
    /// Values under `workload.`.
    pub settings: Settings,
    /// Seed of every random stream.
    pub seed: u64,
    /// A recording that the user gave.
    pub visits: Option<Arc<Visits>>,
}

/// A workload of machines at page fidelity.
pub struct PageWorkload {
    /// Name, as in `coreplane run MACHINE NAME`.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters, all under `workload.`; none where a workload of the same name at line fidelity has them.
    pub params: &'static [Param],
    /// Kinds of its operations, in their order.
    pub kinds: &'static [&'static str],
    /// Its programs and when they start.
    pub programs: fn(&PageContext) -> Vec<Arrival>,
}

impl std::fmt::Debug for PageWorkload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! params {
    ($($key:literal $kind:expr, $default:literal, $source:literal, $meaning:literal;)*) => {
        &[$(Param {
            key: concat!("workload.", $key),
            kind: $kind,
            default: $default,
            source: $source,
            meaning: $meaning,
            acts: "",
        }),*]
    };
}

const INSTANCES: params::Kind = Count { min: 1, max: 10_000 };
const OPERATIONS: params::Kind = Count { min: 1, max: 1_000_000_000 };

/// All of them.
// No constant, as with `catalogue::WORKLOADS`.
pub static PAGE_WORKLOADS: &[PageWorkload] = &[
    PageWorkload {
        name: "spec-mix",
        meaning: "many instances of nine programs with the footprints and phases of SPEC CPU2006's, arriving in batches",
        source: "AMF (ISCA 2018) §5, table 4; footprints: what the programs are known to take with their reference inputs",
        params: params! {
            "instances" INSTANCES, "193", "paper: AMF table 4, experiment 2", "programs, all batches together";
            "program" params::Kind::Choice(spec_mix::CHOICES), "all", "paper: AMF §5 (mix), Fig. 10 (mcf)", "which; all: the nine in turn";
            "batch" INSTANCES, "32", "paper: AMF table 3, one a core", "programs that arrive together";
            "interval_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000_000_000 }, "2000000000", "open 100000000..10000000000: when batches came is not published; stands at 2 s, as before anything was compared; evaluations have the middle, 1 s", "time between batches";
            "passes" Count { min: 1, max: 1000 }, "4", "open 2..8: a run of seconds stands for one of minutes", "times that a program goes over its memory";
            "scale_percent" Count { min: 1, max: 1000 }, "100", "open 100: what is asked of the program", "footprints in per cent";
        },
        kinds: &["instance"],
        programs: spec_mix::programs,
    },
    PageWorkload {
        name: "sqlite-mem",
        meaning: "SQLite with its database in memory: random inserts, then updates, selects, deletes; recorded, scaled up",
        source: "AMF (ISCA 2018) §6.4; SQLite 3.40.1 under Valgrind's lackey (python -m coreplane.visits)",
        params: params! {
            "operations" OPERATIONS, "17000000", "paper: AMF §6.4", "inserts; other kinds in proportion, 3 to 17 each";
            "instances" INSTANCES, "1", "paper: AMF §6.4", "databases side by side";
        },
        kinds: &["insert", "update", "select", "delete"],
        programs: recorded::sqlite,
    },
    PageWorkload {
        name: "redis-mem",
        meaning: "a Redis server without persistence: set and get of 4 kB at random keys, then lpush and lpop; recorded, scaled up",
        source: "AMF (ISCA 2018) table 5; Redis 7.0.15 under Valgrind's lackey (python -m coreplane.visits)",
        params: params! {
            "operations" OPERATIONS, "30000000", "paper: AMF table 5", "requests of each kind";
            "instances" INSTANCES, "1", "paper: AMF §6.4", "servers side by side";
        },
        kinds: &["set", "get", "lpush", "lpop"],
        programs: recorded::redis,
    },
    PageWorkload {
        name: "stream",
        meaning: "STREAM's copy, scale, add and triad, on arrays in memory or in device files",
        source: "McCalpin (1995); AMF (ISCA 2018) §6.3",
        params: &[],
        kinds: &["copy", "scale", "add", "triad"],
        programs: stream::programs,
    },
];

/// The workload called `name`.
pub fn find_pages(name: &str) -> Option<&'static PageWorkload> {
    PAGE_WORKLOADS.iter().find(|w| w.name == name)
}

/// Steps that a closure makes, each from the number of the step.
struct Script<F>(F, u64);

impl<F: FnMut(u64) -> protocol::pages::PageStep> protocol::pages::PageProgram for Script<F> {
    fn next(&mut self) -> protocol::pages::PageStep {
        let step = (self.0)(self.1);
        self.1 += 1;
        step
    }
}
