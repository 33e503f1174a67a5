//! What is counted of a program without a machine, and what nobody has published of how it was.

use crate::{replacement, tracked};
use machine::WorkloadDescription;
use protocol::Param;
use protocol::params::Kind;
use std::collections::BTreeMap;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// What the program changes, in windows of so many operations.
    Windows(u64),
    /// The same under a tool that slows the program: a window holds as many times less.
    Slowed(u64),
    /// Hits of LRU with slots for so many per cent of a database.
    LeastRecentlyUsed(u32),
}

/// How many times as slow a tool makes the program that it counts.
static SLOWER: Param = Param {
    key: "counting.slower",
    kind: Kind::Count { min: 1, max: 100_000 },
    default: "1",
    source: "open 1..10000: PBerry §2 counts under Pin, whose cost §8 calls prohibitive, 10 to 100 times with a routine at each \
             store, in windows whose length is not published, 10 ms to 1 s; stands at the artifact's, whose tool counts by the \
             second and hardly slows",
    meaning: "times less than in a second alone that a program does in a window in which it is counted",
    acts: "",
};

/// What one reference of a query reads.
static REFERENCE: Param = Param {
    key: "counting.reference_bytes",
    kind: Kind::Count { min: 64, max: 4096 },
    default: "1448",
    source: "open 512..4096: NVDIMM-C §VII-B5 does not say what a reference is; a vector of 2,048 values of 2 to 16 bits",
    meaning: "bytes that a reference of a store of columns reads",
    acts: "",
};

/// What is open of what is counted without a machine. None of it can be set: bands vary it.
pub static OPEN: [&Param; 2] = [&SLOWER, &REFERENCE];

impl Counted {
    /// What is open of how it is counted.
    pub(crate) fn open(self) -> Option<&'static Param> {
        match self {
            Counted::Windows(_) => None,
            Counted::Slowed(_) => Some(&SLOWER),
            Counted::LeastRecentlyUsed(_) => Some(&REFERENCE),
        }
    }

    /// The same as one that is counted alike where nothing is varied: a tool that does not slow sees what there is.
    pub(crate) fn as_taken(self) -> Counted {
        match self {
            Counted::Slowed(operations) if SLOWER.default == "1" => Counted::Windows(operations),
            same @ (Counted::Windows(_) | Counted::Slowed(_) | Counted::LeastRecentlyUsed(_)) => same,
        }
    }

    /// Whether the program's own parameters act.
    pub(crate) fn has_program(self) -> bool {
        !matches!(self, Counted::LeastRecentlyUsed(_))
    }

    /// Counts, with `value` for what is open, or what the evaluation takes for it.
    ///
    /// # Errors
    /// What the program found wrong, or that it is none of the project's.
    pub(crate) fn count(
        self,
        workload: &WorkloadDescription,
        value: Option<&str>,
        seed: u64,
    ) -> Result<BTreeMap<String, f64>, String> {
        let value = |param: &Param| {
            let read = param.kind.read(value.unwrap_or(param.default));
            read.ok().and_then(|v| v.as_number()).ok_or_else(|| format!("{}: no number", param.key))
        };
        match self {
            Counted::Windows(operations) => tracked::run(workload, operations, seed),
            Counted::Slowed(operations) => {
                tracked::run(workload, (operations / value(&SLOWER)?).max(1), seed)
            }
            Counted::LeastRecentlyUsed(percent) => {
                replacement::least_recently_used(percent, value(&REFERENCE)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_in_step_are_at_the_same_key() {
        let mut redis = WorkloadDescription::named("redis-seq").unwrap();
        redis.set("workload.keys", "12000").unwrap();
        redis.set("workload.operations", "24000").unwrap();
        let mut pages = |clients: &str| {
            redis.set("workload.clients", clients).unwrap();
            Counted::Windows(24_000).count(&redis, None, 1).unwrap()["tracking.pages"]
        };
        // Buffers of their own, and the server's state, are few pages beside 12,000 keys.
        assert!(pages("10") < pages("1") / 4.0);
    }

    #[test]
    fn a_tool_that_slows_a_program_sees_less_of_it_in_a_window() {
        let mut redis = WorkloadDescription::named("redis-seq").unwrap();
        redis.set("workload.keys", "4000").unwrap();
        redis.set("workload.operations", "4000").unwrap();
        let clean = |counted: Counted, value| {
            let stats = counted.count(&redis, value, 1).unwrap();
            1.0 - stats["tracking.bytes"] / stats["tracking.pages"] / 4096.0
        };
        let alone = clean(Counted::Windows(2000), None);
        assert!((clean(Counted::Slowed(2000), Some("1")) - alone).abs() < f64::EPSILON);
        assert!(clean(Counted::Slowed(2000), Some("100")) > alone);
    }

    /// A traced Redis 7.0.15, one connection in order: of what windows of twenty requests store to, .93 of pages and .32 of lines
    /// is clean.
    #[test]
    fn a_window_of_few_requests_is_mostly_the_servers_own_state() {
        let mut redis = WorkloadDescription::named("redis-seq").unwrap();
        redis.set("workload.keys", "4000").unwrap();
        redis.set("workload.operations", "4000").unwrap();
        let stats = Counted::Windows(20).count(&redis, None, 1).unwrap();
        let clean = |unit: &str, bytes: f64| 1.0 - stats["tracking.bytes"] / stats[unit] / bytes;
        let (pages, lines) = (clean("tracking.pages", 4096.0), clean("tracking.lines", 64.0));
        assert!((0.89..0.97).contains(&pages) && (0.22..0.42).contains(&lines), "{pages} {lines}");
    }
}
