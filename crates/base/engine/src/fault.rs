//! What a device did that none may: the run ends with it, and with nothing that came of it.

use crate::{Engine, LOOK, Message, NodeId, Out, PortId};
use units::Time;

/// Events at one point in time after which a run does not go on: no machine has so many to do at once.
const MOST_AT_ONCE: u64 = 100_000_000;

/// What was done that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Who did it, or heard it.
    pub node: NodeId,
    /// Where that one heard it: whoever sends there did it.
    pub heard_on: Option<PortId>,
    /// What: it follows a name.
    pub what: String,
}

/// Whether time passes.
pub(crate) struct Still {
    /// Events at one point in time after which it is said not to.
    pub(crate) most: u64,
    at: Time,
    looks: u64,
    /// What each node had sent when it was looked at first at this point in time.
    counters: Vec<u64>,
}

impl Default for Still {
    fn default() -> Still {
        Still { most: MOST_AT_ONCE, at: Time::ZERO, looks: 0, counters: Vec::new() }
    }
}

impl Still {
    /// Another look at a run that is at `at`, and where each node has sent as much as `counters` say.
    pub(crate) fn look(&mut self, at: Time, counters: &[u64]) -> Option<Fault> {
        if at != self.at || self.looks == 0 {
            (self.at, self.looks) = (at, 1);
            self.counters.clear();
            self.counters.extend_from_slice(counters);
            return None;
        }
        self.looks += 1;
        if self.looks <= self.most / LOOK {
            return None;
        }
        let sent = counters.iter().zip(&self.counters).map(|(now, then)| now - then);
        let (most, node) = sent.zip(0..).max()?;
        let what = format!(
            "does not let time pass: more than {} events are at {at}, and it made {most} of them",
            self.most
        );
        Some(Fault { node: NodeId(node), heard_on: None, what })
    }
}

impl<M: Message> Engine<M> {
    /// What was done that must not be, first of all.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// Ends the run: [`Engine::next`] returns none from here on.
    #[cold]
    #[inline(never)]
    pub fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert_with(|| Box::new(fault));
        self.stop = Time::ZERO;
    }
}

impl<M: Message> Out<'_, M> {
    /// What came on `port` must not have: whoever sends there `what`. The run ends.
    #[cold]
    #[inline(never)]
    pub fn refuse(&mut self, port: PortId, what: String) {
        self.engine.fail(Fault { node: self.me, heard_on: Some(port), what });
    }

    /// A message goes nowhere: its time has passed, or no wire is there.
    #[cold]
    #[inline(never)]
    pub(crate) fn cannot_send(&mut self, at: Time, port: PortId, msg: &M) -> Time {
        let (now, kind) = (self.now, kind(msg));
        let what = if at < now {
            format!("sent {kind} at {at}, when it was {now} already: nothing leaves in the past")
        } else {
            let wires = self.engine.links[self.me.0 as usize].len();
            format!("sent {kind} at {at} on port {}: it has {wires} wires, from port 0 on", port.0)
        };
        self.engine.fail(Fault { node: self.me, heard_on: None, what });
        now
    }

    /// Nobody hears a timer: its time has passed.
    #[cold]
    #[inline(never)]
    pub(crate) fn cannot_wake(&mut self, at: Time, msg: &M) {
        let what = format!(
            "set a timer, {}, to {at}, when it was {} already: nobody wakes in the past",
            kind(msg),
            self.now
        );
        self.engine.fail(Fault { node: self.me, heard_on: None, what });
    }
}

/// The name of a message, without what it carries.
fn kind(msg: &impl Message) -> String {
    let whole = format!("{msg:?}");
    whole.split([' ', '(']).next().unwrap_or_default().to_string()
}
