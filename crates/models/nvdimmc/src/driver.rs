//! The host's driver: which page is in which slot, what goes when one is wanted, and the order of steps that keeps the
//! processor's caches and the device from seeing each other's past.

use crate::command::{CpCommand, Opcode};
use crate::mutant::Mutant;
use memory::replacement::{Order, Replacement};
use std::hash::{Hash, Hasher};

const NONE: u32 = u32::MAX;

/// A driver's parameters.
#[derive(Clone, Copy, Debug)]
pub struct DriverSpec {
    /// Slots of one page in the DRAM.
    pub slots: u32,
    /// The first page of the DRAM that is a slot: behind the CP area and the metadata.
    pub first_slot: u32,
    /// Pages of the device.
    pub pages: u32,
    /// What goes when no slot is free.
    pub replacement: Replacement,
    /// Commands under way at once; 1 as published.
    pub queue_depth: usize,
    /// Writes a page back and fills its slot with the next one in one command; not in the published driver.
    pub merges: bool,
    /// The hypothetical device of §VII-D: nothing is moved, each fault waits instead.
    pub waits_instead: bool,
    /// Fault when off: the device reads a slot whose newest bytes are in the processor's caches.
    pub flush_before_writeback: bool,
    /// Fault when off: the processor goes on with lines of the page that was in the slot before.
    pub invalidate_after_cachefill: bool,
}

impl DriverSpec {
    /// The first page behind the CP area and the metadata of `slots` slots.
    pub fn first_slot(slots: u32) -> u32 {
        1 + slots.div_ceil(SLOTS_PER_PAGE)
    }

    /// Whether the numbers fit together and into a DRAM of `dram_pages` pages.
    ///
    /// # Errors
    /// Which key is impossible, and its bound.
    pub fn check(&self, dram_pages: u64) -> Result<(), String> {
        let first = DriverSpec::first_slot(self.slots);
        if self.slots == 0 || u64::from(self.first_slot) + u64::from(self.slots) > dram_pages {
            return Err(format!(
                "slots = {}: a DRAM of {dram_pages} pages has room for 1 to {}",
                self.slots,
                dram_pages.saturating_sub(self.first_slot.into())
            ));
        }
        if self.first_slot < first {
            return Err(format!(
                "first_slot = {}: the CP area and the metadata need {first} pages",
                self.first_slot
            ));
        }
        if self.pages == 0 || self.pages == NONE {
            return Err(format!("pages = {}: accepted are 1 to {}", self.pages, NONE - 1));
        }
        Ok(())
    }
}

/// Slots that a page of metadata describes.
pub const SLOTS_PER_PAGE: u32 = 512;

/// The number of a fault under way.
pub type FaultId = usize;

/// What comes of a page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The page is mapped by now.
    Mapped,
    /// [`Driver::next`] leads through it.
    Fault(FaultId),
    /// Another fault moves this page, or every slot: try again.
    Busy,
}

/// What the host has to do next, so that a page is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nobody may reach the victim any more: remove its mapping on every core, and wait until their stores are done.
    Unmap {
        /// The victim.
        page: u32,
    },
    /// Write the slot's lines back from the processor's caches (clflush each line, sfence).
    Flush {
        /// Page of the DRAM.
        slot: u32,
    },
    /// Put the command into its place of the CP area, flush it, and wait for its acknowledgement.
    Post {
        /// Place in the CP area.
        place: usize,
        /// What the device shall do.
        command: CpCommand,
    },
    /// Every place of the CP area is taken: ask again later.
    Wait,
    /// The page was never written: fill the slot with zeros, past the caches.
    Zero {
        /// Page of the DRAM.
        slot: u32,
    },
    /// Forget the slot's lines in the processor's caches.
    Invalidate {
        /// Page of the DRAM.
        slot: u32,
    },
    /// Write this word of metadata: which page a slot holds from now on.
    Note {
        /// The slot, counted from the first.
        index: u32,
        /// See [`metadata`].
        word: u64,
    },
    /// Wait as long as the hypothetical device is said to take.
    Delay,
    /// Map the page: the access that faulted is made, and needs no other look.
    Mapped {
        /// Page of the DRAM.
        slot: u32,
    },
    /// The device could not do it: the access that faulted gets an I/O error.
    Failed,
}

/// The word of metadata for a slot with a page in it: bit 63 for valid, the page below. The device reads it when the
/// power fails.
pub fn metadata(page: Option<u32>) -> u64 {
    page.map_or(0, |page| 1 << 63 | u64::from(page))
}

/// Hits, misses, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverCounts {
    /// Accesses to pages that were mapped.
    pub hits: u64,
    /// Page faults.
    pub misses: u64,
    /// Pages read from the device.
    pub cachefills: u64,
    /// Pages written to the device.
    pub writebacks: u64,
    /// Faults that ended with an I/O error.
    pub failed: u64,
}

/// Where a fault stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Unmap,
    Flush,
    Writeback,
    /// The writeback has been acknowledged.
    WrittenBack,
    Fill,
    Invalidate,
    Note,
    Map,
    Fail,
}

