//! The controller side of a persist path that speculates nothing: each flush is written, evicted lines are dropped.

use super::DropStats;
use protocol::{
    Accepted, ControllerOrdering, EpochId, Evicted, FlushRequest, Image, LineWrite, Retired, StatSink,
};

/// Writes what is flushed.
#[derive(Clone, Default)]
pub(crate) struct Direct {
    stale_drops: u64,
}

impl ControllerOrdering for Direct {
    fn flush(&mut self, request: &FlushRequest, image: &mut Image, _: &mut Retired) -> Accepted {
        assert!(!request.early, "no core side of this path flushes early");
        image.write(request.write.line, &request.write.data, request.write.mask);
        Accepted::Write
    }

    fn commit(&mut self, _: u8, _: EpochId, _: &mut Image, _: &mut Retired) {}

    fn evict(&mut self, write: &LineWrite, image: &mut Image) -> Evicted {
        self.stale_drops += u64::from(image.read(write.line) != write.data);
        Evicted::Dropped
    }

    fn stats(&self, sink: &mut dyn StatSink) {
        DropStats { stale_drops: self.stale_drops }.hand_up(sink);
    }
}
