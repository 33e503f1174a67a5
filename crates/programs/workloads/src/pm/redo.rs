//! The redo log: new contents first, then their way home.

use super::Pm;
use protocol::{LogChecksum, LogHeader, NearKind, Share};
use std::collections::BTreeMap;

/// An entry that was written: its data, its home, its size.
struct Written {
    data: u64,
    home: u64,
    size: u64,
}

impl Pm {
    /// The words that stand aside become a log, the log becomes valid, and is applied.
    pub(super) async fn apply(&self) {
        let aside = std::mem::take(&mut self.state.borrow_mut().aside);
        if aside.is_empty() {
            self.flush_changes().await;
            return;
        }
        let (c, began) = (&self.c, self.c.cpu.now());
        let mut entries = Vec::new();
        for (first, lines) in self.runs(&aside) {
            entries.push(self.log_new(first, lines, &aside).await);
        }
        self.flush_changes().await;
        let transaction = self.transaction.get();
        c.publish(self.parts.thread_words(self.thread), transaction).await;
        self.durable().await;
        let moving = c.cpu.now();
        for entry in &entries {
            if self.near.is_some() {
                self.forget(entry.home, entry.size).await;
                self.command(NearKind::ApplyLog, entry.data, entry.home, entry.size).await;
            } else {
                self.copy_home(entry).await;
            }
        }
        if self.near.is_none() {
            c.cpu.ofence().await;
        }
        c.cpu.spent(Share::Movement, c.cpu.now() - moving);
        self.delete_log().await;
        c.cpu.spent(Share::Consistency, c.cpu.now() - began);
    }

    /// Lines of words, as runs that do not leave a block of one device: first line, how many.
    fn runs(&self, aside: &BTreeMap<u64, u64>) -> Vec<(u64, u64)> {
        let block = self.parts.layout.interleave / 64;
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for line in aside.keys().map(|a| a / 64) {
            match runs.last_mut() {
                Some((first, lines)) if *first + *lines > line => {}
                Some((first, lines)) if *first + *lines == line && !line.is_multiple_of(block) => *lines += 1,
                _ => runs.push((line, 1)),
            }
        }
        runs
    }

    /// An entry with the new contents of `lines` lines, on the device that holds them.
    async fn log_new(&self, first: u64, lines: u64, aside: &BTreeMap<u64, u64>) -> Written {
        let (c, home, size) = (&self.c, first * 64, lines * 64);
        let layout = self.parts.layout;
        let device = (home - self.parts.place.base) / layout.interleave % layout.devices;
        // The data of an entry is contiguous: what would be cut by the end of a block begins after it.
        let place = self.reserve_whole(device, home, size);
        let transaction = self.transaction.get();
        let mut sum = LogChecksum::new(home, size, transaction);
        for word in (0..size).step_by(8) {
            let value = match aside.get(&(home + word)) {
                Some(value) => *value,
                None => c.load(home + word).await,
            };
            sum.word(value);
            c.store(place + 64 + word, value).await;
        }
        self.write_header(place, &LogHeader { address: home, size, transaction, checksum: sum.value() }).await;
        c.cpu.clwb_range(place, 64 + size).await;
        Written { data: place + 64, home, size }
    }

    /// A place in a device's log whose bytes are one after the other in memory, too.
    fn reserve_whole(&self, device: u64, address: u64, size: u64) -> u64 {
        let block = self.parts.layout.interleave;
        let entry = LogHeader::entry_bytes(address, size);
        let used = self.state.borrow().log_used[device as usize];
        if entry <= block && used / block != (used + entry - 1) / block {
            self.state.borrow_mut().log_used[device as usize] = used.next_multiple_of(block);
        }
        self.log_place(device, address, size)
    }

    async fn copy_home(&self, entry: &Written) {
        for word in (0..entry.size).step_by(8) {
            let value = self.c.load(entry.data + word).await;
            self.c.store(entry.home + word, value).await;
        }
        self.c.cpu.clwb_range(entry.home, entry.size).await;
    }

    /// No cache holds these lines any more, so that what a device writes there is seen.
    pub(super) async fn forget(&self, address: u64, size: u64) {
        for line in (address..address + size).step_by(64) {
            self.c.cpu.forget(line).await;
        }
        self.durable().await;
    }
}