#[derive(Clone, Copy, Debug, Hash)]
struct Fault {
    page: u32,
    write: bool,
    index: u32,
    victim: Option<u32>,
    stage: Stage,
    /// Its place in the CP area, with a command in it.
    place: Option<usize>,
    /// It fails, and its victim is no longer in the slot.
    gone: bool,
}

/// A place of the CP area.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct CpPlace {
    taken: bool,
    phase: bool,
}

/// The driver's state. It does nothing itself: it says what is next.
#[derive(Clone, Debug)]
pub struct Driver {
    spec: DriverSpec,
    /// For each page its slot, and the other way round; slots counted from the first.
    slot_of: Vec<u32>,
    page_in: Vec<u32>,
    dirty: Vec<bool>,
    /// Pages that the device has data of.
    written: Vec<bool>,
    free: Vec<u32>,
    order: Order,
    places: Vec<CpPlace>,
    faults: Vec<Option<Fault>>,
    counts: DriverCounts,
    /// A seeded mistake; none in every machine.
    mutant: Option<Mutant>,
}

/// What decides about the future, without counts.
impl Hash for Driver {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Driver {
            spec: _,
            slot_of,
            page_in,
            dirty,
            written,
            free,
            order,
            places,
            faults,
            counts: _,
            mutant: _,
        } = self;
        (slot_of, page_in, dirty, written, free, order, places, faults).hash(into);
    }
}

impl Driver {
    /// Nothing mapped; no page was ever written.
    ///
    /// # Errors
    /// See [`DriverSpec::check`].
    pub fn new(spec: DriverSpec, dram_pages: u64) -> Result<Driver, String> {
        Driver::seeded(spec, dram_pages, None)
    }

    /// The same with a mistake, for the explorer.
    ///
    /// # Errors
    /// See [`DriverSpec::check`].
    pub fn seeded(spec: DriverSpec, dram_pages: u64, mutant: Option<Mutant>) -> Result<Driver, String> {
        spec.check(dram_pages)?;
        Ok(Driver {
            slot_of: vec![NONE; spec.pages as usize],
            page_in: vec![NONE; spec.slots as usize],
            dirty: vec![false; spec.slots as usize],
            written: vec![false; spec.pages as usize],
            free: (0..spec.slots).rev().collect(),
            order: Order::new(spec.replacement, spec.slots),
            places: vec![CpPlace::default(); spec.queue_depth],
            faults: Vec::new(),
            counts: DriverCounts::default(),
            mutant,
            spec,
        })
    }

    /// The device has data of `page` before the machine starts.
    pub fn preloaded(&mut self, page: u32) {
        if let Some(written) = self.written.get_mut(page as usize) {
            *written = true;
        }
    }

    /// Its parameters.
    pub fn spec(&self) -> &DriverSpec {
        &self.spec
    }

    /// Hits, misses, and what they cost.
    pub fn counts(&self) -> DriverCounts {
        self.counts
    }

    /// Where a page is in the DRAM. Counts nothing.
    pub fn place_of(&self, page: u32) -> Option<u32> {
        let index = self.slot_of[page as usize];
        (index != NONE).then(|| self.spec.first_slot + index)
    }

    /// The page in a slot, for whoever looks from outside.
    pub fn page_at(&self, slot: u32) -> Option<u32> {
        let page = *self.page_in.get(slot.checked_sub(self.spec.first_slot)? as usize)?;
        (page != NONE).then_some(page)
    }

    /// An access to a page: its place in the DRAM when it is mapped. Cost: two loads, and what the replacement keeps.
    #[inline]
    pub fn access(&mut self, page: u32, write: bool) -> Option<u32> {
        let index = self.slot_of[page as usize];
        if index == NONE {
            return None;
        }
        self.counts.hits += 1;
        self.order.touch(index);
        self.dirty[index as usize] |= write;
        Some(self.spec.first_slot + index)
    }

    /// A fault on a page that was not mapped.
    pub fn begin(&mut self, page: u32, write: bool) -> Begin {
        if self.slot_of[page as usize] != NONE {
            return Begin::Mapped;
        }
        let moves = |f: &Fault| f.page == page || f.victim == Some(page);
        if self.faults.iter().flatten().any(moves) {
            return Begin::Busy;
        }
        let (index, victim, stage) = match self.free.pop() {
            Some(index) => (index, None, Stage::Fill),
            None => {
                let Some(index) = self.order.victim() else { return Begin::Busy };
                (index, Some(self.page_in[index as usize]), Stage::Unmap)
            }
        };
        self.counts.misses += 1;
        let fault = Fault { page, write, index, victim, stage, place: None, gone: false };
        let id = self.faults.iter().position(Option::is_none).unwrap_or_else(|| {
            self.faults.push(None);
            self.faults.len() - 1
        });
        self.faults[id] = Some(fault);
        Begin::Fault(id)
    }

    /// The last command of a fault was answered with an error; an exchange may have written the victim back before.
    pub fn failed(&mut self, id: FaultId, written_back: bool) {
        let Some(fault) = &mut self.faults[id] else { return };
        fault.stage = Stage::Fail;
        fault.gone = written_back;
    }

