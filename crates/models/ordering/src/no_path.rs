//! Machines without a persist path: flush instructions persist, or the caches do.

use protocol::{
    Capabilities, CoreOrdering, EpochId, FenceKind, Line, LineWrite, Msg, Outbox, Peer, StatSink, WouldBlock,
};
use units::Time;

/// The core side where there is nothing beside the core.
#[derive(Clone, Copy, Debug)]
pub struct NoPath {
    capabilities: Capabilities,
}

impl NoPath {
    /// A core side that asks for `capabilities` and does nothing itself.
    pub fn new(capabilities: Capabilities) -> NoPath {
        NoPath { capabilities }
    }
}

impl CoreOrdering for NoPath {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn store(&mut self, _: Time, _: &LineWrite, _: &mut Outbox) -> Result<EpochId, WouldBlock> {
        Ok(0)
    }

    fn fence(&mut self, _: Time, _: FenceKind, _: &mut Outbox) -> Result<(), WouldBlock> {
        Ok(())
    }

    fn holds(&self, _: Line) -> bool {
        false
    }

    fn committed(&self) -> EpochId {
        0
    }

    fn on(&mut self, _: Time, _: Peer, msg: &Msg, _: &mut Outbox) {
        protocol::unexpected("a core without a persist path", msg);
    }

    fn next(&self) -> Time {
        Time::NEVER
    }

    fn tick(&mut self, _: Time, _: &mut Outbox) {}

    fn level(&self) -> usize {
        0
    }

    fn power_fail(&self, _: &mut dyn FnMut(Time, &LineWrite)) {}

    fn stats(&mut self, _: Time, _: &mut dyn StatSink) {}
}
