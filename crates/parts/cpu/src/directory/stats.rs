//! What the directory counts.

use protocol::StatSink;

#[derive(Clone, Debug, Default)]
pub(super) struct Stats {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) snoops: u64,
    pub(super) recalls: u64,
    pub(super) write_backs: u64,
    pub(super) set_waits: u64,
}

impl Stats {
    pub(super) fn hand_up(&self, sink: &mut dyn StatSink) {
        sink.count("llc.hits", self.hits);
        sink.count("llc.misses", self.misses);
        sink.count("llc.snoops", self.snoops);
        sink.count("llc.recalls", self.recalls);
        sink.count("llc.write_backs", self.write_backs);
        sink.count("llc.set_waits", self.set_waits);
    }
}
