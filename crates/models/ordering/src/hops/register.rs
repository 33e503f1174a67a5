//! The global timestamp register: up to which epoch each core's persists are durable.

use engine::{Device, Out, PortId};
use params::Statistics;
use protocol::{EpochId, EpochTag, Msg, Node, PostCrash, StatSink, View, messages, ports};
use units::{Dur, Time};

/// What the register counts.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "ordering")]
pub(crate) struct PollStats {
    /// looks at the global timestamp register
    pub(crate) polls: u64,
}

/// What the register holds.
#[derive(Clone, Debug, Hash)]
pub struct Timestamps(Vec<EpochId>);

impl Timestamps {
    /// Nothing durable yet.
    pub fn new(cores: usize) -> Timestamps {
        Timestamps(vec![0; cores])
    }

    /// Every epoch of `core` up to `epoch` is durable.
    pub fn publish(&mut self, core: u8, epoch: EpochId) {
        self.0[core as usize] = epoch;
    }

    /// How far `core` is.
    pub fn read(&self, core: u8) -> EpochTag {
        EpochTag { core, epoch: self.0[core as usize] }
    }
}

/// The register, a node of its own.
pub struct TimestampRegister {
    access: Dur,
    durable: Timestamps,
    polls: u64,
}

impl TimestampRegister {
    /// A register for `cores` cores; reading it takes `access`, wires not included.
    pub fn new(cores: usize, access: Dur) -> TimestampRegister {
        TimestampRegister { access, durable: Timestamps::new(cores), polls: 0 }
    }
}

impl Device<Msg> for TimestampRegister {
    fn on(&mut self, _: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        let sender = port.0 - ports::from_core(0).0;
        match *msg {
            Msg::Publish { epoch } => self.durable.publish(sender, epoch),
            Msg::Poll { core } => {
                self.polls += 1;
                let tag = self.durable.read(core);
                out.send(port, self.access, Msg::Timestamp { tag });
            }
            Msg::Timestamp { .. }
            | messages!(timers | caches | memory | persists | acknowledgements | dependences)
            | messages!(uncached | near) => protocol::unexpected("the timestamp register", msg),
        }
    }
}

impl Node for TimestampRegister {
    fn post_crash(&self, _: View, _: &mut PostCrash) {}

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        PollStats { polls: self.polls }.hand_up(sink);
    }
}
