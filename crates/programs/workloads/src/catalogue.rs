//! Every workload: its name, what it does, its parameters, its program.

use crate::context::Context;
use crate::structures as s;
use crate::Program;
use protocol::Param;
use protocol::params::Kind::{Count, Flag};

/// A program that comes with the project.
pub struct Workload {
    /// Name, as in `coreplane run MACHINE NAME`.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters, all under `workload.`.
    pub params: &'static [Param],
    /// The program of one thread.
    pub program: fn(Context) -> Program,
}

impl core::fmt::Debug for Workload {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// The workload called `name`.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

macro_rules! params {
    ($($key:literal $kind:expr, $default:literal, $source:literal, $meaning:literal;)*) => {
        &[
            Param {
                key: "workload.threads",
                kind: Count { min: 1, max: 64 },
                default: "4",
                source: "artifact",
                meaning: "threads, one a hart",
            },
            $(Param {
                key: concat!("workload.", $key),
                kind: $kind,
                default: $default,
                source: $source,
                meaning: $meaning,
            }),*
        ]
    };
}

const N: protocol::params::Kind = Count { min: 1, max: 10_000_000 };
const PERCENT: protocol::params::Kind = Count { min: 0, max: 100 };

/// All workloads.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "bandwidth",
        meaning: "blocks written one after the other, ordered by ofence; blocks alternate between controllers",
        source: "ASAP (HPCA 2022) §VII-C",
        params: params! {
            "operations" N, "20000", "estimate", "blocks written by all threads";
            "block_size" Count { min: 64, max: 4096 }, "256", "paper: ASAP §VII-C", "bytes of a block, a multiple of 64";
        },
        program: |c| Box::pin(s::bandwidth::run(c)),
    },
    Workload {
        name: "queue",
        meaning: "a FIFO queue with one lock for each end; elements are inserted and removed",
        source: "Michael and Scott (PODC 1996); operations of ASAP's atlas_queue",
        params: params! {
            "operations" N, "8000", "artifact: queue_nvm 4 8000 0.5", "insertions and removals by all threads";
            "insert_percent" PERCENT, "50", "artifact: queue_nvm 4 8000 0.5", "operations that insert";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: ASAP §VII (16 to 128 B)", "bytes of an element's value";
            "durable" Flag, "true", "paper: ASAP §IV-A (dfence after an update)", "each operation ends with a dfence";
        },
        program: |c| Box::pin(s::queue::run(c)),
    },
    Workload {
        name: "mix",
        meaning: "random accesses of every kind to shared and private lines; on it engines and models are compared",
        source: "ours",
        params: params! {
            "operations" N, "20000", "estimate", "accesses by all threads";
            "lines" Count { min: 1, max: 4096 }, "64", "estimate", "lines of each shared and private range";
            "shared_percent" PERCENT, "30", "estimate", "accesses to shared lines";
            "racy" Flag, "false", "estimate", "threads write the same bytes of shared lines without synchronising";
        },
        program: |c| Box::pin(s::mix::run(c)),
    },
];
