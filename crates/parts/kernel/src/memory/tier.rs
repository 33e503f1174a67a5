//! Two tiers: reclaim demotes, hint faults promote (`numa_balancing` mode 2, Linux 5.18 and later).

use super::Memory;
use super::spec::{Medium, PAGE};
use super::table::{ACCESSED, CHUNK, HINT, PLACE, PRESENT, Page};
use units::{Dur, Time};

/// How promotion is decided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promotion {
    /// A page is hot when it is visited so soon after its hint was set.
    pub(super) threshold: Dur,
    /// Pages that may still be moved in this period.
    pub(super) budget: u64,
    /// Hot pages seen in this period.
    pub(super) candidates: u64,
}

impl Default for Promotion {
    /// `numa_balancing`'s first threshold: a second.
    fn default() -> Self {
        Promotion { threshold: Dur::ns(1_000_000_000), budget: 0, candidates: 0 }
    }
}

impl Memory {
    /// Where pages of `zone` may be demoted to.
    pub(super) fn slower_zone(&self, zone: usize) -> Option<usize> {
        if !self.spec.demotes || self.zones[zone].medium == Medium::Pm {
            return None;
        }
        self.zones.iter().position(|z| z.medium == Medium::Pm && z.free() > z.marks.high)
    }

    /// Moves a page of DRAM that reclaim has taken off its list to slower memory, where that has room.
    pub(super) fn demote(&mut self, page: Page, frame: u64) -> bool {
        let Some(zone) = self.slower_zone(self.zone_of(frame)) else { return false };
        let Some(to) = self.take_frame(zone) else { return false };
        self.counts.demoted += 1;
        self.moved(page, frame, to, false);
        true
    }

    /// Moves a page whose hint fault says that it is hot to DRAM, where that has room; gives the kernel's time.
    pub(super) fn promote(&mut self, page: Page, frame: u64, now: Time) -> Dur {
        if self.medium(frame) == Medium::Dram {
            return Dur::ZERO;
        }
        let since = now.since(self.table.chunk(page / CHUNK as u32).hinted);
        let Promotion { threshold, budget, .. } = self.promotion;
        let z = &self.zones[0];
        // Plenty of room: whatever is visited may come (`pgdat_free_space_enough`).
        let plenty = z.free() > z.marks.promo + (z.managed / 16).max(1 << 18);
        let hot = since <= threshold;
        self.promotion.candidates += u64::from(hot);
        if z.free() <= z.marks.high {
            self.zones[0].awake = true;
            return Dur::ZERO;
        }
        if !plenty && (!hot || budget == 0) {
            return Dur::ZERO;
        }
        let Some(to) = self.take_frame(0) else { return Dur::ZERO };
        self.promotion.budget = budget.saturating_sub(1);
        self.unlist(page, frame as u32);
        self.counts.promoted += 1;
        self.moved(page, frame, to, true);
        self.spec.costs.unmap * 2
    }

    /// `page`, on no list, moves from one frame to another.
    fn moved(&mut self, page: Page, from: u64, to: u64, active: bool) {
        let owner = self.table.owner(page) as usize;
        self.processes[owner].resident -= 1;
        let accessed = self.table.entry(page) & !PLACE & ACCESSED;
        self.place(page, to, accessed, active);
        self.give_frame(from);
        if self.medium(to) == Medium::Pm {
            self.wear(to, PAGE);
        }
    }

    /// A scan period ends: hints go into the next `bytes` of mapped memory after `cursor`, and the threshold follows how
    /// many candidates there were against `rate` bytes a period. Gives the new cursor and the kernel's time.
    pub fn scan_hints(&mut self, cursor: u32, bytes: u64, rate: u64, now: Time) -> (u32, Dur) {
        let reference = Promotion::default().threshold.as_ps();
        let pages = rate / PAGE;
        let seen = self.promotion.candidates;
        let now_ps = self.promotion.threshold.as_ps();
        let next = if seen * 10 > pages * 11 {
            now_ps.saturating_sub(reference / 8)
        } else if seen * 10 < pages * 9 {
            now_ps + reference / 8
        } else {
            now_ps
        };
        let threshold = Dur::ps(next.clamp(reference / 8, 2 * reference));
        self.promotion = Promotion { threshold, budget: pages, candidates: 0 };
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
        let chunk = self.table.chunk_mut(chunk);
        if chunk.device {
            return 0;
        }
        chunk.hinted = now;
        let mut hinted = 0;
        for entry in chunk.entries.iter_mut() {
            if *entry & PRESENT != 0 && *entry & PLACE >= dram {
                *entry |= HINT;
                hinted += 1;
            }
        }
        hinted
    }
}
