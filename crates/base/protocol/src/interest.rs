//! The region of interest, as a program tells its core of it.

use crate::cpu::Cpu;
use std::future::poll_fn;
use units::Dur;

impl Cpu {
    /// Waits until everything has happened that happens on this core before its clock: what it has counted by then is what came
    /// before. Takes no time.
    pub async fn catch_up(&self) {
        poll_fn(|_| self.port().catches_up()).await;
    }

    /// The region of interest begins on this core.
    pub fn region_begins(&self) {
        self.port().region(true);
    }

    /// The region of interest ends on this core.
    pub fn region_ends(&self) {
        self.port().region(false);
    }

    /// The region of interest was not open for so long of what this core took for it.
    pub fn region_skipped(&self, gap: Dur) {
        self.port().region_skipped(gap);
    }
}
