//! Processes and their areas: mapping, visiting, unmapping, exit.

use super::MemoryManager;
use super::spec::{Medium, SECTION};
use super::table::{ACCESSED, CHUNK, HINT, PLACE, PRESENT, PageNumber};
use units::{Dur, Time};

/// Pages that the hit path takes at once.
const GROUP: usize = 64;
/// And those that it looks at first.
const FEW: usize = 2;

/// A mapped area.
#[derive(Debug)]
pub(crate) struct Area {
    /// Pages that were mapped.
    pub(crate) pages: u64,
    /// Pages of the device file behind it that exist; all of `pages` where it is anonymous.
    pub(crate) backed: u64,
    /// The first frame of that file.
    device: Option<u64>,
    chunks: Vec<u32>,
}

/// A process.
#[derive(Debug, Default)]
pub(crate) struct Process {
    pub(crate) areas: Vec<Option<Area>>,
    /// Pages in memory.
    pub(crate) resident: u64,
    /// Pages on the swap device.
    pub(crate) swapped: u64,
}

/// Why a page cannot be visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AreaError {
    /// Nothing is mapped there (SIGSEGV).
    Unmapped,
    /// The device file ends before it (SIGBUS).
    BeyondEnd,
    /// The address space is full, or the area is mapped already (`mmap` fails).
    NoSpace,
}

/// What a run of visits did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Pages visited before one that faults, or all.
    pub done: u64,
    /// Pages of them on persistent memory.
    pub pm: u64,
}

/// Whether a visit of the page faults.
#[inline]
fn blocked(entry: &u32) -> bool {
    entry & (PRESENT | HINT) != PRESENT
}

/// Pages of a group before one that faults. Looks at few first, since a program that fills memory faults at each; then at
/// all together, which takes a few vector instructions.
#[inline]
fn ready(group: &[u32]) -> usize {
    let few = group.len().min(FEW);
    if let Some(at) = group[..few].iter().position(blocked) {
        return at;
    }
    let (all, any) = group.iter().fold((PRESENT, 0), |(all, any), e| (all & e, any | e));
    if all & PRESENT != 0 && any & HINT == 0 {
        return group.len();
    }
    group.iter().position(blocked).unwrap_or(group.len())
}

impl MemoryManager {
    /// A new process.
    pub fn spawn(&mut self) -> u32 {
        self.processes.push(Process::default());
        self.processes.len() as u32 - 1
    }

    /// Pages of `process` in memory and on the swap device.
    pub fn footprint(&self, process: u32) -> u64 {
        let p = &self.processes[process as usize];
        p.resident + p.swapped
    }

    /// Maps `pages` of anonymous memory as `area`.
    ///
    /// # Errors
    /// When the area is mapped already, or no page numbers are left.
    pub fn map(&mut self, process: u32, area: usize, pages: u64) -> Result<(), AreaError> {
        self.add_area(process, area, (pages, pages), None)
    }

    /// Maps `pages` of a device file as `area`: its frames from `first` on, of which `backed` exist. Several mappings
    /// show the same frames. Gives the kernel's time.
    ///
    /// # Errors
    /// As [`Memory::map`].
    pub fn map_device(
        &mut self,
        process: u32,
        area: usize,
        pages: u64,
        (first, backed): (u64, u64),
        now: Time,
    ) -> Result<Dur, AreaError> {
        let backed = backed.min(pages);
        self.add_area(process, area, (pages, backed), Some(first))?;
        self.show(first, backed, true, now);
        for n in 0..backed {
            if let Some(page) = self.page(process, area, n) {
                *self.table.entry_mut(page) = PRESENT | ACCESSED | (first + n) as u32;
            }
        }
        Ok(self.spec.costs.map * backed)
    }