    /// The next step of a fault, the one before being done; none when it has ended.
    pub fn next(&mut self, id: FaultId) -> Option<Step> {
        loop {
            let mut fault = self.faults.get(id).copied().flatten()?;
            let step = self.step(&mut fault);
            let ended = matches!(step, Some(Step::Mapped { .. } | Step::Failed));
            self.faults[id] = (!ended).then_some(fault);
            if step.is_some() {
                return step;
            }
        }
    }

    fn step(&mut self, fault: &mut Fault) -> Option<Step> {
        let Fault { page, index, victim, .. } = *fault;
        let slot = self.spec.first_slot + index;
        let (step, after) = match (fault.stage, victim) {
            (Stage::Unmap, Some(victim)) => {
                self.slot_of[victim as usize] = NONE;
                let clean = !self.dirty[index as usize] || self.spec.waits_instead;
                (Some(Step::Unmap { page: victim }), if clean { Stage::WrittenBack } else { Stage::Flush })
            }
            (Stage::Flush, _) => {
                (self.spec.flush_before_writeback.then_some(Step::Flush { slot }), Stage::Writeback)
            }
            (Stage::Writeback, Some(victim)) => {
                let (opcode, after) = match self.spec.merges {
                    true => (Opcode::Exchange { next: page }, Stage::Invalidate),
                    false => (Opcode::Writeback, Stage::WrittenBack),
                };
                let Some(post) = self.post(fault, opcode, victim) else { return Some(Step::Wait) };
                self.written[victim as usize] = true;
                self.counts.writebacks += 1;
                self.counts.cachefills += u64::from(self.spec.merges);
                (Some(post), after)
            }
            (Stage::WrittenBack, _) => {
                self.release(fault);
                self.page_in[index as usize] = NONE;
                // Before the slot changes: a dump must not take the new bytes for the old page.
                let note = Step::Note { index, word: metadata(None) };
                let notes = !self.spec.waits_instead && self.mutant != Some(Mutant::KeepsMetadata);
                (notes.then_some(note), Stage::Fill)
            }
            (Stage::Fill, _) if self.spec.waits_instead => (Some(Step::Delay), Stage::Map),
            // While slots are free a new page needs nothing; later the driver does not tell new pages from others
            // (§VII-B1: every 4 KB takes a pair).
            (Stage::Fill, victim) if self.written[page as usize] || victim.is_some() => {
                let Some(post) = self.post(fault, Opcode::Cachefill, page) else { return Some(Step::Wait) };
                self.counts.cachefills += 1;
                (Some(post), Stage::Invalidate)
            }
            (Stage::Fill, _) => (Some(Step::Zero { slot }), Stage::Note),
            (Stage::Invalidate, _) => {
                // After an exchange not before the metadata tells the new page: until then the device remembers what
                // it wrote back, for a dump.
                if !self.spec.merges {
                    self.release(fault);
                }
                let invalidates = self.spec.invalidate_after_cachefill;
                (invalidates.then_some(Step::Invalidate { slot }), Stage::Note)
            }
            (Stage::Note, _) => (Some(Step::Note { index, word: metadata(Some(page)) }), Stage::Map),
            (Stage::Map, _) => {
                self.release(fault);
                self.map(fault);
                (Some(Step::Mapped { slot }), Stage::Map)
            }
            (Stage::Fail, _) if fault.gone => {
                fault.gone = false;
                self.page_in[index as usize] = NONE;
                (Some(Step::Note { index, word: metadata(None) }), Stage::Fail)
            }
            (Stage::Fail, _) => (Some(self.give_up(fault)), Stage::Fail),
            (Stage::Unmap | Stage::Writeback, None) => (None, Stage::Fill),
        };
        fault.stage = after;
        step
    }

    /// After an error: a victim that could not be written keeps its slot; a page that could not be read has none.
    fn give_up(&mut self, fault: &mut Fault) -> Step {
        self.release(fault);
        self.counts.failed += 1;
        let index = fault.index;
        match fault.victim.filter(|victim| self.page_in[index as usize] == *victim) {
            Some(victim) => {
                self.slot_of[victim as usize] = index;
                self.order.cached(index);
            }
            None => self.free.push(index),
        }
        Step::Failed
    }

    fn map(&mut self, fault: &Fault) {
        let Fault { page, write, index, .. } = *fault;
        self.slot_of[page as usize] = index;
        self.page_in[index as usize] = page;
        // Zeros that the device does not have are as good as written.
        self.dirty[index as usize] = write || !self.written[page as usize];
        self.order.cached(index);
    }

    /// A command in a place of its own; none when all are taken.
    fn post(&mut self, fault: &mut Fault, opcode: Opcode, page: u32) -> Option<Step> {
        let place = self.places.iter().position(|p| !p.taken)?;
        let at = &mut self.places[place];
        (at.taken, at.phase) = (true, !at.phase);
        fault.place = Some(place);
        let slot = self.spec.first_slot + fault.index;
        Some(Step::Post { place, command: CpCommand { phase: at.phase, opcode, slot, page } })
    }

    fn release(&mut self, fault: &mut Fault) {
        if let Some(place) = fault.place.take() {
            self.places[place].taken = false;
        }
    }
}
