//! What stands between a program and its core: the page table of the device's file, and page faults that run the driver
//! on the faulting core, with its own loads, stores and flushes.
//!
//! A program's addresses of persistent memory are offsets into the device; the core sees the slot in the DRAM. Each core
//! keeps a number of translations; an access without one asks the driver, and an access to a page that is in no slot is
//! a fault.
//!
//! A page that is mapped costs a core without its translation a walk of the page table, and nothing else. One that was not
//! touched since the program mapped the file, or has left its slot since, is a page fault: to the kernel and back without
//! a lock, then mapping it under the driver's.
//!
//! Cores of a machine share the driver's tables on the host: the machine therefore runs every action in order of time,
//! none past the next event of anybody.

use crate::driver::Driver;
use crate::faults::{self, Why};
use crate::firmware::{PAGE_LINES, PAGE_SIZE};
use crate::stats::DriverStats;
use kernel::{Caller, CoreState, Kernel, Port, Step, Translations};
use protocol::{AddressMap, Cpu, Image, Op, OpKind, PM_BASE, StatSink};
use std::cell::RefCell;
use std::rc::Rc;
use units::{Dur, Random};

/// Times and sizes of the host's side.
#[derive(Clone, Copy, Debug)]
pub struct SharedDriverSpec {
    /// Cores.
    pub cores: usize,
    /// Pages of the device.
    pub pages: u32,
    /// Translations that a core keeps.
    pub translations: usize,
    /// A walk of the page table.
    pub walk: Dur,
    /// From a fault to the kernel, and back.
    pub fault: Dur,
    /// The driver's time to map a page that is in a slot, the mapping lock held.
    pub map: Dur,
    /// What the lock costs more when another core hands it over.
    pub handoff: Dur,
    /// The driver's time to find a slot for a page.
    pub replace: Dur,
    /// From one look at an acknowledgement, or at something else that is taken, to the next.
    pub poll: Dur,
    /// What a fault waits on the hypothetical device.
    pub delay: Dur,
    /// Every page has a place of its own in the DRAM: the hypothetical device, which moves nothing.
    pub identity: bool,
    /// Which addresses of programs are the device's, and its place among the machine's memories.
    pub addresses: AddressMap,
    /// See there.
    pub index: usize,
}

/// What the cores share.
pub(crate) struct Shared {
    pub(crate) spec: SharedDriverSpec,
    /// None where the device is DRAM alone.
    pub(crate) driver: Option<Driver>,
    /// Pages that the page table has, by number.
    mapped: Vec<bool>,
    pub(crate) cores: Vec<CoreState>,
    error: Option<String>,
    pub(crate) io_errors: Vec<IoError>,
    last_lines: Vec<u64>,
    visits: u64,
    lines: u64,
    first_touches: u64,
    varies: Random,
}

/// A core's I/O errors.
#[derive(Clone, Copy, Default)]
pub(crate) struct IoError {
    /// The fault that the core was in has failed.
    pub(crate) failed: bool,
    /// The program looks for them, and there was one since it did.
    catches: bool,
    caught: bool,
}

impl Kernel for Shared {
    fn cores(&mut self) -> &mut [CoreState] {
        &mut self.cores
    }

    fn error(&mut self) -> &mut Option<String> {
        &mut self.error
    }

    fn before(&mut self, caller: &Caller<Shared>, op: &Op) -> Step {
        if std::mem::take(&mut self.io_errors[caller.core].failed) {
            return self.failed(caller.core, op);
        }
        let has_address = !matches!(op.kind, OpKind::Compute | OpKind::Await | OpKind::Fence(_));
        if !has_address || !self.spec.addresses.is_of(self.spec.index, op.address) {
            return Step::Issue(op.address);
        }
        let (page, why) = match self.translate(caller.core, op) {
            Place::At(address) => return Step::Issue(address),
            Place::Without(page, why) => (page, why),
            Place::Beyond(error) => return Step::Fail(error),
        };
        let write = !matches!(op.kind, OpKind::Load | OpKind::Prefetch);
        Step::Enter(faults::fault(caller.enter(), faults::Fault { page, write, why }))
    }

    fn maps_anew(&mut self) {
        self.mapped.fill(false);
        let room = self.spec.translations;
        self.cores.iter_mut().for_each(|core| core.translations = Translations::new(room));
    }

    fn catches_io_errors(&mut self, core: usize) {
        self.io_errors[core].catches = true;
    }

    fn take_io_error(&mut self, core: usize) -> bool {
        std::mem::take(&mut self.io_errors[core].caught)
    }
}

/// The driver with its page tables, as a machine's cores share it.
#[derive(Clone)]
pub struct SharedDriver(Rc<RefCell<Shared>>);

impl SharedDriver {
    /// Over `driver`, where there is one, with nothing mapped.
    pub fn new(spec: SharedDriverSpec, driver: Option<Driver>) -> SharedDriver {
        SharedDriver(Rc::new(RefCell::new(Shared {
            cores: vec![CoreState::new(spec.translations); spec.cores],
            io_errors: vec![IoError::default(); spec.cores],
            last_lines: vec![0; spec.cores],
            error: None,
            visits: 0,
            lines: 0,
            first_touches: 0,
            varies: Random::new(0, 1),
            mapped: vec![false; spec.pages as usize],
            driver,
            spec,
        })))
    }

    /// The handle for a program on core `core`, whose own handle is `cpu`.
    pub fn cpu(&self, core: usize, cpu: &Cpu) -> Cpu {
        Port::cpu(cpu, core, &self.0)
    }

    /// The device has data of the page at `address` before the machine starts.
    pub fn preloaded(&self, address: u64) {
        let mut shared = self.0.borrow_mut();
        let page = shared.spec.addresses.own_page(shared.spec.index, (address - PM_BASE) / PAGE_SIZE as u64);
        if let (Ok(page), Some(driver)) = (u32::try_from(page), &mut shared.driver) {
            driver.preloaded(page);
        }
    }

