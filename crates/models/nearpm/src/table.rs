//! The address mapping table: from a pool's virtual addresses to physical ones (paper §5.4).

use protocol::{NearRefusal, PAGE_BYTES};

/// Bytes that an entry is saved in.
pub(crate) const ENTRY_BYTES: usize = 8;

/// A pool for one thread, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) pool: u8,
    pub(crate) thread: u8,
    pub(crate) virtual_page: u64,
    pub(crate) page: u64,
    pub(crate) pages: u64,
}

/// A bounded table.
#[derive(Clone, Debug)]
pub(crate) struct AddressTable {
    entries: Vec<Entry>,
    limit: usize,
}

impl AddressTable {
    pub(crate) fn new(limit: usize) -> AddressTable {
        AddressTable { entries: Vec::with_capacity(limit), limit }
    }

    /// Adds or replaces an entry.
    pub(crate) fn map(&mut self, entry: Entry) -> Result<(), NearRefusal> {
        let same = |e: &Entry| (e.pool, e.thread) == (entry.pool, entry.thread);
        match self.entries.iter().position(same) {
            Some(known) => self.entries[known] = entry,
            None if self.entries.len() == self.limit => return Err(NearRefusal::TableFull),
            None => self.entries.push(entry),
        }
        Ok(())
    }

    /// The entry of a pool for a thread.
    pub(crate) fn find(&self, pool: u8, thread: u8) -> Result<&Entry, NearRefusal> {
        let found = self.entries.iter().find(|e| (e.pool, e.thread) == (pool, thread));
        found.ok_or(NearRefusal::UnknownPool)
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl Entry {
    /// The physical address of `size` bytes at a virtual one.
    pub(crate) fn translate(&self, address: u64, size: u32) -> Result<u64, NearRefusal> {
        let first = self.virtual_page * PAGE_BYTES;
        let inside = address >= first
            && address.checked_add(size.into()).is_some_and(|end| end <= first + self.pages * PAGE_BYTES);
        if inside { Ok(address - first + self.page * PAGE_BYTES) } else { Err(NearRefusal::OutsidePool) }
    }

    /// The physical address at which the pool begins.
    pub(crate) fn base(&self) -> u64 {
        self.page * PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_wholly_inside_its_pool_is_refused() {
        let entry = Entry { pool: 1, thread: 0, virtual_page: 100, page: 7, pages: 2 };
        assert_eq!(entry.translate(100 * 4096, 8192), Ok(7 * 4096));
        assert_eq!(entry.translate(101 * 4096 + 4095, 1), Ok(9 * 4096 - 1));
        for (address, size) in [(100 * 4096 - 1, 1), (101 * 4096, 4097), (0, 8), (u64::MAX, 64)] {
            assert_eq!(entry.translate(address, size), Err(NearRefusal::OutsidePool), "{address:#x}");
        }
    }

    #[test]
    fn the_table_is_bounded_and_an_entry_can_be_replaced() {
        let mut table = AddressTable::new(1);
        let entry = Entry { pool: 1, thread: 0, virtual_page: 0, page: 1, pages: 1 };
        assert_eq!(table.map(entry), Ok(()));
        assert_eq!(table.map(Entry { page: 2, ..entry }), Ok(()));
        assert_eq!(table.map(Entry { thread: 1, ..entry }), Err(NearRefusal::TableFull));
        assert_eq!(table.find(1, 0).map(|e| e.page), Ok(2));
        assert_eq!(table.find(2, 0), Err(NearRefusal::UnknownPool));
    }
}
