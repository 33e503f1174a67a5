//! What waits for a DIMM behind a cache: misses, and lines that the cache has to write back.

use crate::Dimm;
use memory::{Cost, Media};
use protocol::Line;
use std::collections::VecDeque;
use units::Time;

/// Requests of a cache to its DIMM; reads go first, until writes fill up to a threshold, from where they take turns.
pub(crate) struct DimmQueue {
    dimm: Dimm,
    threshold: usize,
    /// Each from when on.
    reads: VecDeque<(Time, Line)>,
    writes: VecDeque<(Time, Line)>,
    free: Time,
    wrote_last: bool,
    /// Bytes that the media read, and wrote.
    bytes: [u64; 2],
}

impl DimmQueue {
    /// Nothing that waits for `dimm`.
    pub(crate) fn new(dimm: Dimm, threshold: usize) -> DimmQueue {
        let (reads, writes) = (VecDeque::new(), VecDeque::new());
        DimmQueue { dimm, threshold, reads, writes, free: Time::ZERO, wrote_last: false, bytes: [0; 2] }
    }

    pub(crate) fn dimm(&self) -> &Dimm {
        &self.dimm
    }

    pub(crate) fn waiting_writes(&self) -> usize {
        self.writes.len()
    }

    /// A line is missed from `at` on.
    pub(crate) fn read(&mut self, at: Time, line: Line) {
        self.reads.push_back((at, line));
    }

    /// A changed line is there to be written from `at` on.
    pub(crate) fn write(&mut self, at: Time, line: Line) {
        self.writes.push_back((at, line));
    }

    /// When the DIMM can do something next.
    pub(crate) fn next(&self) -> Time {
        let ready = self.reads.iter().chain(&self.writes).map(|(at, _)| *at).min();
        ready.map_or(Time::NEVER, |at| at.max(self.free))
    }

    /// What the DIMM does at `now`: the line, and when its data is there where it is read. None where it does nothing.
    pub(crate) fn serve(&mut self, now: Time) -> Option<(Line, Option<Time>)> {
        if self.free > now {
            return None;
        }
        let ready = |waiting: &VecDeque<(Time, Line)>| waiting.iter().position(|(at, _)| *at <= now);
        let (read, write) = (ready(&self.reads), ready(&self.writes));
        let turn = self.writes.len() >= self.threshold && !self.wrote_last;
        self.wrote_last = write.is_some() && (turn || read.is_none());
        if self.wrote_last {
            // A line that is fetched again is there, or on its way, before it is pushed out again: order does not matter.
            let (_, line) = self.writes.remove(write?)?;
            let cost = self.dimm.write(now, line);
            self.occupy(now, &cost);
            return Some((line, None));
        }
        let (_, line) = self.reads.remove(read?)?;
        let cost = self.dimm.read(now, line);
        self.occupy(now, &cost);
        Some((line, Some(now + cost.latency)))
    }
    fn occupy(&mut self, now: Time, cost: &Cost) {
        self.free = now + cost.busy;
        self.bytes = [self.bytes[0] + cost.bytes_read, self.bytes[1] + cost.bytes_written];
    }

    pub(crate) fn media_bytes(&self) -> [u64; 2] {
        self.bytes
    }
}
