//! The store buffer: everything that has retired and becomes visible in program order (x86-TSO).

use protocol::{FenceKind, FlushKind, LINE_BYTES, Line, Order, RmwKind, line_of};
use std::collections::VecDeque;
use units::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Store,
    NonTemporal,
    Rmw(RmwKind),
    Flush(FlushKind),
    Fence(FenceKind),
    /// A store to a device's register.
    Register,
    /// A load of a device's register.
    RegisterLoad,
    /// An acquire's value has been read: what follows is ordered after the release.
    Acquired,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) address: u64,
    pub(super) size: u8,
    pub(super) order: Order,
    pub(super) value: u64,
    /// Not before this time.
    pub(super) ready: Time,
    /// Steps of this entry that have been taken already.
    pub(super) progress: u8,
    /// Its line could not be asked for: no miss register was free, or stores stood still.
    pub(super) refused: bool,
    /// Operations of the program that ended behind it, which nobody is told of before.
    pub(super) untold: u32,
}

impl Entry {
    pub(super) fn line(&self) -> Line {
        line_of(self.address)
    }

    /// What it is, in words.
    pub(super) fn called(&self) -> String {
        let what = match self.kind {
            Kind::Store => "a store to",
            Kind::NonTemporal => "a non-temporal store to",
            Kind::Rmw(_) => "an atomic operation on",
            Kind::Flush(_) => "a flush of",
            Kind::Register => "a store to the register at",
            Kind::RegisterLoad => "a load of the register at",
            Kind::Acquired => "an acquire of",
            Kind::Fence(kind) => return called(kind).into(),
        };
        format!("{what} {:#x}", self.address)
    }

    /// A whole line's, each of its words `value`.
    pub(super) fn is_of_a_line(&self) -> bool {
        u64::from(self.size) == LINE_BYTES
    }

    /// A store that neither releases nor acquires.
    pub(super) fn is_plain_store(&self) -> bool {
        self.kind == Kind::Store && self.order == Order::Plain
    }

    /// A store whose bytes a later load has to see.
    fn has_bytes(&self) -> bool {
        matches!(self.kind, Kind::Store | Kind::NonTemporal)
    }

    /// A locked operation on a persistent word. Those on one word persist in the order in which they were carried
    /// out, whatever order the program asked of them: strong persist atomicity (Pelley, Chen and Wenisch, ISCA 2014).
    pub(super) fn is_locked_and_persistent(&self) -> bool {
        matches!(self.kind, Kind::Rmw(_)) && self.line().is_pm()
    }

    /// What follows comes after whatever the line's last value was published with. Whoever publishes acquires too:
    /// a line has one tag, and the new one has to stand for what another word of the line was published with.
    pub(super) fn acquires(&self) -> bool {
        self.order.acquires() || self.publishes()
    }

    /// Whoever acquires this value comes after it.
    pub(super) fn publishes(&self) -> bool {
        self.order.releases() || self.is_locked_and_persistent()
    }
}

fn called(fence: FenceKind) -> &'static str {
    match fence {
        FenceKind::Sfence => "an sfence",
        FenceKind::Mfence => "an mfence",
        FenceKind::Ofence => "an ofence",
        FenceKind::Dfence => "a dfence",
        FenceKind::NewStrand => "a new strand",
        FenceKind::JoinStrand => "a join of strands",
    }
}

/// Counters of the filter: many more than stores that wait, or it says yes for no reason.
const BUCKETS: usize = 1024;

/// A bounded queue, with a filter that tells most loads that nothing here concerns them.
pub(super) struct StoreBuffer {
    entries: VecDeque<Entry>,
    limit: usize,
    filter: Box<[u16; BUCKETS]>,
    /// Entries whose line could not be asked for.
    refused: usize,
}

impl StoreBuffer {
    pub(super) fn new(limit: usize) -> StoreBuffer {
        let entries = VecDeque::with_capacity(limit + 1);
        StoreBuffer { entries, limit, filter: Box::new([0; BUCKETS]), refused: 0 }
    }

    #[inline]
    fn bucket(line: Line) -> usize {
        (line.0 ^ line.0 >> 10) as usize % BUCKETS
    }

