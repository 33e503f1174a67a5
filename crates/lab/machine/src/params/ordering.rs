//! Parameters of persist ordering.

use super::{NS, SERVICE, STEP, p};
use protocol::Param;
use protocol::params::Kind::{Choice, Count, Flag};

/// The table.
pub(super) const ORDERING: &[Param] = &[
    p("ordering.model", Choice(&ordering::NAMES), "intel", "-", "how persists are ordered"),
    p(
        "ordering.persistency",
        Choice(&["epoch", "release"]),
        "release",
        "-",
        "when one core's persists wait for another's",
    ),
    p(
        "ordering.dependences",
        Choice(&["accesses", "stores"]),
        "accesses",
        "paper: ASAP §IV-A",
        "which conflicts make an epoch depend on another under epoch persistency",
    ),
    p(
        "ordering.persist_buffer",
        Count { min: 1, max: 1024 },
        "32",
        "paper: ASAP Table II",
        "entries of each core's persist buffer",
    ),
    p(
        "ordering.epoch_table",
        Count { min: 2, max: 1024 },
        "32",
        "paper: ASAP §VII",
        "epochs in flight on each core, the open one included",
    ),
    p(
        "ordering.recovery_table",
        Count { min: 0, max: 1024 },
        "32",
        "paper: ASAP Table II",
        "undo and delay records at each controller",
    ),
    p(
        "ordering.write_back_buffer",
        Count { min: 1, max: 256 },
        "16",
        "estimate",
        "evicted lines of a core that wait until their writes have persisted",
    ),
    p(
        "ordering.flush_trigger",
        Count { min: 1, max: 1024 },
        "2",
        "artifact: the paper says only as soon as possible",
        "unflushed entries from which on a persist buffer flushes",
    ),
    p(
        "ordering.flush_timer_ns",
        SERVICE,
        "500",
        "artifact",
        "below the trigger, one entry is flushed after so long",
    ),
    p(
        "ordering.flush_issue_ns",
        STEP,
        "1",
        "artifact",
        "time from one flush of a persist buffer to the next",
    ),
    p("ordering.eager", Flag, "true", "paper: ASAP §IV-C", "ASAP flushes epochs that are not safe yet"),
    p(
        "ordering.commit_ns",
        NS,
        "50",
        "paper: ASAP Table II (flush 60 ns, wires taken off)",
        "time from a commit's arrival to its acknowledgement",
    ),
    p(
        "ordering.commit_pipelined",
        Flag,
        "false",
        "paper: ASAP §V-C",
        "the next epoch is safe once the commit is sent, not when it is acknowledged",
    ),
    p("ordering.undo_reads", Flag, "true", "paper: ASAP §IV-D", "an undo record reads the media"),
    p(
        "ordering.delay_writes",
        Flag,
        "true",
        "paper: ASAP §V-C",
        "a delay record that commits is written to the media",
    ),
    p(
        "ordering.nack_following",
        Flag,
        "false",
        "paper: ASAP §V-D",
        "after a NACK, a controller refuses every early flush of that core until the refused one comes back",
    ),
    p(
        "ordering.poll_ns",
        SERVICE,
        "250",
        "paper: ASAP §VII (500 cycles)",
        "HOPS: time from one look at the global timestamp register to the next",
    ),
    p(
        "ordering.poll_access_ns",
        NS,
        "17",
        "paper: ASAP §VII (50 cycles, wires taken off)",
        "HOPS: time of reading the register",
    ),
    p(
        "ordering.sfence",
        Choice(&["dfence", "ofence"]),
        "dfence",
        "estimate: an sfence promises durability",
        "what a program's own sfence means on a machine with a persist path",
    ),
];
