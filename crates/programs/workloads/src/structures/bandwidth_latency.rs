//! Bandwidth against latency: one thread follows a chain of loads, each of which waits for the one before, while the
//! others read and store as fast as they are told to.
//!
//! Traffic goes along pages that lie anywhere, line by line, as a stream does in memory that an operating system has
//! handed out; where a driver maps pages at their first touch, or a cache in front of the memory has room for all of them, each is touched before. A store asks for its line first and sends it back once the caches need the room, so that memory sees a
//! read and a write for each. Nobody visits a line twice before all of a region has been visited, so that caches of less
//! than that answer nothing.

use crate::context::Context;
use crate::sync;
use crate::workload::{Count, N, Nanoseconds, Workload, params};
use params::{Plain, Words};
use protocol::PAGE_BYTES;
use protocol::words::DONE;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "bandwidth-latency",
    meaning: "a chain of dependent loads on one core, and traffic at a rate and a share of stores on all others",
    source: "after Esmaili-Dokht et al. (MICRO 2024), the Mess benchmark",
    params: params! {
        threads "4", "open 4: what is asked of the program";
        "operations" N, "1000", "open 1000: what is asked of the program", "loads of the chain in the region of interest; everything ends with them";
        "memory" Memory::KIND, "pm", "open pm: what is asked of the program", "which memory is loaded: that of memory.kind, or the machine's DRAM";
        "stores" Count { min: 0, max: 1000 }, "0", "open 0: what is asked of the program", "of 1,000 accesses of a traffic thread so many store";
        "gap_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "0", "open 0: what is asked of the program", "time between two accesses of a traffic thread";
        "pages" Count { min: 1, max: 12_288 }, "8192", "open 8192: what is asked of the program", "pages of each thread's region";
        "warm" Count { min: 0, max: 10_000_000 }, "50000", "open 50000: what is asked of the program", "accesses before the region of interest, without a gap, of all traffic threads or of the chain where it is alone: as many as fill the caches";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

/// Which memory is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Memory {
    Pm,
    Dram,
}

const LINES_OF_PAGE: u64 = 64;
/// Loads of the chain at the asked rate before anything is counted, or as many as are: what the fast beginning has queued is
/// gone then.
const SETTLE: u64 = 256;

pub(crate) async fn run(c: Context) {
    let pages = c.settings.number("workload.pages");
    let is_dram = c.settings.read::<Memory>("workload.memory") == Memory::Dram;
    let arena = if is_dram { &c.dram } else { &c.pm };
    let first = arena.alloc(pages * PAGE_BYTES, PAGE_BYTES);
    if (c.is_mapped_late || is_cached_whole(&c, pages)) && !is_dram {
        // The memory is measured, and not the faults in which its pages are mapped, nor its way into a cache that holds all of it.
        for page in 0..pages {
            c.load(first + page * PAGE_BYTES).await;
        }
    }
    if c.thread == 0 {
        chain(&c, first, pages * LINES_OF_PAGE).await;
    } else {
        traffic(&c, first, pages).await;
    }
}

/// Whether a cache in front of persistent memory has room for what all threads visit.
fn is_cached_whole(c: &Context, pages: u64) -> bool {
    c.pm_cache.is_some_and(|cache| c.threads as u64 * pages * PAGE_BYTES <= cache.bytes)
}

/// Loads one line after the other; only this thread's time and operations are the region's.
async fn chain(c: &Context, first: u64, lines: u64) {
    sync::barrier(c, 1).await;
    let mut order = Order::new(lines, 1);
    // Alone it fills the caches itself: what has to leave them for a line is part of its time.
    let operations = c.settings.number("workload.operations");
    let before = if c.threads == 1 { c.settings.number("workload.warm") } else { SETTLE.min(operations) };
    for _ in 0..before {
        c.load(first + order.next() * 64).await;
    }
    c.cpu.region_begins();
    for _ in 0..operations {
        c.load(first + order.next() * 64).await;
        c.cpu.operation_done();
    }
    c.cpu.region_ends();
    c.cpu.store_release(DONE, 1).await;
}

/// Reads and stores until the chain ends.
async fn traffic(c: &Context, first: u64, pages: u64) {
    let stores = c.settings.number("workload.stores");
    let gap = c.settings.dur("workload.gap_ns");
    let mut order = Order::new(pages, c.thread as u64);
    let (mut accesses, mut owed) = (0, 0);
    let warm = c.settings.number("workload.warm").div_ceil(c.threads as u64 - 1);
    let mut met = false;
    loop {
        let page = first + order.next() * PAGE_BYTES;
        for line in (page..page + PAGE_BYTES).step_by(64) {
            owed += stores;
            if owed >= 1000 {
                owed -= 1000;
                c.cpu.store(line, accesses).await;
            } else {
                c.cpu.prefetch(line).await;
            }
            accesses += 1;
            if met {
                c.cpu.compute(gap).await;
            } else if accesses > warm {
                sync::barrier(c, 1).await;
                met = true;
            }
        }
        if met && c.cpu.load(DONE).await != 0 {
            return;
        }
    }
}

/// Numbers below a bound, each once before any comes again, in no order that banks or channels could follow.
struct Order {
    count: u64,
    /// Of the bound, rounded up to a power of two.
    mask: u64,
    number: u64,
    salt: u64,
}

impl Order {
    fn new(count: u64, salt: u64) -> Order {
        Order { count, mask: count.next_power_of_two() - 1, number: 0, salt }
    }

    fn next(&mut self) -> u64 {
        loop {
            let found = self.mixed(self.number & self.mask);
            self.number += 1;
            if found < self.count {
                return found;
            }
        }
    }

    /// Each step can be undone within the mask's bits: a sum, an odd factor, an exclusive or with higher bits.
    fn mixed(&self, number: u64) -> u64 {
        let half = self.mask.count_ones() / 2 + 1;
        let mut x = number;
        for round in 1..=3 {
            x = x.wrapping_add(self.salt.wrapping_mul(0x9E37_79B9) ^ round) & self.mask;
            x = x.wrapping_mul(0x2545_F491_4F6C_DD1D) & self.mask;
            x ^= x >> half;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once_before_any_comes_again() {
        for count in [1, 2, 63, 4096, 5000] {
            for salt in 0..4 {
                let mut order = Order::new(count, salt);
                let mut seen: Vec<u64> = (0..count).map(|_| order.next()).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..count), "{count}, {salt}");
            }
        }
    }
}
