//! Moving pages between zones, and hints that tell of visits.

use super::MemoryManager;
use super::spec::{Medium, PAGE};
use super::table::{ACCESSED, CHUNK, HINT, PLACE, PRESENT, PageNumber};
use crate::policy::Hint;
use units::{Dur, Time};

impl MemoryManager {
    /// Moves a page that reclaim has taken off its list to zone `to`, where that has a page.
    pub(super) fn demote(&mut self, page: PageNumber, frame: u64, to: usize, now: Time) -> bool {
        let Some(to) = self.take_frame(to, now) else { return false };
        self.counts.demoted += 1;
        self.moved((page, frame), to, false, now);
        true
    }

    /// Moves a page to zone `to`, where that has a page; gives the kernel's time.
    pub fn promote(&mut self, hint: Hint, to: usize, now: Time) -> Option<Dur> {
        let Hint { page, frame, .. } = hint;
        let to = self.take_frame(to, now)?;
        self.unlist(page, frame as u32);
        self.counts.promoted += 1;
        self.moved((page, frame), to, true, now);
        Some(self.spec.costs.unmap * 2)
    }

    /// `page`, on no list, moves from one frame to another.
    fn moved(&mut self, (page, from): (PageNumber, u64), to: u64, active: bool, now: Time) {
        let owner = self.table.owner(page) as usize;
        self.processes[owner].resident -= 1;
        let accessed = self.table.entry(page) & !PLACE & ACCESSED;
        self.place(page, to, accessed, active);
        self.give_frame(from, now);
        if self.medium(to) == Medium::Pm {
            self.wear(to, PAGE);
        }
    }

    /// kswapd of `zone` is to run.
    pub fn wake_kswapd(&mut self, zone: usize) {
        self.zones[zone].awake = true;
    }

    /// Hints go into the next `bytes` of mapped memory after `cursor`, on its pages of slower memory: their next visit faults.
    /// Gives the new cursor and the kernel's time.
    pub fn set_hints(&mut self, cursor: u32, bytes: u64, now: Time) -> (u32, Dur) {
        let all: Vec<u32> = self.table.indices().collect();
        if all.is_empty() {
            return (0, Dur::ZERO);
        }
        let start = all.partition_point(|c| *c < cursor);
        let wanted = (bytes / (CHUNK as u64 * PAGE)).max(1) as usize;
        let mut hinted = 0;
        let mut last = cursor;
        for step in 0..wanted.min(all.len()) {
            let chunk = all[(start + step) % all.len()];
            hinted += self.hint_chunk(chunk, now);
            last = chunk + 1;
        }
        (last, self.spec.costs.scan * hinted)
    }

    /// Sets hints on the pages of slower memory in `chunk`; gives how many.
    fn hint_chunk(&mut self, chunk: u32, now: Time) -> u64 {
        let dram = self.dram_frames as u32;
        if self.table.chunk(chunk).device {
            return 0;
        }
        self.table.chunk_mut(chunk).hinted = now;
        let mut hinted = 0;
        for entry in self.table.entries_mut(chunk) {
            if *entry & PRESENT != 0 && *entry & PLACE >= dram {
                *entry |= HINT;
                hinted += 1;
            }
        }
        hinted
    }
}