    fn add_area(
        &mut self,
        process: u32,
        area: usize,
        (pages, backed): (u64, u64),
        device: Option<u64>,
    ) -> Result<(), AreaError> {
        let areas = &mut self.processes[process as usize].areas;
        if areas.len() <= area {
            areas.resize_with(area + 1, || None);
        }
        if areas[area].is_some() {
            return Err(AreaError::NoSpace);
        }
        let mut chunks = Vec::new();
        for _ in 0..pages.div_ceil(CHUNK as u64) {
            match self.table.add(process, device.is_some()) {
                Some(chunk) => chunks.push(chunk),
                None => {
                    chunks.into_iter().for_each(|c| self.table.remove(c));
                    return Err(AreaError::NoSpace);
                }
            }
        }
        self.processes[process as usize].areas[area] = Some(Area { pages, backed, device, chunks });
        Ok(())
    }

    pub(super) fn page(&self, process: u32, area: usize, page: u64) -> Option<PageNumber> {
        let area = self.processes[process as usize].areas.get(area)?.as_ref()?;
        let chunk = *area.chunks.get((page / CHUNK as u64) as usize)?;
        (page < area.pages).then_some(chunk * CHUNK as u32 + (page % CHUNK as u64) as u32)
    }

    /// The page that is visited, or why it cannot be.
    pub(super) fn visited(&self, process: u32, area: usize, page: u64) -> Result<PageNumber, AreaError> {
        let found = self.page(process, area, page).ok_or(AreaError::Unmapped)?;
        let backed = self.processes[process as usize].areas[area].as_ref().map_or(0, |a| a.backed);
        if page < backed { Ok(found) } else { Err(AreaError::BeyondEnd) }
    }

    /// Visits up to `pages` pages from `first` on; stops at one that is not simply there. `written` bytes go to each.
    /// Cost: 4 bytes a page, in groups of 64.
    #[inline]
    pub fn visit(&mut self, process: u32, area: usize, first: u64, pages: u64, written: u64) -> Touched {
        let mut all = Touched::default();
        while all.done < pages {
            let at = first + all.done;
            let Some(page) = self.page(process, area, at) else { break };
            let start = page as usize % CHUNK;
            let count = (pages - all.done).min((CHUNK - start) as u64) as usize;
            let chunk = page / CHUNK as u32;
            let Touched { done, pm } = self.visit_chunk(chunk, start, count, written);
            all.done += done;
            all.pm += pm;
            if done < count as u64 {
                break;
            }
        }
        all
    }

    /// Visits pages in any order; stops at one that is not simply there. Cost: 4 bytes a page, the host's misses overlapping.
    pub fn visit_each(&mut self, process: u32, area: usize, pages: &[u64], written: u64) -> Touched {
        let dram = self.dram_frames as u32;
        let MemoryManager { table, sections, counts, processes, .. } = self;
        let mut all = Touched::default();
        let Some(Some(area)) = processes[process as usize].areas.get(area) else { return all };
        for page in pages.iter().take_while(|p| **p < area.pages) {
            let chunk = area.chunks[(*page / CHUNK as u64) as usize];
            let entry = table.entry_mut(chunk * CHUNK as u32 + (*page % CHUNK as u64) as u32);
            if blocked(entry) {
                break;
            }
            *entry |= ACCESSED;
            all.done += 1;
            if *entry & PLACE >= dram {
                all.pm += 1;
                if written > 0 {
                    counts.pm_written += written;
                    sections[(*entry & PLACE) as usize / SECTION as usize].written += written;
                }
            }
        }
        all
    }

    fn visit_chunk(&mut self, chunk: u32, start: usize, count: usize, written: u64) -> Touched {
        let dram = self.dram_frames as u32;
        let MemoryManager { table, sections, counts, .. } = self;
        let entries = &mut table.entries_mut(chunk)[start..start + count];
        let mut all = Touched::default();
        for group in entries.chunks_mut(GROUP) {
            let ready = ready(group);
            let mut pm = 0_u64;
            for entry in &mut group[..ready] {
                *entry |= ACCESSED;
                pm += u64::from(*entry & PLACE >= dram);
            }
            if written > 0 && pm > 0 {
                counts.pm_written += pm * written;
                for entry in group[..ready].iter().filter(|e| **e & PLACE >= dram) {
                    sections[(*entry & PLACE) as usize / SECTION as usize].written += written;
                }
            }
            all.done += ready as u64;
            all.pm += pm;
            if ready < group.len() {
                break;
            }
        }
        all
    }

