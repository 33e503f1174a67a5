//! A swap device: slots, and requests that queue for its channels and share its bandwidth.

use super::bits::Bits;
use super::spec::{PAGE, SECTION};
use super::table::PageNumber;
use super::usage::Level;
use units::{Dur, Time};

/// What a device is.
#[derive(Clone, Copy, Debug)]
pub struct SwapSpec {
    /// Pages that it holds.
    pub pages: u64,
    /// Requests that it works on at once.
    pub channels: usize,
    /// Time until the first byte of a read.
    pub read: Dur,
    /// Time until the first byte of a write.
    pub write: Dur,
    /// Time of a page on its bus.
    pub page: Dur,
    /// A request next to the last one needs no time until its first byte (a disk's head is there).
    pub seeks: bool,
    /// Its slots are persistent memory, one after the other, which what leaves for them wears.
    pub is_pm: bool,
}

/// The device.
#[derive(Debug)]
pub(crate) struct Swap {
    spec: SwapSpec,
    free: Bits,
    next: u64,
    /// The page in each slot ever used.
    owners: Vec<PageNumber>,
    channels: Vec<Time>,
    bus: Time,
    head: u64,
    pub(crate) most: u64,
    /// Slots in use, over time.
    pub(crate) slots: Level,
    pub(crate) written: u64,
    pub(crate) read: u64,
    /// Bytes written to each section of its persistent memory.
    sections: Vec<u64>,
}

impl Swap {
    pub(crate) fn new(spec: SwapSpec) -> Swap {
        let free = Bits::full(spec.pages);
        let channels = vec![Time::ZERO; spec.channels.max(1)];
        let sections = if spec.is_pm { spec.pages.div_ceil(SECTION) } else { 0 };
        Swap {
            spec,
            free,
            next: 0,
            owners: Vec::new(),
            channels,
            bus: Time::ZERO,
            head: 0,
            most: 0,
            slots: Level::default(),
            written: 0,
            read: 0,
            sections: vec![0; sections as usize],
        }
    }

    pub(crate) fn used(&self) -> u64 {
        self.spec.pages - self.free()
    }

    pub(crate) fn free(&self) -> u64 {
        self.free.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.free() == 0
    }

    /// A slot for `page`, after the one given last where that is free: pages that leave together lie together.
    pub(crate) fn take(&mut self, page: PageNumber, now: Time) -> Option<u32> {
        let slot = self.free.first_from(self.next).or_else(|| self.free.first())?;
        self.free.remove(slot);
        self.next = slot + 1;
        if self.owners.len() <= slot as usize {
            self.owners.resize(slot as usize + 1, 0);
        }
        self.owners[slot as usize] = page;
        self.most = self.most.max(self.used());
        self.slots.change(now, 1);
        Some(slot as u32)
    }

    pub(crate) fn give(&mut self, slot: u32, now: Time) {
        self.free.insert(u64::from(slot));
        self.slots.change(now, -1);
    }

    /// The page in `slot`, if one is.
    pub(crate) fn owner(&self, slot: u64) -> Option<PageNumber> {
        let used = slot < self.owners.len() as u64 && !self.free.contains(slot);
        used.then(|| self.owners[slot as usize])
    }

    /// When a read of `pages` from `slot` on ends.
    pub(crate) fn reads(&mut self, now: Time, slot: u32, pages: u64) -> Time {
        self.read += pages;
        self.request(now, slot, pages, self.spec.read)
    }

    /// When a write of `pages` from `slot` on ends.
    pub(crate) fn writes(&mut self, now: Time, slot: u32, pages: u64) -> Time {
        self.written += pages;
        if self.spec.is_pm {
            (u64::from(slot)..u64::from(slot) + pages)
                .for_each(|slot| self.sections[(slot / SECTION) as usize] += PAGE);
        }
        self.request(now, slot, pages, self.spec.write)
    }

    /// Whether its slots are persistent memory.
    pub(crate) fn is_pm(&self) -> bool {
        self.spec.is_pm
    }

    /// Bytes written to the section of its persistent memory that most was written to.
    pub(crate) fn most_worn(&self) -> u64 {
        self.sections.iter().max().copied().unwrap_or(0)
    }

    fn request(&mut self, now: Time, slot: u32, pages: u64, latency: Dur) -> Time {
        let there = self.spec.seeks && self.head == u64::from(slot);
        let latency = if there { Dur::ZERO } else { latency };
        let channel = self.channels.iter_mut().min().expect("a device has a channel");
        let first = (*channel).max(now) + latency;
        let end = first.max(self.bus) + self.spec.page * pages;
        (*channel, self.bus, self.head) = (end, end, u64::from(slot) + pages);
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(channels: usize, seeks: bool) -> Swap {
        let (read, write, page) = (Dur::ns(100), Dur::ns(50), Dur::ns(10));
        Swap::new(SwapSpec { pages: 16, channels, read, write, page, seeks, is_pm: false })
    }

    #[test]
    fn requests_queue_for_channels_and_share_the_bus() {
        let mut one = device(1, false);
        assert_eq!(one.reads(Time::ZERO, 0, 1), Time::ZERO + Dur::ns(110));
        assert_eq!(one.reads(Time::ZERO, 5, 2), Time::ZERO + Dur::ns(230), "behind the first");
        let mut two = device(2, false);
        assert_eq!(two.reads(Time::ZERO, 0, 1), Time::ZERO + Dur::ns(110));
        assert_eq!(two.reads(Time::ZERO, 5, 2), Time::ZERO + Dur::ns(130), "side by side, but for the bus");
    }

    #[test]
    fn a_head_that_is_there_does_not_seek() {
        let mut disk = device(1, true);
        let first = disk.writes(Time::ZERO, 3, 2);
        assert_eq!(disk.writes(first, 5, 1), first + Dur::ns(10));
        assert_eq!(disk.writes(first, 9, 1), first + Dur::ns(10 + 50 + 10));
    }

    #[test]
    fn what_leaves_wears_the_sections_that_its_slots_are_in() {
        let latency = Dur::ns(100);
        let spec = SwapSpec {
            pages: 2 * SECTION + 1,
            channels: 1,
            read: latency,
            write: latency,
            page: latency,
            seeks: false,
            is_pm: true,
        };
        let mut d = Swap::new(spec);
        d.writes(Time::ZERO, SECTION as u32 - 1, 3);
        d.writes(Time::ZERO, 2 * SECTION as u32, 1);
        d.reads(Time::ZERO, 0, 1);
        assert_eq!((d.sections.as_slice(), d.most_worn()), ([PAGE, 2 * PAGE, PAGE].as_slice(), 2 * PAGE));
    }

    #[test]
    fn slots_run_out_and_come_back() {
        let mut d = device(1, false);
        let slots: Vec<_> = (0..16).map(|page| d.take(page, Time::ZERO).unwrap()).collect();
        assert_eq!((d.take(99, Time::ZERO), d.owner(7), d.used()), (None, Some(7), 16));
        d.give(slots[7], Time::ZERO);
        assert_eq!((d.owner(7), d.take(99, Time::ZERO), d.most), (None, Some(7), 16));
    }
}
