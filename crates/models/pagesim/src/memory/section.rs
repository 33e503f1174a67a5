//! Sections: boot, hiding, bringing memory online and taking it offline.

use super::MemoryManager;
use super::spec::{Descriptors, Medium, PAGE, SECTION, ZoneSpec};
use super::usage::{Level, Usage};
use super::zone::Zone;
use crate::policy::Policy;
use units::{Dur, Time};

/// Descriptors do not fit where they must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// Pages that were wanted.
    pub wanted: u64,
    /// Pages that are there.
    pub there: u64,
    /// Whether persistent memory has its descriptors there.
    of_pm: bool,
}

impl NoRoom {
    /// Which keys make them fit.
    pub fn advice(&self) -> &'static str {
        match self.of_pm {
            true => "more fusion.dram_gib, or less os.reserved_mib or fusion.pm_gib",
            false => "more fusion.dram_gib, or less os.reserved_mib",
        }
    }
}

impl MemoryManager {
    /// Gives what is online to the allocator, but for what the kernel keeps and the descriptors.
    pub(super) fn boot(&mut self) -> Result<(), NoRoom> {
        let each = self.spec.descriptor_pages();
        let online: u64 = self.spec.zones.iter().filter(|z| z.online).map(|z| z.sections).sum();
        let mut first = 0;
        for index in 0..self.zones.len() {
            let spec = self.spec.zones[index];
            let all = spec.sections * SECTION;
            let mut kept = if index == 0 { self.spec.reserved } else { 0 };
            kept += match (self.spec.descriptors, index) {
                (Descriptors::Dram, 0) => online * each,
                (Descriptors::Dram, _) => 0,
                (Descriptors::Added, _) => spec.sections * each,
            };
            if spec.online && all > 0 {
                if kept >= all {
                    let has_pm =
                        |zone: &ZoneSpec| zone.online && zone.medium == Medium::Pm && zone.sections > 0;
                    let of_pm =
                        self.spec.descriptors == Descriptors::Dram && self.spec.zones.iter().any(has_pm);
                    return Err(NoRoom { wanted: kept, there: all, of_pm });
                }
                let zone = &mut self.zones[index];
                zone.buddy.give_range(kept, all - kept);
                zone.managed = all - kept;
                let mut left = kept;
                for section in &mut self.sections[first..first + spec.sections as usize] {
                    section.online = true;
                    section.used = left.min(SECTION) as u32;
                    left -= u64::from(section.used);
                }
            }
            first += spec.sections as usize;
        }
        self.hidden = self.sections.iter().filter(|s| !s.online && !s.device).count() as u64;
        let used = self.sections.iter().map(|s| u64::from(s.used)).sum();
        self.usage = Usage { online: Level::of(online * SECTION), used: Level::of(used) };
        self.set_marks();
        Ok(())
    }

    /// Watermarks follow what is online (`setup_per_zone_wmarks`), and so does the most that was.
    fn set_marks(&mut self) {
        let all: u64 = self.zones.iter().map(|z| z.managed).sum();
        let kib = match self.spec.min_free_kib {
            0 => self.spec.rule.min_free_kib(all * PAGE / 1024),
            set => set,
        };
        for zone in &mut self.zones {
            zone.marks = self.spec.rule.zone(kib, zone.managed, all);
        }
        self.pm_online_most = self.pm_online_most.max(self.online_bytes(Medium::Pm));
        self.descriptors_most = self.descriptors_most.max(self.descriptor_bytes());
    }

    /// Hidden sections of persistent memory.
    pub fn hidden(&self) -> u64 {
        self.hidden
    }

