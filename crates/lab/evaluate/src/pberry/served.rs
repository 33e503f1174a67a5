//! The two Redis of tables 1 and 3: what they hold, who asks, and how fast they were.

use super::Sets;
use crate::Effort;

/// A Redis and its load.
///
/// 200 clients of 400,000 requests (the artifact's commands) took 168 and 69 s (table 3), 476,000 and 1.16 million a second. At
/// random over 10 million keys, here over 330,000: as many a key, and 7 clients have as many requests each in a window as 200
/// had, 2,380. In order every client is at the same key; the keys of a window are the published ones, 2,900, of 330,000 too, and 10
/// clients have 5,800 requests each, so that a key has 20 where it had 400.
pub(super) struct Served {
    pub(super) workload: &'static str,
    /// The claim of table 1.
    pub(super) claim: &'static str,
    /// Whether each connection takes its keys in order; else at random.
    pub(super) in_order: bool,
    pub(super) clients: u64,
    /// Requests of a window.
    pub(super) window: u64,
    /// Windows in which it is tracked.
    pub(super) windows: u64,
    /// A window on a machine, and how many of them it runs there.
    pub(super) window_ns: u64,
    pub(super) timed_windows: u64,
}

pub(super) const SERVED: [Served; 2] = [
    Served {
        workload: "redis-random",
        claim: "pberry.amplification.redis-random",
        in_order: false,
        clients: 7,
        window: 15_700,
        windows: 5,
        window_ns: 33_000_000,
        timed_windows: 3,
    },
    Served {
        workload: "redis-seq",
        claim: "pberry.amplification.redis-seq",
        in_order: true,
        clients: 10,
        window: 58_000,
        windows: 3,
        window_ns: 50_000_000,
        timed_windows: 2,
    },
];

/// Keys of either.
pub(super) const KEYS: u64 = 330_000;

/// A design times a tenth of it.
const PART: u64 = 10;

impl Served {
    /// The one that a workload is, if it is one.
    pub(super) fn named(workload: &str) -> Option<&'static Served> {
        SERVED.iter().find(|served| served.workload == workload)
    }

    /// What is set where it is tracked; a design looks at one window.
    pub(super) fn tracked(&self, effort: Effort) -> Sets {
        let windows = if effort == Effort::Whole { self.windows } else { 1 };
        self.sets(1, windows).into_iter().chain([("workload.clients", self.clients.to_string())]).collect()
    }

    /// What is set on a machine, and a window's nanoseconds; a design has a tenth of keys, requests and time, and one client.
    pub(super) fn timed(&self, effort: Effort) -> (Sets, u64) {
        let part = if effort == Effort::Whole { 1 } else { PART };
        let mut sets = self.sets(part, self.timed_windows);
        sets.push(("workload.thread_mib", "256".into()));
        if part == 1 {
            sets.push(("workload.clients", self.clients.to_string()));
        }
        (sets, self.window_ns / part)
    }

    fn sets(&self, part: u64, windows: u64) -> Sets {
        let operations = self.window / part * windows;
        vec![("workload.keys", (KEYS / part).to_string()), ("workload.operations", operations.to_string())]
    }
}
