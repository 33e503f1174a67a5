//! Main memory under a kernel's manager, page by page: zones and their watermarks, sparse sections and page descriptors,
//! the buddy allocator, active and inactive lists, kswapd and direct reclaim, swap devices with their queues, minor
//! and major faults.
//!
//! ```text
//! visit -> present? -> accessed, dirty                             the hit path: 4 bytes read and written
//!            | no
//!          fault -> zone above low? -> page, zeroed or read from swap -> active list
//!                     | no
//!                   the policy's help -> kswapd woken -> above min? -> else direct reclaim -> else out of memory
//! ```
//!
//! Sources: Linux 4.5 `mm/page_alloc.c`, `mm/vmscan.c`, `mm/sparse.c` by what they do; AMF (HPCA 2018) §4. Time is an
//! argument everywhere; who calls decides what runs when. Cost of a visit that hits: a load and a store of 4 bytes.
//!
//! Not modelled: file pages and their cache, per-core page lists, compaction and huge pages, pages in the swap cache that
//! could be taken back while they are being written (they are read again), memory control groups.

mod bits;
mod buddy;
mod device;
mod fault;
mod list;
mod process;
mod reclaim;
mod section;
mod spec;
mod swap;
mod table;
#[cfg(test)]
mod tests;
mod tier;
mod usage;
mod watermark;
mod zone;

pub use fault::{Fault, FaultError};
pub use process::{AreaError, Touched};
pub use section::NoRoom;
pub use spec::{Costs, Descriptors, Medium, MemorySpec, PAGE, SECTION, ZoneSpec};
pub use swap::SwapSpec;
pub use table::PageNumber;
pub use usage::{Elapsed, Level, Usage};
pub use watermark::{Rule, Watermarks};
pub use zone::Zone;

use device::Mapped;
use process::Process;
use std::collections::VecDeque;
use swap::Swap;
use table::Table;
use units::Time;
use zone::Section;

/// What has happened, in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Faults that needed no device: first visits of new pages, and of pages that were read ahead into the swap cache.
    pub minor: u64,
    /// Faults that read from the swap device.
    pub major: u64,
    /// Pages read besides the one that was wanted.
    pub readahead: u64,
    /// Pages that kswapd sent away.
    pub by_kswapd: u64,
    /// Pages that faulting programs had to send away themselves.
    pub by_direct: u64,
    /// Pages looked at on lists.
    pub scanned: u64,
    /// Pages moved to slower memory.
    pub demoted: u64,
    /// Pages moved to faster memory.
    pub promoted: u64,
    /// Faults taken only to learn of a visit.
    pub hints: u64,
    /// Bytes written to persistent memory.
    pub pm_written: u64,
}

impl Counts {
    /// Adds what has happened from one look to another.
    pub(crate) fn add(&mut self, from: &Counts, to: &Counts) {
        let fields: [fn(&mut Counts) -> &mut u64; 10] = [
            |c| &mut c.minor,
            |c| &mut c.major,
            |c| &mut c.readahead,
            |c| &mut c.by_kswapd,
            |c| &mut c.by_direct,
            |c| &mut c.scanned,
            |c| &mut c.demoted,
            |c| &mut c.promoted,
            |c| &mut c.hints,
            |c| &mut c.pm_written,
        ];
        let (mut from, mut to) = (*from, *to);
        fields.iter().for_each(|field| *field(self) += *field(&mut to) - *field(&mut from));
    }
}

/// Main memory and its manager.
#[derive(Debug)]
pub struct MemoryManager {
    spec: MemorySpec,
    zones: Vec<Zone>,
    sections: Vec<Section>,
    table: Table,
    processes: Vec<Process>,
    swap: Option<Swap>,
    /// Frames whose contents are on their way to the swap device, in order of time.
    leaving: VecDeque<(Time, u64)>,
    /// Sections that the allocator does not know.
    hidden: u64,
    /// Blocks kept for the descriptors of the next section: frame, order.
    collected: Vec<(u64, u8)>,
    /// So many frames of the first zone are kept for them when they have left for the swap device.
    wanted: u64,
    /// What programs have mapped of device files.
    mapped: Mapped,
    /// Frames below it are DRAM.
    dram_frames: u64,
    /// Frames that the last fault read pages into that nobody had asked for.
    pub read_ahead: Vec<u64>,
    /// What has happened.
    pub counts: Counts,
    /// Most bytes of persistent memory online at once.
    pub pm_online_most: u64,
    /// Most bytes of page descriptors at once.
    pub descriptors_most: u64,
    /// Pages online and in use over time.
    pub usage: Usage,
}