    /// The frame of a page that is there.
    pub fn frame(&self, process: u32, area: usize, page: u64) -> Option<u64> {
        let entry = self.table.entry(self.page(process, area, page)?);
        (entry & PRESENT != 0).then_some(u64::from(entry & PLACE))
    }

    /// The medium of a frame.
    pub fn medium(&self, frame: u64) -> Medium {
        if frame < self.dram_frames { Medium::Dram } else { Medium::Pm }
    }

    /// Unmaps `area`; its pages and slots are free. Gives the kernel's time; none when nothing was mapped, which
    /// `munmap` does not mind.
    pub fn unmap(&mut self, process: u32, area: usize, now: Time) -> Dur {
        let slot = self.processes[process as usize].areas.get_mut(area);
        let Some(area) = slot.and_then(Option::take) else { return Dur::ZERO };
        if let Some(first) = area.device {
            self.show(first, area.backed, false, now);
        }
        let mut pages = 0;
        for chunk in area.chunks {
            if !self.table.chunk(chunk).device {
                pages += self.release_chunk(process, chunk, now);
            }
            self.table.remove(chunk);
        }
        self.spec.costs.free * pages
    }

    fn release_chunk(&mut self, process: u32, chunk: u32, now: Time) -> u64 {
        let mut pages = 0;
        for n in 0..CHUNK {
            let page = chunk * CHUNK as u32 + n as u32;
            let entry = self.table.entry(page);
            if entry & PRESENT != 0 {
                self.unlist(page, entry & PLACE);
                self.give_frame(u64::from(entry & PLACE), now);
                self.processes[process as usize].resident -= 1;
                pages += 1;
            } else if entry != 0 {
                if let Some(swap) = &mut self.swap {
                    swap.give((entry & PLACE) - 1, now);
                }
                self.processes[process as usize].swapped -= 1;
                pages += 1;
            }
        }
        pages
    }

    /// The process ends: everything of it is free. Gives the kernel's time.
    pub fn exit(&mut self, process: u32, now: Time) -> Dur {
        let areas = self.processes[process as usize].areas.len();
        (0..areas).fold(Dur::ZERO, |time, area| time + self.unmap(process, area, now))
    }

    /// Which frames have left for the swap device by `now` are free.
    pub fn settle(&mut self, now: Time) {
        while let Some(&(at, frame)) = self.leaving.front() {
            if at > now {
                break;
            }
            self.leaving.pop_front();
            let zone = self.zone_of(frame);
            self.zones[zone].leaving -= 1;
            if zone == 0 && self.wanted > 0 {
                self.wanted -= 1;
                self.collected.push((frame, 0));
            } else {
                self.give_frame(frame, at);
            }
        }
    }

    /// When the next frame is free that is on its way to the swap device.
    pub fn next_free(&self) -> Option<Time> {
        self.leaving.front().map(|(at, _)| *at)
    }

    #[inline]
    pub(super) fn zone_of(&self, frame: u64) -> usize {
        self.sections[(frame / SECTION) as usize].zone as usize
    }

    pub(super) fn give_frame(&mut self, frame: u64, now: Time) {
        let zone = self.zone_of(frame);
        let zone = &mut self.zones[zone];
        zone.buddy.give(frame - zone.first, 0);
        self.sections[(frame / SECTION) as usize].used -= 1;
        self.usage.used.change(now, -1);
    }

    pub(super) fn take_frame(&mut self, zone: usize, now: Time) -> Option<u64> {
        let zone = &mut self.zones[zone];
        let frame = zone.first + zone.buddy.take(0)?;
        self.sections[(frame / SECTION) as usize].used += 1;
        self.usage.used.change(now, 1);
        Some(frame)
    }

    /// Takes a page off its zone's lists.
    pub(super) fn unlist(&mut self, page: PageNumber, frame: u32) {
        let zone = self.zone_of(u64::from(frame));
        let active = self.table.is_active(page);
        let zone = &mut self.zones[zone];
        let list = if active { &mut zone.active } else { &mut zone.inactive };
        list.remove(&self.table, page);
    }
}
