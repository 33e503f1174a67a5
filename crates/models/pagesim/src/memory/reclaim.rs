//! Reclaim: the lists' second chance, kswapd, and what leaves.

use super::MemoryManager;
use super::spec::PAGE;
use super::table::{ACCESSED, PLACE};
use crate::policy::Policy;
use units::{Dur, Time};

/// Pages looked at in one go (`SWAP_CLUSTER_MAX`).
const BATCH: usize = 32;
/// Pages on their way to the swap device, at most; then kswapd waits for it.
const CONGESTED: usize = 8192;
/// kswapd gives up after so many fruitless passes (`MAX_RECLAIM_RETRIES`).
const GIVE_UP: u64 = 16;

/// What a batch did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batch {
    pub(super) looked: u64,
    pub(super) gone: u64,
    pub(super) kernel: Dur,
}

impl MemoryManager {
    /// Zones whose kswapd is to run.
    pub fn awake(&self) -> impl Iterator<Item = usize> + '_ {
        self.zones.iter().enumerate().filter(|(_, z)| z.awake).map(|(i, _)| i)
    }

    /// kswapd of `zone` works on a batch. Gives its processor time and when it goes on; none when it sleeps.
    pub fn kswapd(&mut self, zone: usize, now: Time, policy: &mut dyn Policy) -> (Dur, Option<Time>) {
        self.settle(now);
        let target = policy.kswapd_target(&self.zones[zone]);
        let z = &self.zones[zone];
        if z.free() > target || z.managed == 0 || z.fruitless > GIVE_UP * z.listed().max(1) {
            self.zones[zone].awake = false;
            self.zones[zone].fruitless = 0;
            return (Dur::ZERO, None);
        }
        if z.free() + z.leaving > target || self.leaving.len() > CONGESTED {
            let at = self.next_free().unwrap_or(now);
            return (Dur::ZERO, Some(at.max(now)));
        }
        let batch = self.shrink(zone, now, policy);
        self.counts.by_kswapd += batch.gone;
        if batch.looked == 0 {
            self.zones[zone].awake = false;
            return (batch.kernel, None);
        }
        (batch.kernel, Some(now + batch.kernel))
    }

    /// Ages a batch of `zone`'s active pages, and sends away what an equal batch of inactive ones allows.
    pub(super) fn shrink(&mut self, zone: usize, now: Time, policy: &mut dyn Policy) -> Batch {
        let mut batch = Batch::default();
        // Pages without a file are left alone when no slot is free for them (`get_nr_swap_pages`).
        let no_slot = self.swap.as_ref().is_none_or(|s| s.is_full());
        if no_slot && policy.victims_go_to(&self.zones, zone).is_none() {
            return batch;
        }
        self.age(zone, &mut batch);
        self.table.look_at(self.zones[zone].inactive.oldest_first().take(BATCH));
        let mut slots: [(u32, u64); BATCH] = [(0, 0); BATCH];
        let mut leaving = 0;
        for _ in 0..BATCH {
            let Some(page) = self.zones[zone].inactive.oldest() else { break };
            batch.looked += 1;
            let entry = self.table.entry(page);
            let frame = u64::from(entry & PLACE);
            let z = &mut self.zones[zone];
            z.inactive.remove(&self.table, page);
            if entry & ACCESSED != 0 {
                *self.table.entry_mut(page) &= !ACCESSED;
                z.active.push(&mut self.table, page);
                continue;
            }
            let to = policy.victims_go_to(&self.zones, zone);
            if to.is_some_and(|to| self.demote(page, frame, to, now)) {
                batch.gone += 1;
                batch.kernel += self.spec.costs.unmap;
                continue;
            }
            let Some(slot) = self.swap.as_mut().and_then(|s| s.take(page, now)) else {
                self.zones[zone].inactive.push(&mut self.table, page);
                continue;
            };
            *self.table.entry_mut(page) = slot + 1;
            let owner = self.table.owner(page) as usize;
            self.processes[owner].resident -= 1;
            self.processes[owner].swapped += 1;
            slots[leaving] = (slot, frame);
            leaving += 1;
        }
        batch.gone += leaving as u64;
        let costs = self.spec.costs;
        batch.kernel += costs.scan * batch.looked + costs.unmap * leaving as u64;
        self.write_out(zone, &slots[..leaving], now + batch.kernel);
        self.counts.scanned += batch.looked;
        let z = &mut self.zones[zone];
        z.fruitless = if batch.gone > 0 { 0 } else { z.fruitless + batch.looked };
        batch
    }

    /// Moves a batch from the active to the inactive list where that has become short.
    fn age(&mut self, zone: usize, batch: &mut Batch) {
        let z = &mut self.zones[zone];
        if z.inactive.len() * z.ratio() >= z.active.len() {
            return;
        }
        for _ in 0..BATCH {
            let Some(page) = z.active.oldest() else { break };
            batch.looked += 1;
            z.active.remove(&self.table, page);
            *self.table.entry_mut(page) &= !ACCESSED;
            z.inactive.push(&mut self.table, page);
        }
    }

    /// Slots that follow each other are one request.
    fn write_out(&mut self, zone: usize, slots: &[(u32, u64)], now: Time) {
        let Some(swap) = &mut self.swap else { return };
        if swap.is_pm() {
            self.counts.pm_written += PAGE * slots.len() as u64;
        }
        for run in slots.chunk_by(|(a, _), (b, _)| *b == a + 1) {
            let done = swap.writes(now, run[0].0, run.len() as u64);
            self.leaving.extend(run.iter().map(|(_, frame)| (done, *frame)));
        }
        self.zones[zone].leaving += slots.len() as u64;
    }
}
