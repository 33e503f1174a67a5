//! Recovery of a pool: logs are applied, pages are looked up, and what is left is what a program would find.

use super::redo::next_whole;
use super::{Mechanism, POOL_MAGIC, Parts, Place};
use crate::recovery::Persistent;
use protocol::{LOG_BYTES, LogChecksum, LogHeader, LogLayout};
use std::collections::BTreeMap;
use std::ops::Range;

/// A pool after recovery.
pub(crate) struct Recovered<'a> {
    memory: &'a mut dyn Persistent,
    parts: Parts,
    mechanism: Mechanism,
    words: BTreeMap<u64, u64>,
    /// Pages that a journal changes over, and their frames.
    frames: BTreeMap<u64, u64>,
}

/// A valid entry: its header, and where its data is in the device's part of the log.
struct Entry {
    header: LogHeader,
    device: u64,
    data: u64,
}

impl<'a> Recovered<'a> {
    /// Recovers the pool at `place`.
    ///
    /// # Errors
    /// What makes that impossible.
    pub(crate) fn new(
        memory: &'a mut dyn Persistent,
        place: Place,
        mechanism: Mechanism,
    ) -> Result<Recovered<'a>, String> {
        let [magic, devices, interleave, threads] = [0, 1, 2, 3].map(|i| memory.word(place.base + i * 8));
        let sane = (1..=16).contains(&devices)
            && (64..=4096).contains(&interleave)
            && interleave.is_power_of_two()
            && threads == place.threads;
        if magic != POOL_MAGIC || !sane {
            return Err(format!("there is no pool at {:#x}", place.base));
        }
        let parts = Parts::new(place, LogLayout { devices, interleave });
        let mut pool =
            Recovered { memory, parts, mechanism, words: BTreeMap::new(), frames: BTreeMap::new() };
        for thread in 0..threads {
            pool.recover(thread).map_err(|e| format!("thread {thread}'s log: {e}"))?;
        }
        Ok(pool)
    }

    fn recover(&mut self, thread: u64) -> Result<(), String> {
        let words = self.parts.thread_words(thread);
        let committed = self.memory.word(words);
        match self.mechanism {
            Mechanism::Shadow => self.journal(thread),
            Mechanism::Logging | Mechanism::Checkpoint => self.undo(thread, committed),
            Mechanism::Redo => self.redo(thread, committed),
            Mechanism::UndoRedo => {
                self.undo(thread, committed)?;
                self.redo(thread, committed)
            }
        }
    }

    /// What had committed needs no undoing, even where a device had not deleted it yet.
    fn undo(&mut self, thread: u64, committed: u64) -> Result<(), String> {
        let mut entries = self.entries(thread, 0..self.mechanism.undo_bytes());
        entries.retain(|e| e.header.transaction > committed);
        let transactions = || entries.iter().map(|e| e.header.transaction);
        if let (Some(low), Some(high)) = (transactions().min(), transactions().max())
            && low != high
        {
            return Err(format!("devices hold logs of two transactions, {low} and {high}"));
        }
        entries.iter().rev().for_each(|e| self.restore(thread, e));
        Ok(())
    }

    /// What had committed last is done again, unless it is known to have been.
    fn redo(&mut self, thread: u64, committed: u64) -> Result<(), String> {
        if self.memory.word(self.parts.thread_words(thread) + 16) == committed {
            return Ok(());
        }
        let entries = self.entries(thread, self.mechanism.redo_start()..LOG_BYTES);
        let valid = entries.iter().filter(|e| e.header.transaction == committed);
        valid.for_each(|e| self.restore(thread, e));
        Ok(())
    }

    /// The valid entries of a part of every device's log: one transaction's of each.
    fn entries(&mut self, thread: u64, part: Range<u64>) -> Vec<Entry> {
        let mut all: Vec<Entry> = Vec::new();
        for device in 0..self.parts.layout.devices {
            let (mut at, mut transaction) = (part.start, None);
            while let Some(entry) = self.entry(thread, device, at).filter(|e| e.data < part.end) {
                if *transaction.get_or_insert(entry.header.transaction) != entry.header.transaction {
                    break;
                }
                at = entry.data + entry.header.size.div_ceil(64) * 64;
                all.push(entry);
            }
        }
        all
    }

    fn log_word(&mut self, thread: u64, device: u64, offset: u64) -> u64 {
        let area = self.parts.area(thread);
        self.memory.word(self.parts.layout.address(area, device, offset))
    }

    /// The entry at `at`, or, since a redo log keeps an entry's data together, before the next block; none when there is
    /// none, or it is not whole.
    fn entry(&mut self, thread: u64, device: u64, at: u64) -> Option<Entry> {
        let next = next_whole(at, self.parts.layout.interleave);
        self.entry_at(thread, device, at).or_else(|| {
            let redo = matches!(self.mechanism, Mechanism::Redo | Mechanism::UndoRedo);
            (redo && next != at).then(|| self.entry_at(thread, device, next))?
        })
    }

    fn entry_at(&mut self, thread: u64, device: u64, at: u64) -> Option<Entry> {
        if at + 128 > LOG_BYTES {
            return None;
        }
        let header = LogHeader::decode([0, 8, 16, 24, 32].map(|i| self.log_word(thread, device, at + i)))?;
        let bytes = LogHeader::data_lines(header.address, header.size) * 64;
        if at + 64 + bytes > LOG_BYTES {
            return None;
        }
        let mut sum = LogChecksum::new(header.address, header.size, header.transaction);
        (0..bytes).step_by(8).for_each(|i| sum.word(self.log_word(thread, device, at + 64 + i)));
        let whole = sum.value() == header.checksum && header.address % 64 == 0;
        whole.then_some(Entry { header, device, data: at + 64 })
    }

    fn restore(&mut self, thread: u64, entry: &Entry) {
        for i in (0..entry.header.size).step_by(8) {
            let word = self.log_word(thread, entry.device, entry.data + i);
            self.words.insert(entry.header.address + i, word);
        }
    }

    fn journal(&mut self, thread: u64) -> Result<(), String> {
        let count = self.memory.word(self.parts.thread_words(thread) + 8);
        if count > self.parts.pages {
            return Err(format!("its journal has {count} entries, more than pages"));
        }
        for i in 0..count {
            let entry = self.log_word(thread, 0, i * 8);
            self.frames.insert(entry >> 1, entry & 1);
        }
        Ok(())
    }

    /// The root object.
    pub(crate) fn root(&self) -> u64 {
        self.parts.data + super::ALLOCATOR
    }

    /// A word of the data.
    ///
    /// # Errors
    /// When the address is none of the data.
    pub(crate) fn get(&mut self, address: u64) -> Result<u64, String> {
        let data = self.parts.data..self.parts.data + self.parts.span();
        if !data.contains(&address) || !address.is_multiple_of(8) {
            return Err(format!("a pointer leads to {address:#x}, outside the pool"));
        }
        if let Some(word) = self.words.get(&address) {
            return Ok(*word);
        }
        if self.mechanism != Mechanism::Shadow {
            return Ok(self.memory.word(address));
        }
        let page = self.parts.page(address);
        let frame = match self.frames.get(&page) {
            Some(frame) => *frame,
            None => self.memory.word(self.parts.table(page)) & 1,
        };
        Ok(self.memory.word(address + frame * self.parts.span()))
    }
}
