//! A channel behind a controller's queues: two sub-channels.

use crate::controller::QueuedMedia;
use crate::ddr4::{Ddr4, Interleave, Spec};
use params::{Dur, StatSink, Statistics};
use protocol::Line;
use units::Time;

/// What a channel of DDR5 behind a controller reports.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ddr5")]
pub(crate) struct ChannelStats {
    /// rows opened in both sub-channels
    pub(crate) activates: u64,
    /// refreshes of a rank, or of one bank in each of its groups
    pub(crate) refreshes: u64,
    /// reads answered from a sub-channel's write queue
    pub(crate) forwarded: u64,
    /// time from a read's arrival at a sub-channel to its data, summed over reads
    pub(crate) read_time: Dur,
}

/// A channel as a controller sees it: its sub-channels take turns with its lines.
pub struct Ddr5 {
    parts: [Ddr4; 2],
    interleave: Interleave,
}

/// A sub-channel gets numbers of its own lines.
const OWN: Interleave = Interleave { first: 0, lines: 1, channels: 1 };

impl Ddr5 {
    /// Two sub-channels as `spec` describes each, with every bank closed.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub fn new(spec: Spec, interleave: Interleave) -> Result<Ddr5, String> {
        Ok(Ddr5 { parts: [Ddr4::new(spec, OWN)?, Ddr4::new(spec, OWN)?], interleave })
    }
}

impl QueuedMedia for Ddr5 {
    /// Who asks does not know which one it will be.
    fn has_room(&self, write: bool) -> bool {
        self.parts.iter().all(|part| part.has_room(write))
    }

    fn push(&mut self, now: Time, line: Line, write: bool, tag: u32) -> Option<Time> {
        let own = self.interleave.own(line);
        self.parts[(own % 2) as usize].push(now, Line(own / 2), write, tag)
    }

    fn advance(&mut self, to: Time, done: &mut dyn FnMut(u32, Time)) {
        self.parts.iter_mut().for_each(|part| part.advance(to, done));
    }

    fn look_at(&mut self, for_room: bool) -> Time {
        let [even, odd] = &mut self.parts;
        even.look_at(for_room).min(odd.look_at(for_room))
    }

    fn each_unwritten(&self, now: Time, each: &mut dyn FnMut(u32)) {
        self.parts.iter().for_each(|part| part.each_unwritten(now, each));
    }

    fn least_read(&self) -> Dur {
        self.parts[0].least_read()
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        let mut all = ChannelStats::default();
        for part in &self.parts {
            let counts = part.counts();
            all.activates += counts.activates;
            all.refreshes += counts.refreshes;
            all.forwarded += counts.forwarded;
            all.read_time += part.read_time();
        }
        all.hand_up(sink);
    }
}
