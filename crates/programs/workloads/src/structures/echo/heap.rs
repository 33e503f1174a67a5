//! The allocator of Echo's persistent heap: objects lie one after the other, each behind a line that holds its size with
//! a state and the size before it. Every step of it is ordered before the next.

use crate::context::Context;
use std::cell::Cell;

/// A cache line, which is also the room of a header.
const LINE: u64 = 64;
const FREE: u64 = 0;
const RESERVED: u64 = 1;
const ACTIVE: u64 = 3;

/// Instructions of the original: until a free object is found and split, and between two of its steps.
const FIT: u64 = 186;
const STEP: u64 = 26;

/// Instructions of the original's loop over the lines of a range, and of its fences.
fn flushing(lines: u64) -> u64 {
    19 + 12 * lines
}

/// A thread's part of the heap.
pub(super) struct Heap {
    /// The header of what is free.
    free: Cell<u64>,
    /// The header that ends the heap, which is told how much is in use. It lies before all others here.
    last: u64,
}

impl Heap {
    pub(super) fn new(c: &Context) -> Heap {
        let last = c.pm.lines(1);
        Heap { free: Cell::new(c.pm.lines(1)), last }
    }

    /// An object of `size` bytes that nothing leads to yet.
    async fn reserve(&self, c: &Context, size: u64) -> u64 {
        let (header, room) = (self.free.get(), size.next_multiple_of(LINE));
        let next = c.pm.alloc(room + LINE, LINE) + room;
        self.free.set(next);
        c.executes(FIT).await;
        c.load(header).await;
        // What is left is whole before the object that was split ends where it begins.
        c.store(next, FREE).await;
        c.publish(next + 8, room + LINE).await;
        c.executes(STEP).await;
        c.publish(self.last + 8, next - self.last).await;
        c.executes(STEP).await;
        c.publish(header, (room + LINE) | RESERVED).await;
        header + LINE
    }

    /// Its bytes, which are zero, persist, and then that it is one: the original flushes them for both.
    async fn activate(&self, c: &Context, object: u64, size: u64) {
        persist(c, object, size).await;
        persist(c, object, size).await;
        c.executes(STEP).await;
        c.publish(object - LINE, (size.next_multiple_of(LINE) + LINE) | ACTIVE).await;
    }

    pub(super) async fn alloc(&self, c: &Context, size: u64) -> u64 {
        let object = self.reserve(c, size).await;
        self.activate(c, object, size).await;
        object
    }

    /// An object that the word at `place` leads to; who asks has that word persist.
    pub(super) async fn alloc_for(&self, c: &Context, place: u64, size: u64) -> u64 {
        let object = self.reserve(c, size).await;
        c.store(place, object).await;
        self.activate(c, object, size).await;
        object
    }
}

/// Flushes a range and orders it, as long as the original takes for that.
pub(super) async fn persist(c: &Context, address: u64, size: u64) {
    let lines = (address + size).div_ceil(LINE) - address / LINE;
    c.executes(flushing(lines)).await;
    c.persist(address, size).await;
}