    /// A program has ended, its stores being done: nobody needs to ask its core.
    pub fn leave(&self, core: usize) {
        self.0.borrow_mut().cores[core].leave();
    }

    /// Whether [`SharedDriver::error`] has something to tell.
    pub fn has_failed(&self) -> bool {
        self.0.borrow().error.is_some()
    }

    /// What ended a program: an access beyond the device, or an I/O error.
    pub fn error(&self) -> Option<String> {
        self.0.borrow().error.clone()
    }

    /// The device's pages as loads see them: `nand` as it is, and over it what the slots hold in `dram`.
    pub fn seen_through_slots(&self, nand: Image, dram: &Image) -> Image {
        let shared = self.0.borrow();
        let Some(driver) = shared.driver.as_ref().filter(|_| !shared.spec.identity) else {
            return dram.clone();
        };
        let (mut seen, spec) = (nand, *driver.spec());
        for slot in spec.first_slot..spec.first_slot + spec.slots {
            if let Some(page) = driver.page_at(slot) {
                seen.put_page(page_address(page), dram.page(shared.slot_address(slot)));
            }
        }
        seen
    }

    /// Hands up what the driver counted.
    pub fn stats(&self, sink: &mut dyn StatSink) {
        let shared = self.0.borrow();
        let counts = shared.driver.as_ref().map(Driver::counts);
        let driver = DriverStats {
            page_visits: shared.visits,
            line_visits: shared.lines,
            faults: counts.map(|c| c.misses),
            first_touches: shared.first_touches,
            io_errors: counts.map(|c| c.failed),
        };
        driver.hand_up(sink);
    }
}

/// The first address of a page of the device, as its image has it.
pub(crate) fn page_address(page: u32) -> u64 {
    PM_BASE + u64::from(page) * PAGE_SIZE as u64
}

/// No line of programs.
const NOWHERE: u64 = u64::MAX;

/// Where an access goes.
enum Place {
    At(u64),
    /// This core has no translation of the page.
    Without(u32, Why),
    Beyond(String),
}

impl Shared {
    /// The first address of a page of the DRAM.
    pub(crate) fn slot_address(&self, slot: u32) -> u64 {
        self.spec.addresses.base(self.spec.index) + u64::from(slot) * PAGE_SIZE as u64
    }

    fn translate(&mut self, core: usize, op: &Op) -> Place {
        let offset = op.address - PM_BASE;
        let page = self.spec.addresses.own_page(self.spec.index, offset / PAGE_SIZE as u64);
        let pages = self.spec.pages;
        if page >= pages.into() {
            let mib = u64::from(pages) * PAGE_SIZE as u64 / (1 << 20);
            return Place::Beyond(format!(
                "core {core} accesses byte {offset} of a device of {mib} MiB (nvdimm.capacity_mib)"
            ));
        }
        let page = page as u32;
        let Some(slot) = self.cores[core].translations.find(page) else {
            return Place::Without(page, self.why(page));
        };
        if let Some(driver) = &mut self.driver {
            driver.access(page, op.kind.writes());
        }
        if op.kind != OpKind::Prefetch {
            self.count_visit(core, op.address / 64);
        }
        let place = if self.spec.identity { page } else { slot };
        Place::At(self.slot_address(place) + offset % PAGE_SIZE as u64)
    }

    /// A core loads or stores a line: what it asks for ahead it comes to later.
    fn count_visit(&mut self, core: usize, line: u64) {
        let last = std::mem::replace(&mut self.last_lines[core], line);
        self.lines += u64::from(line != last);
        self.visits += u64::from(line / PAGE_LINES != last / PAGE_LINES);
    }

    /// The access `op` of a core has failed: the program is told, or the machine ends. It was a visit, and found no page.
    fn failed(&mut self, core: usize, op: &Op) -> Step {
        (self.lines, self.visits) = (self.lines + 1, self.visits + 1);
        self.last_lines[core] = NOWHERE;
        let io_error = &mut self.io_errors[core];
        io_error.caught = io_error.catches;
        if io_error.catches {
            return Step::Done;
        }
        let at = op.address.saturating_sub(PM_BASE);
        Step::Fail(format!("I/O error: core {core} cannot reach byte {at} of the device"))
    }

    /// What a fault takes this time: half to one and a half times, as a kernel's path varies; or a program whose every access
    /// is a fault would fall into step with the refresh.
    pub(crate) fn fault_time(&mut self) -> Dur {
        let ps = self.spec.fault.as_ps();
        Dur::ps(ps / 2 + self.varies.below(ps + 1))
    }

    /// Where a page is; none when it is in no slot.
    fn place_of(&self, page: u32) -> Option<u32> {
        self.driver.as_ref().map_or(Some(page), |driver| driver.place_of(page))
    }

    /// Why a core has no translation of a page.
    fn why(&self, page: u32) -> Why {
        match self.place_of(page) {
            None => Why::Missing,
            Some(_) if self.mapped[page as usize] => Why::Walk,
            Some(_) => Why::FirstTouch,
        }
    }

    /// Puts a page into the page table, and gives a core its translation, if it is in a slot.
    pub(crate) fn map(&mut self, core: usize, page: u32) {
        if let Some(slot) = self.place_of(page) {
            self.first_touches += u64::from(!std::mem::replace(&mut self.mapped[page as usize], true));
            self.cores[core].translations.keep(page, slot);
        }
    }

    /// Takes a page out of the page table; who has its translation is told afterwards.
    pub(crate) fn unmap(&mut self, page: u32) {
        self.mapped[page as usize] = false;
    }
}
