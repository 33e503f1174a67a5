//! A controller's side without a persist path.

use protocol::{Accepted, ControllerOrdering, Evicted, FlushRequest, Image, LineWrite, Retired, StatSink};

/// The controller side of a machine without a persist path: what is evicted is written.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct PassThrough;

impl ControllerOrdering for PassThrough {
    fn flush(&mut self, request: &FlushRequest, image: &mut Image, _: &mut Retired) -> Accepted {
        image.write(request.write.line, &request.write.data, request.write.mask);
        Accepted::Write
    }

    fn commit(&mut self, _: u8, _: u32, _: &mut Image, _: &mut Retired) {}

    fn evict(&mut self, write: &LineWrite, image: &mut Image) -> Evicted {
        image.write(write.line, &write.data, write.mask);
        Evicted::Written
    }

    fn stats(&self, _: &mut dyn StatSink) {}
}