    /// Brings up to `wanted` hidden sections online, lowest first, and allocates their descriptors. Gives how many
    /// it were, and the kernel's time: fewer when nothing is hidden any more, or no page is left for descriptors. Then
    /// pages of the first zone are sent away, so that a later call finds room.
    pub fn bring_online(&mut self, wanted: u64, now: Time, policy: &mut dyn Policy) -> (u64, Dur) {
        let (mut done, mut time) = (0, Dur::ZERO);
        self.wanted = 0;
        if self.hidden == 0 {
            return (0, Dur::ZERO);
        }
        for index in 0..self.sections.len() {
            if done == wanted {
                break;
            }
            if self.sections[index].online || self.sections[index].device {
                continue;
            }
            if !self.describe(index, now) {
                // No node has room for them.
                if self.has_room_once_empty() {
                    let pages = (wanted - done) * self.spec.descriptor_pages();
                    time = self.make_room(pages, now, policy);
                } else {
                    self.give_collected(now);
                }
                break;
            }
            done += 1;
        }
        if self.hidden() == 0 {
            self.give_collected(now);
        }
        if done > 0 {
            self.set_marks();
        }
        (done, time + self.spec.costs.describe * SECTION * done)
    }

    /// Whether a section's descriptors fit into the first zone beside those that it has, were there nothing else. Where they do not,
    /// pages that are collected for them would be lost to programs for ever.
    fn has_room_once_empty(&self) -> bool {
        let all = self.sections.iter().flat_map(|section| &section.descriptors);
        let there: u64 = all.filter(|(page, _)| self.zone_of(*page) == 0).map(|(_, order)| 1 << order).sum();
        let zone = &self.zones[0];
        zone.managed >= there + self.spec.descriptor_pages() + zone.marks.min
    }

    fn give_collected(&mut self, now: Time) {
        let collected = std::mem::take(&mut self.collected);
        self.give_blocks(&collected, now);
    }

    /// Sends as many pages of the first zone away as descriptors want, at most as many as fill the device for a while: the
    /// next call goes on. What has left is kept for the descriptors.
    fn make_room(&mut self, pages: u64, now: Time, policy: &mut dyn Policy) -> Dur {
        let mut time = Dur::ZERO;
        self.wanted = pages.min(1 << 13);
        let mut looks = 2 * self.zones[0].listed();
        while self.zones[0].leaving < self.wanted && looks > 0 {
            let batch = self.shrink(0, now + time, policy);
            self.counts.by_direct += batch.gone;
            time += batch.kernel;
            looks = looks.saturating_sub(batch.looked.max(1));
        }
        time
    }

    /// Allocates the descriptors of a section and gives its pages to the allocator.
    fn describe(&mut self, index: usize, now: Time) -> bool {
        let each = self.spec.descriptor_pages();
        let zone = self.sections[index].zone as usize;
        let start = index as u64 * SECTION - self.zones[zone].first;
        let mut given = (start, SECTION);
        match self.spec.descriptors {
            Descriptors::Added => {
                given = (start + each, SECTION - each);
                self.sections[index].used = each as u32;
                self.usage.used.change(now, each as i64);
            }
            Descriptors::Dram => match self.take_descriptors(each, now) {
                Some(blocks) => self.sections[index].descriptors = blocks,
                None => return false,
            },
        }
        let zone = &mut self.zones[zone];
        zone.buddy.give_range(given.0, given.1);
        zone.managed += given.1;
        self.sections[index].online = true;
        self.usage.online.change(now, SECTION as i64);
        self.hidden -= 1;
        true
    }

    /// So many pages for descriptors: of DRAM, or where it has none left of another node, as the kernel's allocator falls
    /// back along its list of zones.
    fn take_descriptors(&mut self, pages: u64, now: Time) -> Option<Vec<(u64, u8)>> {
        if let Some(blocks) = self.take_blocks(pages, now) {
            return Some(blocks);
        }
        let spare = |z: &Zone| z.free().saturating_sub(z.marks.low);
        let other = (1..self.zones.len()).find(|z| spare(&self.zones[*z]) >= pages)?;
        (0..pages).map(|_| self.take_frame(other, now).map(|frame| (frame, 0))).collect()
    }

