//! Page faults: finding a page of memory, and what was in it.

use super::process::AreaError;
use super::table::{ACCESSED, CHUNK, HINT, PLACE, PRESENT, PageNumber};
use super::{Counts, MemoryManager, Watermarks};
use crate::policy::{Hint, Policy};
use units::{Dur, Time};

/// What a fault took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Processor time of the kernel.
    pub kernel: Dur,
    /// When the page is there: a device's time may lie between.
    pub ready: Time,
    /// A page was zeroed or read into this frame; besides it, those of [`MemoryManager::read_ahead`] were read.
    pub filled: Option<u64>,
}

/// Why a fault cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultError {
    /// A signal.
    Area(AreaError),
    /// No page, and none that could go.
    OutOfMemory,
}

/// Looks at every listed page so often before it is out of memory.
const PASSES: u64 = 3;

impl MemoryManager {
    /// Serves a fault at `now`. A page that is there already costs an entry and a return.
    ///
    /// # Errors
    /// When the address is not mapped, lies beyond a device file's end, or no memory is left.
    pub fn fault(
        &mut self,
        process: u32,
        area: usize,
        page: u64,
        now: Time,
        policy: &mut dyn Policy,
    ) -> Result<Fault, FaultError> {
        self.read_ahead.clear();
        let page = self.visited(process, area, page).map_err(FaultError::Area)?;
        let entry = self.table.entry(page);
        let costs = self.spec.costs;
        if entry & PRESENT != 0 {
            let more = if entry & HINT != 0 { self.first_visit(page, now, policy) } else { Dur::ZERO };
            *self.table.entry_mut(page) |= ACCESSED;
            return Ok(Fault { kernel: costs.fault + more, ready: now + costs.fault + more, filled: None });
        }
        let (frame, mut kernel, ready) = self.find_page(process, now, policy)?;
        kernel += costs.fault;
        let mut ready = ready + costs.fault;
        if entry == 0 {
            self.counts.minor += 1;
        } else {
            self.counts.major += 1;
            kernel += costs.major;
            ready = self.swap_in(page, entry - 1, ready + costs.major);
            self.processes[process as usize].swapped -= 1;
        }
        self.place(page, frame, ACCESSED, true);
        Ok(Fault { kernel, ready, filled: Some(frame) })
    }

    /// Puts `page` into `frame` and on a list.
    pub(super) fn place(&mut self, page: PageNumber, frame: u64, accessed: u32, active: bool) {
        *self.table.entry_mut(page) = PRESENT | accessed | frame as u32;
        let zone = self.zone_of(frame);
        let zone = &mut self.zones[zone];
        let list = if active { &mut zone.active } else { &mut zone.inactive };
        list.push(&mut self.table, page);
        let owner = self.table.owner(page);
        self.processes[owner as usize].resident += 1;
    }

    /// Reads a slot, and its neighbours where pages are free for them; gives when it has come. Neighbours are in the swap
    /// cache and in no page table: the first visit of each is a fault that needs no device.
    fn swap_in(&mut self, wanted: PageNumber, slot: u32, now: Time) -> Time {
        let window = self.spec.readahead.max(1);
        let start = u64::from(slot) / window * window;
        let mut count = 1;
        self.table.look_at((start..start + window).filter_map(|s| self.swap.as_ref()?.owner(s)));
        for other in (start..start + window).filter(|s| *s != u64::from(slot)) {
            let owner = self.swap.as_ref().and_then(|swap| swap.owner(other));
            let Some(page) = owner.filter(|p| *p != wanted) else { continue };
            let Some(frame) = self.take_above_low(now) else { break };
            if let Some(swap) = &mut self.swap {
                swap.give(other as u32, now);
            }
            let owner = self.table.owner(page);
            self.processes[owner as usize].swapped -= 1;
            self.place(page, frame, 0, false);
            *self.table.entry_mut(page) |= HINT;
            self.counts.readahead += 1;
            self.read_ahead.push(frame);
            count += 1;
        }
        match &mut self.swap {
            Some(swap) => {
                swap.give(slot, now);
                swap.reads(now, slot, count)
            }
            None => now,
        }
    }

