//! The device's buffer, and what is left when the power fails.

use crate::finding::Side;
use crate::mutant::Mutant;
use crate::params::PersistentFlush;
use crate::shadow::Word;
use crate::state::{Accepted, Block, State};

/// How far the flush of a power failure gets.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// What is flushed at all.
    pub flush: PersistentFlush,
    /// Writes that each host has time to send.
    pub host_lines: usize,
    /// Lines for which the device has time and energy.
    pub device_lines: usize,
}

/// What a power failure leaves.
#[derive(Clone, Debug)]
pub struct PostCrashState<W, const N: usize> {
    /// The media's lines.
    pub memory: Vec<Block<W, N>>,
    /// Lines that the device had accepted, those of a global flush among them, in the order in which it drains them.
    pub accepted: Vec<usize>,
    /// How many of them it drained.
    pub drained: usize,
    /// Writes that a global flush did not get from the hosts.
    pub unsent: usize,
    /// How much the device's count of dirty shutdowns went up.
    pub dirty_shutdowns: u64,
}

/// A power failure.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// Who would have acted next, where, and when that was.
    pub(crate) at: Side,
    /// What the media holds.
    pub(crate) post_crash: PostCrashState<Word, 8>,
    /// Operations that each host had ended.
    pub(crate) ended: Vec<u64>,
}

impl<W: Copy + Eq, const N: usize> State<W, N> {
    /// The device is about to accept a write of a line: its media has what it held before.
    pub(crate) fn accept(&mut self, line: usize) {
        if self.buffer == 0 || self.accepted.iter().any(|a| a.line == line) {
            return;
        }
        if self.accepted.len() == self.buffer {
            self.accepted.remove(0);
        }
        self.accepted.push(Accepted { line, media: self.memory()[line], stamp: self.clock });
    }

    /// Lines that the device has accepted and its media has not, oldest first.
    pub fn accepted(&self) -> impl Iterator<Item = usize> + '_ {
        self.accepted.iter().map(|a| a.line)
    }

    /// The media gets one of the accepted lines, in whatever order.
    pub fn drain(&mut self, index: usize) {
        self.accepted.remove(index);
    }

    /// What the media holds after a power failure now.
    pub fn power_fails(&self, reach: Reach) -> PostCrashState<W, N> {
        let mut last = self.clone();
        last.buffer = usize::MAX;
        let unsent = match reach.flush {
            PersistentFlush::Global => last.hosts_write_back(reach.host_lines),
            PersistentFlush::None | PersistentFlush::Device => 0,
        };
        let able = match reach.flush {
            PersistentFlush::None => 0,
            PersistentFlush::Device | PersistentFlush::Global => reach.device_lines,
        };
        let drained = able.min(last.accepted.len());
        let mut memory = last.memory().to_vec();
        last.accepted[drained..].iter().for_each(|a| memory[a.line] = a.media);
        if self.has(Mutant::DrainForgets)
            && let Some(a) = last.accepted.last()
        {
            memory[a.line] = a.media;
        }
        let is_dirty = unsent > 0 || drained < last.accepted.len();
        PostCrashState {
            memory,
            accepted: last.accepted().collect(),
            drained,
            unsent,
            dirty_shutdowns: u64::from(is_dirty && !self.has(Mutant::CountStays)),
        }
    }

    /// The first phase: every host sends what it has on its way and what its caches hold, so many writes at most. How many
    /// it has no time for.
    fn hosts_write_back(&mut self, most: usize) -> usize {
        let mut unsent = 0;
        for host in 0..self.hosts() {
            let able = if self.is_cut_off(host) { 0 } else { most };
            if !self.has(Mutant::CachesForgotten) {
                let dirty: Vec<usize> = self.cached(host).collect();
                dirty.into_iter().for_each(|line| _ = self.write_back(host, line));
            }
            let all = self.in_flight(host).len();
            (0..all.min(able)).for_each(|_| _ = self.land(host, 0));
            unsent += all.saturating_sub(able);
        }
        unsent
    }
}
