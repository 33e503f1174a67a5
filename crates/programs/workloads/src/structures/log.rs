//! An undo log in persistent memory, one a thread: old contents first, then the change (as Atlas and PMDK do).
//!
//! Line 0: how many bytes of entries are valid. Entries from line 1 on: address, length, old bytes.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use std::cell::RefCell;
use std::collections::BTreeMap;

pub(super) const LOG_BYTES: u64 = 64 << 10;

pub(crate) struct UndoLog {
    base: u64,
    used: std::cell::Cell<u64>,
    /// Instructions of the library for a range.
    instructions: u64,
    /// And for a transaction besides.
    transaction: u64,
    ranges: RefCell<Vec<(u64, u64)>>,
}

impl UndoLog {
    pub(crate) fn new(c: &Context) -> UndoLog {
        let base = c.pm.alloc(LOG_BYTES, 4096);
        let instructions = c.settings.number("workload.log_instructions");
        let transaction = c.settings.number("workload.transaction_instructions");
        let (used, ranges) = (std::cell::Cell::new(0), RefCell::new(Vec::new()));
        UndoLog { base, used, instructions, transaction, ranges }
    }

    /// Saves `size` bytes at `address` before they are changed. The entry, then the count that makes it valid,
    /// persist before the change.
    pub(crate) async fn save(&self, c: &Context, address: u64, size: u64) {
        let known = self.ranges.borrow().iter().any(|(a, n)| *a <= address && address + size <= a + n);
        if known {
            return;
        }
        let entry = self.base + 64 + self.used.get();
        assert!(entry + 16 + size < self.base + LOG_BYTES, "a transaction fits its log");
        if self.ranges.borrow().is_empty() {
            // Where a transaction begins: half is here and half at its end. ATLAS has 27 in a hundred here, of libpmemobj nobody says.
            c.executes(self.transaction / 2).await;
        }
        // About half of what the library does is before the entry, half before what makes it valid.
        c.executes(self.instructions / 2).await;
        let mut old = vec![0; size as usize];
        c.cpu.load_bytes(address, &mut old).await;
        c.store(entry, address).await;
        c.store(entry + 8, size).await;
        c.cpu.store_bytes(entry + 16, &old).await;
        c.persist(entry, 16 + size).await;
        self.used.set((self.used.get() + 16 + size).next_multiple_of(8));
        c.executes(self.instructions.div_ceil(2)).await;
        c.publish(self.base, self.used.get()).await;
        self.ranges.borrow_mut().push((address, size));
    }

    /// Saves and stores one word.
    pub(crate) async fn store(&self, c: &Context, address: u64, value: u64) {
        self.save(c, address, 8).await;
        c.store(address, value).await;
    }

    /// The changes persist, then the log is empty.
    pub(crate) async fn commit(&self, c: &Context) {
        let ranges = self.ranges.take();
        if ranges.is_empty() {
            return;
        }
        c.executes(self.transaction / 4).await;
        for (address, size) in ranges {
            c.cpu.clwb_range(address, size).await;
        }
        c.cpu.ofence().await;
        c.executes(self.transaction.div_ceil(4)).await;
        c.publish(self.base, 0).await;
        self.used.set(0);
    }
}

/// Persistent memory with every transaction undone that had not committed. Each thread's log is the first thing in
/// its arena.
pub(super) struct Undone<'a> {
    memory: &'a mut dyn Persistent,
    words: BTreeMap<u64, u64>,
}

impl<'a> Undone<'a> {
    /// # Errors
    /// A log that is none.
    pub(super) fn new(memory: &'a mut dyn Persistent, crashed: &Crashed<'_>) -> Result<Undone<'a>, String> {
        let mut undone = Undone { memory, words: BTreeMap::new() };
        for thread in 0..crashed.threads() {
            undone.undo(crashed.arena(thread)).map_err(|e| format!("thread {thread}'s log {e}"))?;
        }
        Ok(undone)
    }

    /// Youngest entry first, so that the oldest contents stay.
    fn undo(&mut self, base: u64) -> Result<(), String> {
        let used = self.memory.word(base);
        if used > LOG_BYTES - 64 {
            return Err(format!("says that {used} bytes are valid, more than it has"));
        }
        let (mut at, mut entries) = (0, Vec::new());
        while at < used {
            let entry = base + 64 + at;
            let (address, size) = (self.memory.word(entry), self.memory.word(entry + 8));
            if address < protocol::PM_BASE || size == 0 || size > LOG_BYTES {
                return Err(format!("has an entry at {entry:#x} that names {size} bytes at {address:#x}"));
            }
            entries.push((entry + 16, address, size));
            at = (at + 16 + size).next_multiple_of(8);
        }
        for (from, address, size) in entries.into_iter().rev() {
            (0..size).for_each(|i| self.restore(address + i, from + i));
        }
        Ok(())
    }

    fn restore(&mut self, address: u64, from: u64) {
        let old = self.memory.word(from & !7) >> (from % 8 * 8) & 0xFF;
        let (word, shift) = (address & !7, address % 8 * 8);
        let now = self.word(word);
        self.words.insert(word, now & !(0xFF << shift) | old << shift);
    }
}

impl Persistent for Undone<'_> {
    fn word(&mut self, address: u64) -> u64 {
        self.words.get(&address).copied().unwrap_or_else(|| self.memory.word(address))
    }
}
