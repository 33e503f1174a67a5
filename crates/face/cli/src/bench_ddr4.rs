//! Speed of a channel alone: of DDR4, and a sub-channel of DDR5.

use crate::Failure;
use crate::output;
use memory::ddr4::{Channel, Request, Spec};
use memory::ddr5::DDR5_4800;
use serde_json::json;
use units::{Random, Time};

/// Million requests a second, of those one after the other and of those at random.
struct Pattern {
    name: &'static str,
    goal: f64,
    /// Ramulator 2.1 and DRAMsim3, on another host.
    ramulator: f64,
    dramsim3: f64,
}

const PATTERNS: [Pattern; 2] = [
    Pattern { name: "sequential", goal: 20.0, ramulator: 0.36, dramsim3: 0.26 },
    Pattern { name: "random", goal: 10.0, ramulator: 0.19, dramsim3: 0.15 },
];

const REQUESTS: u64 = 1_000_000;

/// DDR4: for each pattern its name, million requests a second, the goal, and how many times that is what others come to.
pub(crate) fn rates() -> Result<Vec<serde_json::Value>, Failure> {
    let one = |pattern: &Pattern| {
        let rate = rate(Spec::DDR4_1600, pattern.name)?;
        Ok(json!({
            "pattern": pattern.name,
            "million_requests_per_second": rate,
            "goal": pattern.goal,
            "times_ramulator": rate / pattern.ramulator,
            "times_dramsim3": rate / pattern.dramsim3,
        }))
    };
    PATTERNS.iter().map(one).collect()
}

/// The same of DDR5, of which nobody has published how fast it is simulated.
pub(crate) fn rates_of_ddr5() -> Result<Vec<serde_json::Value>, Failure> {
    let one = |pattern: &Pattern| {
        let rate = rate(DDR5_4800, pattern.name)?;
        Ok(json!({"pattern": pattern.name, "million_requests_per_second": rate}))
    };
    PATTERNS.iter().map(one).collect()
}

/// Million requests a second, as fast as the queues take them, a third of them writes.
fn rate(spec: Spec, pattern: &str) -> Result<f64, Failure> {
    let (_, seconds) =
        output::fastest(3, || saturate(spec, pattern == "random")).map_err(Failure::BadInput)?;
    Ok(REQUESTS as f64 / seconds / 1e6)
}

fn saturate(spec: Spec, random: bool) -> Result<u64, String> {
    let mut channel = Channel::new(spec)?;
    let (mut r, mut now) = (Random::new(1, 0), Time::ZERO);
    for n in 0..REQUESTS {
        let line = if random { r.below(1 << 26) } else { n % (1 << 26) };
        let request = Request { line, write: n % 3 == 0, tag: n as u32 };
        while channel.push(now, request).is_err() {
            now = channel.next_at();
            channel.issue();
        }
    }
    Ok(channel.counts().read_clocks)
}
