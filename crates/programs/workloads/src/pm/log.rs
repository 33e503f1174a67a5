//! The undo log, by lines or by pages.

use super::{PAGE, Pm};
use protocol::{LogChecksum, LogHeader, NearKind, Share};

/// From this size on a copy goes past the caches, as PMDK's does.
const NONTEMPORAL: u64 = 256;

impl Pm {
    /// Lines that have no log yet get one, before they change.
    pub(super) async fn log_lines(&self, address: u64, size: u64) {
        let (mut at, end) = (address / 64, (address + size).div_ceil(64));
        while at < end {
            if self.state.borrow().logged.contains(&at) {
                at += 1;
                continue;
            }
            let first = at;
            while at < end && self.state.borrow_mut().logged.insert(at) {
                at += 1;
            }
            self.save(NearKind::UndoLogCreate, first * 64, (at - first) * 64).await;
        }
    }

    /// Pages that were not saved in this epoch are.
    pub(super) async fn save_pages(&self, address: u64, size: u64) {
        let parts = self.parts;
        for page in parts.page(address)..=parts.page(address + size - 1) {
            if self.state.borrow().pages.contains_key(&page) || self.leaves_page() {
                continue;
            }
            self.state.borrow_mut().pages.insert(page, 0);
            if self.copies_first_alone() {
                self.write_back(page).await;
            }
            self.state.borrow_mut().faults += 1;
            self.fault().await;
            self.save(NearKind::CheckpointCreate, parts.data + page * PAGE, PAGE).await;
        }
    }

    /// What earlier transactions changed in a page that nobody saved is written back, before a device reads it.
    async fn write_back(&self, page: u64) {
        let first = self.parts.frame(page, 0) / 64;
        let lines = first..first + PAGE / 64;
        let dirty: Vec<u64> = self.state.borrow().dirty.range(lines).copied().collect();
        for line in dirty {
            self.state.borrow_mut().dirty.remove(&line);
            self.c.cpu.clwb(line * 64).await;
        }
        self.durable().await;
    }

    /// The kernel's part of a write to a protected page: the fault, the signal, and the change of protection.
    pub(super) async fn fault(&self) {
        let untimed = self.c.settings.dur("workload.untimed_fault_ns");
        self.c.cpu.compute(untimed + self.c.settings.dur("workload.fault_ns")).await;
        self.untimed.set(self.untimed.get() + untimed);
    }

    /// An entry for `size` bytes at `address`, whole lines.
    async fn save(&self, kind: NearKind, address: u64, size: u64) {
        self.state.borrow_mut().logs = true;
        let transaction = self.transaction.get();
        let at = self.reserve_log(address, size);
        if self.near.is_some() {
            self.command(kind, address, transaction, size).await;
            return;
        }
        if kind == NearKind::UndoLogCreate {
            self.c.cpu.compute(self.c.settings.dur("workload.library_ns")).await;
        }
        let place = self.parts.layout.address(self.parts.area(self.thread), 0, at);
        let mut sum = LogChecksum::new(address, size, transaction);
        let began = self.c.cpu.now();
        self.copy(address, place + 64, size, &mut sum).await;
        let header = LogHeader { address, size, transaction, checksum: sum.value() };
        self.write_header(place, &header).await;
        self.c.cpu.clwb(place).await;
        self.c.cpu.ofence().await;
        self.c.cpu.spent(Share::Movement, self.c.cpu.now() - began);
    }

    /// The next place in the core's undo log. A device finds its own: it is no farther.
    fn reserve_log(&self, address: u64, size: u64) -> u64 {
        let used = &mut self.state.borrow_mut().log_used;
        let at = *used;
        *used += LogHeader::entry_bytes(address, size);
        if *used > self.mechanism.undo_bytes() {
            self.c.cpu.fail("the transaction does not fit its log".into());
            *used = 0;
        }
        at
    }

    pub(super) async fn write_header(&self, place: u64, header: &LogHeader) {
        let block = header.encode();
        for (i, word) in (0..5).zip(block.as_chunks::<8>().0) {
            self.c.store(place + i * 8, u64::from_le_bytes(*word)).await;
        }
    }

    /// Copies whole lines, a line at a time, and persists nothing yet.
    pub(crate) async fn copy(&self, from: u64, to: u64, size: u64, sum: &mut LogChecksum) {
        let c = &self.c;
        for line in (0..size).step_by(64) {
            for word in (line..line + 64).step_by(8) {
                let value = c.load(from + word).await;
                sum.word(value);
                if size < NONTEMPORAL {
                    c.store(to + word, value).await;
                } else {
                    c.cpu.store_nontemporal(to + word, value).await;
                }
            }
            if size < NONTEMPORAL {
                c.cpu.clwb(to + line).await;
            }
        }
    }

    /// The transaction's changes persist; then its log goes.
    pub(super) async fn end_log(&self) {
        self.flush_changes().await;
        if !std::mem::take(&mut self.state.borrow_mut().logs) {
            return;
        }
        let began = self.c.cpu.now();
        self.delete_log(false).await;
        self.c.cpu.spent(Share::Consistency, self.c.cpu.now() - began);
    }

    /// The log does not count any more, on every device or on none. `noted`: the thread's word says so already.
    ///
    /// On the cores, and where devices delete one by one, that word is what makes the transaction committed: an entry that
    /// was only made invalid could look valid again when the next one is half written over it.
    pub(super) async fn delete_log(&self, noted: bool) {
        let (c, transaction) = (&self.c, self.transaction.get());
        self.transaction.set(transaction + 1);
        self.state.borrow_mut().log_used = 0;
        self.state.borrow_mut().redo_used.fill(self.mechanism.redo_start());
        if self.polls() {
            self.poll().await;
        }
        if !noted && (self.near.is_none() || self.polls()) {
            c.publish(self.parts.thread_words(self.thread), transaction).await;
        }
        if self.polls() {
            c.cpu.dfence().await;
        }
        if self.near.is_some() {
            self.command(NearKind::CommitLog, 0, 0, 0).await;
        }
    }
}