    /// So many pages of the first zone, above its minimum, in few blocks. What there is stays collected for the next call
    /// when it is not enough: others would have taken it by then.
    fn take_blocks(&mut self, pages: u64, now: Time) -> Option<Vec<(u64, u8)>> {
        let (mut blocks, mut left, mut most) = (Vec::new(), pages, 8);
        self.collected.retain(|(page, order)| {
            let fits = 1 << order <= left;
            if fits {
                left -= 1 << order;
                blocks.push((*page, *order));
            }
            !fits
        });
        while left > 0 {
            let zone = &mut self.zones[0];
            let spare = zone.free().saturating_sub(zone.marks.min);
            if spare == 0 {
                self.collected.append(&mut blocks);
                return None;
            }
            let order = (left.min(spare).ilog2() as usize).min(most);
            match zone.buddy.take(order) {
                Some(page) => {
                    self.sections[(page / SECTION) as usize].used += 1 << order;
                    self.usage.used.change(now, 1 << order);
                    blocks.push((page, order as u8));
                    left -= 1 << order;
                }
                None if order > 0 => most = order - 1,
                None => {
                    self.collected.append(&mut blocks);
                    return None;
                }
            }
        }
        Some(blocks)
    }

    fn give_blocks(&mut self, blocks: &[(u64, u8)], now: Time) {
        for (page, order) in blocks {
            let zone = self.zone_of(*page);
            let zone = &mut self.zones[zone];
            zone.buddy.give(page - zone.first, usize::from(*order));
            self.sections[(page / SECTION) as usize].used -= 1 << order;
            self.usage.used.change(now, -(1 << order));
        }
    }

    /// Sections of persistent memory that are online and free in every page, the highest first.
    pub fn idle_sections(&self) -> Vec<usize> {
        let kept = if self.spec.descriptors == Descriptors::Added { self.spec.descriptor_pages() } else { 0 };
        let pm = |i: &usize| self.zones[self.sections[*i].zone as usize].medium == Medium::Pm;
        let idle = |i: &usize| self.sections[*i].online && u64::from(self.sections[*i].used) == kept;
        (0..self.sections.len()).rev().filter(pm).filter(idle).collect()
    }

    /// Hides sections again that [`Memory::idle_sections`] named, and frees their descriptors.
    pub fn take_offline(&mut self, sections: &[usize], now: Time) {
        for &index in sections {
            let zone = self.sections[index].zone as usize;
            let start = index as u64 * SECTION - self.zones[zone].first;
            let Zone { buddy, managed, .. } = &mut self.zones[zone];
            if self.spec.descriptors == Descriptors::Added {
                // The rest of the section is free but not in whole blocks of the largest order: join them first.
                let each = self.spec.descriptor_pages();
                buddy.give_range(start, each);
                *managed += each;
                self.sections[index].used = 0;
                self.usage.used.change(now, -(each as i64));
            }
            buddy.take_range(start, SECTION);
            *managed -= SECTION;
            self.sections[index].online = false;
            self.usage.online.change(now, -(SECTION as i64));
            self.hidden += 1;
            let blocks = std::mem::take(&mut self.sections[index].descriptors);
            self.give_blocks(&blocks, now);
        }
        if !sections.is_empty() {
            self.set_marks();
        }
    }

    /// The first frame of device file `file`: behind the files before it, which `files` keeps (first frame, pages). None
    /// where the region is full.
    pub fn device_file(&self, files: &mut Vec<(u64, u64)>, file: usize, pages: u64) -> Option<u64> {
        let region = (self.sections.len() as u64 - self.spec.device_sections) * SECTION;
        let end = self.sections.len() as u64 * SECTION;
        while files.len() <= file {
            let first = files.last().map_or(region, |(first, pages)| first + pages);
            if first.checked_add(pages)? > end {
                return None;
            }
            files.push((first, pages));
        }
        Some(files[file].0)
    }

    /// `bytes` are written to a frame of persistent memory, by whom visits know nothing of.
    pub fn wear(&mut self, frame: u64, bytes: u64) {
        self.counts.pm_written += bytes;
        self.sections[(frame / SECTION) as usize].written += bytes;
    }

    /// Bytes of descriptors of a section.
    pub fn section_descriptor_bytes(&self) -> u64 {
        self.spec.descriptor_pages() * PAGE
    }
}