    /// A page from the first zone that has more free than `mark` asks for.
    fn take_above(&mut self, mark: impl Fn(Watermarks) -> u64, now: Time) -> Option<u64> {
        let zone = self.zones.iter().position(|z| z.free() > mark(z.marks))?;
        self.take_frame(zone, now)
    }

    /// A page from the first zone that is above its low mark.
    fn take_above_low(&mut self, now: Time) -> Option<u64> {
        self.take_above(|m| m.low, now)
    }

    /// A page, with the kernel's time and when it was found.
    fn find_page(
        &mut self,
        process: u32,
        now: Time,
        policy: &mut dyn Policy,
    ) -> Result<(u64, Dur, Time), FaultError> {
        self.settle(now);
        let first = policy.first_choice(process, &self.zones);
        let chosen = self.zones.get(first).is_some_and(|z| z.free() > z.marks.low);
        let found = if chosen { self.take_frame(first, now) } else { self.take_above_low(now) };
        if let Some(frame) = found {
            return Ok((frame, Dur::ZERO, now));
        }
        let helped = policy.before_kswapd(self, now);
        if let Some(frame) = self.take_above_low(now + helped) {
            return Ok((frame, helped, now + helped));
        }
        self.zones.iter_mut().filter(|z| z.managed > 0).for_each(|z| z.awake = true);
        self.reclaim_directly(now + helped, helped, policy)
    }

    fn reclaim_directly(
        &mut self,
        mut now: Time,
        mut kernel: Dur,
        policy: &mut dyn Policy,
    ) -> Result<(u64, Dur, Time), FaultError> {
        let mut looked = 0;
        loop {
            self.settle(now);
            if let Some(frame) = self.take_above(|m| m.min, now) {
                return Ok((frame, kernel, now));
            }
            // What is under way is enough: wait for it (`throttle_direct_reclaim`).
            let under_way = self.leaving.len() as u64;
            if under_way > self.marks().high.max(1 << 10) {
                now = self.next_free().unwrap_or(now).max(now);
                continue;
            }
            let listed: u64 = self.zones.iter().map(super::Zone::listed).sum();
            let (mut gone, mut spent) = (0, Dur::ZERO);
            for zone in 0..self.zones.len() {
                let batch = self.shrink(zone, now, policy);
                looked += batch.looked;
                gone += batch.gone;
                spent += batch.kernel;
            }
            self.counts.by_direct += gone;
            kernel += spent;
            now += spent;
            if gone == 0 && looked > PASSES * listed || spent == Dur::ZERO {
                match self.next_free() {
                    Some(at) => now = at.max(now),
                    // The last reserve, then the end.
                    None => {
                        let frame = self.take_above(|m| m.min / 2, now).ok_or(FaultError::OutOfMemory)?;
                        return Ok((frame, kernel, now));
                    }
                }
            } else if let Some(at) = self.next_free().filter(|_| gone > 0) {
                now = at.max(now);
            }
        }
    }

    /// A visit of a page that is there and in no page table: in the swap cache, where nobody has set hints, or wanted to be
    /// known of.
    fn first_visit(&mut self, page: PageNumber, now: Time, policy: &mut dyn Policy) -> Dur {
        if self.table.chunk(page / CHUNK as u32).hinted != Time::ZERO {
            return self.hinted(page, now, policy);
        }
        *self.table.entry_mut(page) &= !HINT;
        self.counts.minor += 1;
        Dur::ZERO
    }

    /// A visit that was wanted to be known of.
    fn hinted(&mut self, page: PageNumber, now: Time, policy: &mut dyn Policy) -> Dur {
        self.settle(now);
        *self.table.entry_mut(page) &= !HINT;
        self.counts.hints += 1;
        let frame = u64::from(self.table.entry(page) & PLACE);
        let since = now.since(self.table.chunk(page / CHUNK as u32).hinted);
        policy.on_hint(self, Hint { page, frame, since }, now)
    }
}

impl Counts {
    /// All faults.
    pub fn faults(&self) -> u64 {
        self.minor + self.major
    }
}
