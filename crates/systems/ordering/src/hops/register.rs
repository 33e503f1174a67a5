//! The global timestamp register: up to which epoch each hart's persists are durable.

use engine::{Device, Out, PortId};
use protocol::{EpochId, EpochTag, Msg, Node, Remains, StatSink, View, ports};
use units::{Dur, Time};

/// The register, a node of its own.
pub struct TimestampRegister {
    access: Dur,
    durable: Vec<EpochId>,
    polls: u64,
}

impl TimestampRegister {
    /// A register for `harts` harts; reading it takes `access`, wires not included.
    pub fn new(harts: usize, access: Dur) -> TimestampRegister {
        TimestampRegister { access, durable: vec![0; harts], polls: 0 }
    }
}

impl Device<Msg> for TimestampRegister {
    fn on(&mut self, _: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        let sender = port.0 - ports::from_hart(0).0;
        match *msg {
            Msg::Publish { epoch } => self.durable[sender as usize] = epoch,
            Msg::Poll { hart } => {
                self.polls += 1;
                let tag = EpochTag { hart, epoch: self.durable[hart as usize] };
                out.send(port, self.access, Msg::Timestamp { tag });
            }
            _ => debug_assert!(false, "no message for the register: {msg:?}"),
        }
    }
}

impl Node for TimestampRegister {
    fn remains(&self, _: View, _: &mut Remains) {}

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        sink.count("ordering.polls", self.polls);
    }
}
