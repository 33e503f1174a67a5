//! The host's driver: which page is in which slot, what goes when one is wanted, and the order of steps that keeps the
//! processor's caches and the device from seeing each other's past.

use crate::firmware::{CpCommand, Opcode};
use crate::replacement::{Order, Replacement};

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
    /// Fault when off: the device reads a slot whose newest bytes are in the processor's caches.
    pub flush_before_writeback: bool,
    /// Fault when off: the processor goes on with lines of the page that was in the slot before.
    pub invalidate_after_cachefill: bool,
}

impl DriverSpec {
    /// Whether the numbers fit together and into a DRAM of `dram_pages` pages.
    ///
    /// # Errors
    /// Which key is impossible, and its bound.
    pub fn check(&self, dram_pages: u64) -> Result<(), String> {
        let first = 1 + u64::from(self.slots).div_ceil(u64::from(SLOTS_PER_PAGE));
        if self.slots == 0 || u64::from(self.first_slot) + u64::from(self.slots) > dram_pages {
            return Err(format!(
                "slots = {}: a DRAM of {dram_pages} pages has room for 1 to {}",
                self.slots,
                dram_pages.saturating_sub(self.first_slot.into())
            ));
        }
        if u64::from(self.first_slot) < first {
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

/// What the host has to do next, so that a page is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write the slot's lines back from the processor's caches (clflush each line, sfence).
    Flush {
        /// Page of the DRAM.
        slot: u32,
    },
    /// Put the command into the CP area, flush it, and wait for its acknowledgement.
    Post(CpCommand),
    /// The page was never written: fill the slot with zeros.
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
    /// Map the page: the access that faulted is made, and needs no other look.
    Mapped {
        /// Page of the DRAM.
        slot: u32,
    },
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
}

/// Where the fault under way stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Flush,
    Writeback,
    Forget,
    Fill,
    Invalidate,
    Note,
    Map,
}

/// One fault at a time: the mapping lock (§IV-B).
#[derive(Clone, Copy, Debug)]
struct Fault {
    page: u32,
    write: bool,
    index: u32,
    stage: Stage,
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
    phase: bool,
    fault: Option<Fault>,
    counts: DriverCounts,
}

impl Driver {
    /// Nothing mapped; no page was ever written.
    ///
    /// # Errors
    /// See [`DriverSpec::check`].
    pub fn new(spec: DriverSpec, dram_pages: u64) -> Result<Driver, String> {
        spec.check(dram_pages)?;
        Ok(Driver {
            slot_of: vec![NONE; spec.pages as usize],
            page_in: vec![NONE; spec.slots as usize],
            dirty: vec![false; spec.slots as usize],
            written: vec![false; spec.pages as usize],
            free: (0..spec.slots).rev().collect(),
            order: Order::new(spec.replacement, spec.slots),
            phase: false,
            fault: None,
            counts: DriverCounts::default(),
            spec,
        })
    }

    /// Hits, misses, and what they cost.
    pub fn counts(&self) -> DriverCounts {
        self.counts
    }

    /// An access to a page: its place in the DRAM when it is mapped; otherwise a fault begins, which [`Driver::next`]
    /// leads through. Cost of a hit: two loads, and what the replacement keeps.
    ///
    /// # Panics
    /// When a fault is under way: the mapping lock is taken.
    pub fn access(&mut self, page: u32, write: bool) -> Option<u32> {
        assert!(self.fault.is_none(), "one fault at a time");
        let index = self.slot_of[page as usize];
        if index != NONE {
            self.counts.hits += 1;
            self.order.touch(index);
            self.dirty[index as usize] |= write;
            return Some(self.spec.first_slot + index);
        }
        self.counts.misses += 1;
        let (index, stage) = match self.free.pop() {
            Some(index) => (index, Stage::Fill),
            None => {
                let victim = self.order.victim();
                (victim, if self.dirty[victim as usize] { Stage::Flush } else { Stage::Forget })
            }
        };
        self.fault = Some(Fault { page, write, index, stage });
        None
    }

    /// The next step of the fault under way, the one before being done; none when no fault is.
    #[expect(clippy::should_implement_trait, reason = "a driver is no collection")]
    pub fn next(&mut self) -> Option<Step> {
        loop {
            let Fault { page, write, index, stage } = self.fault?;
            let slot = self.spec.first_slot + index;
            let (step, after) = match stage {
                Stage::Flush => {
                    (self.spec.flush_before_writeback.then_some(Step::Flush { slot }), Stage::Writeback)
                }
                Stage::Writeback => {
                    let victim = self.page_in[index as usize];
                    self.written[victim as usize] = true;
                    self.counts.writebacks += 1;
                    (Some(self.post(Opcode::Writeback, slot, victim)), Stage::Forget)
                }
                Stage::Forget => {
                    let victim = self.page_in[index as usize];
                    self.slot_of[victim as usize] = NONE;
                    self.page_in[index as usize] = NONE;
                    // Before the slot changes: a dump must not take the new bytes for the old page.
                    (Some(Step::Note { index, word: metadata(None) }), Stage::Fill)
                }
                Stage::Fill if self.written[page as usize] => {
                    self.counts.cachefills += 1;
                    (Some(self.post(Opcode::Cachefill, slot, page)), Stage::Invalidate)
                }
                Stage::Fill => (Some(Step::Zero { slot }), Stage::Note),
                Stage::Invalidate => {
                    let invalidates = self.spec.invalidate_after_cachefill;
                    (invalidates.then_some(Step::Invalidate { slot }), Stage::Note)
                }
                Stage::Note => (Some(Step::Note { index, word: metadata(Some(page)) }), Stage::Map),
                Stage::Map => {
                    self.map(page, index, write);
                    return Some(Step::Mapped { slot });
                }
            };
            self.fault = Some(Fault { page, write, index, stage: after });
            if step.is_some() {
                return step;
            }
        }
    }

    fn map(&mut self, page: u32, index: u32, write: bool) {
        self.fault = None;
        self.slot_of[page as usize] = index;
        self.page_in[index as usize] = page;
        // Zeros that the device does not have are as good as written.
        self.dirty[index as usize] = write || !self.written[page as usize];
        self.order.cached(index);
    }

    fn post(&mut self, opcode: Opcode, slot: u32, page: u32) -> Step {
        self.phase = !self.phase;
        Step::Post(CpCommand { phase: self.phase, opcode, slot, page })
    }
}