    pub(super) fn has_room(&self) -> bool {
        self.entries.len() < self.limit
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn head(&self) -> Option<&Entry> {
        self.entries.front()
    }

    pub(super) fn last(&self) -> Option<&Entry> {
        self.entries.back()
    }

    pub(super) fn head_mut(&mut self) -> Option<&mut Entry> {
        self.entries.front_mut()
    }

    pub(super) fn push(&mut self, entry: Entry) {
        if entry.has_bytes() {
            self.filter[Self::bucket(entry.line())] += 1;
        }
        self.entries.push_back(entry);
    }

    pub(super) fn pop(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        self.refused -= usize::from(entry.refused);
        if entry.has_bytes() {
            self.filter[Self::bucket(entry.line())] -= 1;
        }
    }

    /// An operation ended behind the youngest entry, if there is one.
    pub(super) fn end_operation(&mut self) {
        if let Some(last) = self.entries.back_mut() {
            last.untold += 1;
        }
    }

    /// Operations that ended behind what waits.
    pub(super) fn untold(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.untold)).sum()
    }

    /// The line of the youngest entry could not be asked for.
    pub(super) fn refuse_last(&mut self) {
        Self::refuse(self.entries.back_mut(), &mut self.refused);
    }

    /// The line of the head could not be asked for: it asks again before all others.
    pub(super) fn refuse_head(&mut self) {
        Self::refuse(self.entries.front_mut(), &mut self.refused);
    }

    /// A flush has dropped a line: the oldest store to it asks for it again. Cost: one look at the filter where there is none.
    pub(super) fn dropped(&mut self, line: Line) {
        if self.filter[Self::bucket(line)] == 0 {
            return;
        }
        let store = self.entries.iter_mut().find(|e| e.kind == Kind::Store && e.line() == line);
        Self::refuse(store, &mut self.refused);
    }

    /// Marks an entry, once: `refused` counts those that are marked.
    fn refuse(entry: Option<&mut Entry>, refused: &mut usize) {
        if let Some(entry) = entry {
            *refused += usize::from(!entry.refused);
            entry.refused = true;
        }
    }

    /// The line of the oldest entry that could not be asked for, once. Cost: one comparison where there is none.
    #[inline]
    pub(super) fn take_refused(&mut self) -> Option<Line> {
        if self.refused == 0 {
            return None;
        }
        let oldest = self.entries.iter_mut().find(|entry| entry.refused)?;
        oldest.refused = false;
        self.refused -= 1;
        Some(oldest.line())
    }

    /// Forgets everything that has not become visible.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.filter.fill(0);
        self.refused = 0;
    }

    /// Whether a waiting store may be to the line of `address`. Cost: one look at the filter.
    #[inline]
    pub(super) fn concerns(&self, address: u64) -> bool {
        self.filter[Self::bucket(line_of(address))] != 0
    }

    /// Lays the waiting stores over `word`, the present value of `size` bytes at `address`. Also tells
    /// whether they cover it all, so that the line is not needed.
    pub(super) fn forward(&self, address: u64, size: u8, word: u64) -> (u64, bool) {
        let wanted = u64::MAX >> (64 - 8 * u32::from(size));
        let (mut word, mut covered) = (word, 0);
        for e in self.entries.iter().filter(|e| e.has_bytes()) {
            if e.is_of_a_line() {
                if e.line() == line_of(address) {
                    (word, covered) = (e.value.rotate_right((address % 8) as u32 * 8) & wanted, wanted);
                }
                continue;
            }
            // How far the store begins after the load, in bytes; more than seven either way is another word.
            let after = e.address.wrapping_sub(address) as i64;
            if !(-7..8).contains(&after) {
                continue;
            }
            let bytes = u64::MAX >> (64 - 8 * u32::from(e.size));
            let place = |x: u64| if after < 0 { x >> (-8 * after) } else { x << (8 * after) };
            let mask = place(bytes) & wanted;
            word = word & !mask | place(e.value & bytes) & mask;
            covered |= mask;
        }
        (word, covered == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn store(address: u64, size: u8, value: u64) -> Entry {
        let order = Order::Plain;
        Entry {
            kind: Kind::Store,
            address,
            size,
            order,
            value,
            ready: Time::ZERO,
            progress: 0,
            refused: false,
            untold: 0,
        }
    }

    #[test]
    fn a_load_sees_the_youngest_store_byte_by_byte() {
        let mut sb = StoreBuffer::new(4);
        sb.push(store(128, 8, 0x1111_1111_1111_1111));
        sb.push(store(130, 1, 0x22));
        assert_eq!(sb.forward(128, 4, 0), (0x1122_1111, true));
        assert_eq!(sb.forward(134, 4, 0xAAAA_AAAA), (0xAAAA_1111, false));
        sb.pop();
        sb.pop();
        assert_eq!(sb.forward(128, 8, 5), (5, false));
    }

    #[test]
    fn the_filter_counts_as_many_stores_as_wait() {
        let mut sb = StoreBuffer::new(256);
        (0..256).for_each(|_| sb.push(store(128, 8, 1)));
        assert!(sb.concerns(128));
    }

    proptest! {
        /// Against bytes that are written one after the other.
        #[test]
        fn what_waits_is_laid_over_memory_byte_by_byte(
            stores in prop::collection::vec((0..56_u64, prop::sample::select(vec![1_u8, 2, 4, 8, 64]), any::<u64>()), 0..12),
            (at, size) in (0..56_u64, prop::sample::select(vec![1_u8, 2, 4, 8])),
            below in any::<u64>(),
        ) {
            let mut sb = StoreBuffer::new(stores.len());
            let mut bytes = [None; 64];
            for (address, size, value) in &stores {
                let address = if *size == 64 { 0 } else { *address };
                sb.push(store(1024 + address, *size, *value));
                for n in 0..usize::from(*size) {
                    bytes[address as usize + n] = Some(value.to_le_bytes()[n % 8]);
                }
            }
            let wanted = &bytes[at as usize..at as usize + usize::from(size)];
            let mut word = [0; 8];
            for (n, byte) in wanted.iter().enumerate() {
                word[n] = byte.unwrap_or(below.to_le_bytes()[n]);
            }
            let below = below & (u64::MAX >> (64 - 8 * u32::from(size)));
            let (found, covered) = sb.forward(1024 + at, size, below);
            prop_assert_eq!(found, u64::from_le_bytes(word));
            prop_assert_eq!(covered, wanted.iter().all(Option::is_some));
            // The filter never says that nothing waits where something does.
            for (address, ..) in &stores {
                prop_assert!(sb.concerns(1024 + address));
            }
            (0..stores.len()).for_each(|_| sb.pop());
            prop_assert!(!sb.concerns(1024) && sb.is_empty());
        }
    }
}