impl MemoryManager {
    /// At boot.
    ///
    /// # Errors
    /// When what the kernel keeps, and the descriptors, do not fit into the first zone.
    pub fn new(spec: MemorySpec) -> Result<MemoryManager, NoRoom> {
        let mut first = 0;
        let (mut zones, mut sections) = (Vec::new(), Vec::new());
        for (index, zone) in spec.zones.iter().enumerate() {
            zones.push(Zone::new(zone, first));
            let section = Section { zone: index as u32, ..Section::default() };
            sections.extend(std::iter::repeat_n(section, zone.sections as usize));
            first += zone.sections * SECTION;
        }
        sections.extend(std::iter::repeat_n(
            Section { device: true, ..Section::default() },
            spec.device_sections as usize,
        ));
        let dram = |z: &&ZoneSpec| z.medium == Medium::Dram;
        let dram_frames = spec.zones.iter().take_while(dram).map(|z| z.sections * SECTION).sum();
        let swap = spec.swap.map(Swap::new);
        let mut memory = MemoryManager {
            spec,
            zones,
            sections,
            table: Table::default(),
            processes: Vec::new(),
            swap,
            leaving: VecDeque::new(),
            hidden: 0,
            collected: Vec::new(),
            wanted: 0,
            mapped: Mapped::default(),
            dram_frames,
            read_ahead: Vec::new(),
            counts: Counts::default(),
            pm_online_most: 0,
            descriptors_most: 0,
            usage: Usage::default(),
        };
        memory.boot()?;
        Ok(memory)
    }

    /// Zones, the allocator's first choice first.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Free pages of all zones.
    pub fn free(&self) -> u64 {
        self.zones.iter().map(Zone::free).sum()
    }

    /// Sum of the zones' marks.
    pub fn marks(&self) -> Watermarks {
        let mut sum = Watermarks::default();
        for Watermarks { min, low, high, promo } in self.zones.iter().map(|z| z.marks) {
            sum = Watermarks {
                min: sum.min + min,
                low: sum.low + low,
                high: sum.high + high,
                promo: sum.promo + promo,
            };
        }
        sum
    }

    /// Bytes of `medium` that the allocator knows, descriptors on it included.
    pub fn online_bytes(&self, medium: Medium) -> u64 {
        let on = |s: &&Section| s.online && self.zones[s.zone as usize].medium == medium;
        self.sections.iter().filter(on).count() as u64 * SECTION * PAGE
    }

    /// Bytes of `medium` in use.
    pub fn used_bytes(&self, medium: Medium) -> u64 {
        let on = |s: &&Section| self.zones[s.zone as usize].medium == medium;
        self.sections.iter().filter(on).map(|s| u64::from(s.used)).sum::<u64>() * PAGE
    }

    /// Bytes of page descriptors that exist.
    pub fn descriptor_bytes(&self) -> u64 {
        let online = self.sections.iter().filter(|s| s.online).count() as u64;
        online * self.spec.descriptor_pages() * PAGE
    }

    /// Bytes written to the most written section of persistent memory.
    pub fn most_worn(&self) -> u64 {
        let sections = self.sections.iter().map(|s| s.written).max().unwrap_or(0);
        sections.max(self.swap.as_ref().map_or(0, Swap::most_worn))
    }

    /// Whether there is persistent memory, known to the allocator or not.
    pub fn has_pm(&self) -> bool {
        self.spec.device_sections > 0 || self.gives_pm() || self.swap.as_ref().is_some_and(Swap::is_pm)
    }

    /// Whether the allocator gives persistent memory to programs, or may.
    pub fn gives_pm(&self) -> bool {
        self.spec.zones.iter().any(|zone| zone.medium == Medium::Pm)
    }

    /// Whether there is a swap device.
    pub fn has_swap(&self) -> bool {
        self.swap.is_some()
    }

    /// Bytes on the swap device now, and at most so far.
    pub fn swap_bytes(&self) -> (u64, u64) {
        self.swap.as_ref().map_or((0, 0), |s| (s.used() * PAGE, s.most * PAGE))
    }

    /// Free slots of the swap device, where there is one.
    pub fn free_slots(&self) -> Option<u64> {
        self.swap.as_ref().map(Swap::free)
    }

    /// Slots of the swap device in use, over time.
    pub fn slots(&self) -> Option<&Level> {
        self.swap.as_ref().map(|s| &s.slots)
    }

    /// Nobody asks how much was in use before `now` any more.
    pub fn pass(&mut self, now: Time) {
        self.usage.pass(now);
        self.swap.iter_mut().for_each(|s| s.slots.pass(now));
    }

    /// Pages read from and written to the swap device.
    pub fn swap_traffic(&self) -> (u64, u64) {
        self.swap.as_ref().map_or((0, 0), |s| (s.read, s.written))
    }

    /// What it was built from.
    pub fn spec(&self) -> &MemorySpec {
        &self.spec
    }
}
