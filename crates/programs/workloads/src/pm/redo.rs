//! The redo log: new contents first, then their way home.

use super::{Bug, Mechanism, Pm};
use protocol::{LOG_BYTES, LogChecksum, LogHeader, NearKind, Share};
use std::collections::BTreeMap;

/// Whether the data of an entry at `at` is in one block of its device.
pub(super) fn whole(at: u64, size: u64, block: u64) -> bool {
    (at + 64) / block == (at + 63 + size) / block
}

/// The next place at which an entry's data begins a block.
pub(super) fn next_whole(at: u64, block: u64) -> u64 {
    (at + 64).next_multiple_of(block) - 64
}

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
            return self.end_log().await;
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
        if self.near.is_some() {
            self.give_home(&entries).await;
        } else {
            for entry in &entries {
                self.copy_home(entry).await;
            }
            c.cpu.ofence().await;
        }
        c.cpu.spent(Share::Movement, c.cpu.now() - moving);
        self.note_applied(transaction).await;
        self.delete_log(true).await;
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
        let at = self.reserve_whole(device, home, size);
        let area = self.parts.area(self.thread);
        let (place, data) = (layout.address(area, device, at), layout.address(area, device, at + 64));
        let transaction = self.transaction.get();
        let mut sum = LogChecksum::new(home, size, transaction);
        for word in (0..size).step_by(8) {
            let value = match aside.get(&(home + word)) {
                Some(value) => *value,
                None => c.load(home + word).await,
            };
            sum.word(value);
            c.store(data + word, value).await;
        }
        self.write_header(place, &LogHeader { address: home, size, transaction, checksum: sum.value() })
            .await;
        c.cpu.clwb(place).await;
        if self.bug != Bug::LogNotFlushed {
            c.cpu.clwb_range(data, size).await;
        }
        Written { data, home, size }
    }

    /// A place in a device's log for an entry whose data is one piece of memory.
    fn reserve_whole(&self, device: u64, address: u64, size: u64) -> u64 {
        let used = &mut self.state.borrow_mut().redo_used[device as usize];
        let block = self.parts.layout.interleave;
        let at = if whole(*used, size, block) { *used } else { next_whole(*used, block) };
        *used = at + LogHeader::entry_bytes(address, size);
        if *used > LOG_BYTES {
            self.c.cpu.fail("the transaction does not fit its log".into());
            *used = self.mechanism.redo_start();
        }
        at
    }

    /// What has been applied must not be applied again, once other threads may change the same lines. A device deletes
    /// the log that it applies, but not the half that the core alone knows.
    async fn note_applied(&self, transaction: u64) {
        if self.near.is_some() && self.mechanism == Mechanism::Redo {
            return;
        }
        self.durable().await;
        self.c.publish(self.parts.thread_words(self.thread) + 16, transaction).await;
        self.durable().await;
    }

    /// Devices copy the entries home, and will delete the log: no cache keeps a line that they write.
    async fn give_home(&self, entries: &[Written]) {
        for entry in entries {
            self.write_back_invalidate(entry.home, entry.size).await;
        }
        for device in 0..self.parts.layout.devices {
            self.write_back_invalidate(
                self.parts.layout.address(self.parts.area(self.thread), device, 0),
                64,
            )
            .await;
        }
        self.durable().await;
        for entry in entries {
            self.command(NearKind::ApplyLog, entry.data, entry.home, entry.size).await;
        }
    }

    async fn copy_home(&self, entry: &Written) {
        for word in (0..entry.size).step_by(8) {
            let value = self.c.load(entry.data + word).await;
            self.c.store(entry.home + word, value).await;
        }
        self.c.cpu.clwb_range(entry.home, entry.size).await;
    }

    /// No cache holds these lines any more, so that what a device writes there is seen.
    pub(super) async fn write_back_invalidate(&self, address: u64, size: u64) {
        for line in (address..address + size).step_by(64) {
            self.c.cpu.write_back_invalidate(line).await;
        }
    }
}
