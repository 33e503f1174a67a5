//! Speed of the DDR4 channel alone.

use crate::Failure;
use crate::output;
use memory::ddr4::{Channel, Request, Spec};
use serde_json::json;
use units::{Random, Time};

/// Million requests a host second that Ramulator 2.1 makes of the same two streams, on another host.
const REFERENCE: [f64; 2] = [0.36, 0.19];
/// How many times as fast this has to be.
pub(crate) const GOAL: f64 = 20.0;

const REQUESTS: u64 = 1_000_000;

/// Requests as fast as the queues take them, a third of them writes: for each pattern its name, million a second,
/// and how many times that is the reference.
pub(crate) fn rates() -> Result<Vec<serde_json::Value>, Failure> {
    let patterns = ["sequential", "random"].into_iter().zip(REFERENCE);
    patterns
        .map(|(pattern, reference)| {
            let done = output::fastest(3, || saturate(pattern == "random"));
            let (_, seconds) = done.map_err(Failure::BadInput)?;
            let rate = REQUESTS as f64 / seconds / 1e6;
            Ok(json!({
                "pattern": pattern,
                "million_requests_per_second": rate,
                "times_reference": rate / reference,
            }))
        })
        .collect()
}

fn saturate(random: bool) -> Result<u64, String> {
    let mut channel = Channel::new(Spec::DDR4_1600)?;
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
