//! Where programs, driver, caches, DRAM, firmware and NAND stand.

use super::HandshakeSpace;
use crate::bus::{Bus, BusSpec, Master, Move, Window, Work};
use crate::command::{Acknowledgement, CpCommand, cp_line};
use crate::driver::{Begin, Driver, DriverSpec, FaultId, Step as Next};
use crate::firmware::{Dram, Firmware, FirmwareSpec, PAGE_LINES, PAGE_SIZE};
use crate::mutant::Mutant;
use memory::Replacement;
use memory::ddr4::{Command, Kind};
use memory::nand::{Array, Collection, Errors, Ftl, FtlSpec, Geometry, MediaSpec, Timed};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use units::{Dur, Time};

/// The DRAM: the lines that are not zero. Programs use the first line of a page alone.
#[derive(Clone, Debug, Default, Hash)]
struct Lines(BTreeMap<u64, [u8; 64]>);

impl Lines {
    fn word(&self, line: u64, word: usize) -> u64 {
        self.0.get(&line).map_or(0, |block| u64::from_le_bytes(block.as_chunks::<8>().0[word]))
    }

    fn set_word(&mut self, line: u64, word: usize, value: u64) {
        let mut block = self.0.get(&line).copied().unwrap_or([0; 64]);
        block[word * 8..word * 8 + 8].copy_from_slice(&value.to_le_bytes());
        self.write(line, &block);
    }

    /// The byte that a slot's page holds.
    fn page(&self, slot: u32) -> u8 {
        self.0.get(&(u64::from(slot) * PAGE_LINES)).map_or(0, |block| block[0])
    }

    fn set_page(&mut self, slot: u32, value: u8) {
        self.write(u64::from(slot) * PAGE_LINES, &[value; 64]);
    }
}

impl Dram for Lines {
    fn read(&mut self, line: u64, bytes: &mut [u8]) {
        bytes.fill(0);
        let last = line + bytes.len() as u64 / 64;
        for (at, block) in self.0.range(line..last) {
            bytes[(at - line) as usize * 64..][..64].copy_from_slice(block);
        }
    }

    fn write(&mut self, line: u64, bytes: &[u8]) {
        for (at, block) in (line..).zip(bytes.as_chunks::<64>().0) {
            if block.iter().all(|b| *b == 0) {
                self.0.remove(&at);
            } else {
                self.0.insert(at, *block);
            }
        }
    }
}

/// The device, and how late it is. Only what is done by now counts of its times.
#[derive(Clone)]
struct Device {
    firmware: Firmware,
    now: Time,
}

impl Hash for Device {
    fn hash<H: Hasher>(&self, into: &mut H) {
        let Device { firmware, now } = self;
        firmware.tell(*now, into);
    }
}

/// A core in a fault.
#[derive(Clone, Copy, Debug, Hash)]
struct Faulting {
    id: FaultId,
    page: u32,
    write: bool,
    /// The command that it waits for.
    posted: Option<(usize, CpCommand)>,
}

/// Where everything stands.
#[derive(Clone, Hash)]
pub struct State {
    driver: Driver,
    device: Device,
    dram: Lines,
    /// Lines of slots in the caches: what they hold, and whether the DRAM has something older.
    caches: BTreeMap<u32, (u8, bool)>,
    cores: Vec<Option<Faulting>>,
    /// What each page was last written with, and what of that has left the caches.
    truth: Vec<u8>,
    persistent: Vec<u8>,
    done: u8,
    mutant: Option<Mutant>,
    wrong: Option<String>,
}

/// How long the NAND takes, and what a window that comes late waits: more than that.
const NAND: Dur = Dur::ns(1000);
const LATE: Dur = Dur::ns(1_000_000);
/// The refresh that opens each window, to the checker of the bus.
const REFRESH: Command = Command { clock: 10_000, kind: Kind::Refresh, rank: 0, bank: 0, row: 0 };
/// Lines that the device takes when it does not look at its window's end.
const TOO_MANY: u64 = 256;

impl State {
    pub(super) fn new(space: &HandshakeSpace) -> State {
        let first_slot = DriverSpec::first_slot(space.slots);
        let driver = DriverSpec {
            slots: space.slots,
            first_slot,
            pages: space.pages,
            replacement: Replacement::Lrc,
            queue_depth: space.queue_depth,
            merges: space.merges,
            waits_instead: false,
            flush_before_writeback: space.mutant != Some(Mutant::NoFlush),
            invalidate_after_cachefill: space.mutant != Some(Mutant::NoInvalidate),
        };
        let dram_pages = u64::from(first_slot + space.slots);
        State {
            driver: Driver::seeded(driver, dram_pages, space.mutant).expect("the bounds fit the DRAM"),
            device: Device { firmware: firmware(space), now: Time::ZERO },
            dram: Lines::default(),
            caches: BTreeMap::new(),
            cores: vec![None; space.cores],
            truth: vec![0; space.pages as usize],
            persistent: vec![0; space.pages as usize],
            done: 0,
            mutant: space.mutant,
            wrong: None,
        }
    }

    pub(super) fn is_idle(&self, core: usize) -> bool {
        self.cores[core].is_none()
    }

    pub(super) fn accesses(&self) -> u8 {
        self.done + self.cores.iter().flatten().count() as u8
    }

    pub(super) fn cached(&self) -> impl Iterator<Item = u32> + '_ {
        self.caches.keys().copied()
    }

    pub(super) fn wrong(&self) -> Option<String> {
        self.wrong.clone()
    }

    /// What of each page has left the caches.
    pub(super) fn persistent(&self) -> &[u8] {
        &self.persistent
    }

    /// Whether a core waits for an acknowledgement.
    pub(super) fn waits(&self, core: usize) -> bool {
        self.cores[core].is_some_and(|fault| fault.posted.is_some())
    }

    /// Whether the acknowledgement that a core waits for is there.
    pub(super) fn sees_acknowledgement(&self, core: usize) -> bool {
        self.cores[core].and_then(|fault| fault.posted).is_some_and(|posted| self.answer(posted).is_some())
    }

    fn answer(&self, (place, command): (usize, CpCommand)) -> Option<Acknowledgement> {
        let word = self.dram.word(cp_line(place) + 1, 0);
        if self.mutant == Some(Mutant::TakesOldAcknowledgement) {
            Acknowledgement::from_word(word)
        } else {
            command.answer(word)
        }
    }

    /// A program's access: at once where its page is mapped.
    pub(super) fn access(&mut self, core: usize, page: u32, write: bool) {
        if let Some(slot) = self.driver.access(page, write) {
            return self.reach(slot, page, write);
        }
        match self.driver.begin(page, write) {
            // Another core moves the page: this one tries again.
            Begin::Busy => {}
            Begin::Mapped => self.found("a page is mapped, and its access is not made".into()),
            Begin::Fault(id) => self.cores[core] = Some(Faulting { id, page, write, posted: None }),
        }
    }

    /// The access is made, in the caches.
    fn reach(&mut self, slot: u32, page: u32, write: bool) {
        let (value, dirty) = self.caches.get(&slot).copied().unwrap_or((self.dram.page(slot), false));
        let wanted = self.truth[page as usize];
        if value != wanted {
            self.found(format!("page {page} reads {value}; {wanted} was written last"));
        }
        self.done += 1;
        self.caches.insert(slot, if write { (self.done, true) } else { (value, dirty) });
        if write {
            self.truth[page as usize] = self.done;
        }
    }

    fn found(&mut self, wrong: String) {
        self.wrong.get_or_insert(wrong);
    }

    /// The caches write a slot's line back and forget it.
    pub(super) fn evict(&mut self, slot: u32) {
        let Some((value, true)) = self.caches.remove(&slot) else { return };
        self.dram.set_page(slot, value);
        // While a slot changes its page nobody has written to it: the victim's bytes are what is written back.
        if let Some(page) = self.truth.iter().position(|v| *v == value) {
            self.persistent[page] = value;
        }
    }

    /// A core in a fault does what the driver says.
    pub(super) fn drive(&mut self, core: usize) {
        let Some(mut fault) = self.cores[core] else { return };
        match self.driver.next(fault.id) {
            // Every core forgets its translation at once; a place of the CP area is asked for again.
            Some(Next::Unmap { .. } | Next::Wait | Next::Delay) => {}
            Some(Next::Flush { slot } | Next::Invalidate { slot }) => self.evict(slot),
            Some(Next::Zero { slot }) => {
                self.caches.remove(&slot);
                self.dram.set_page(slot, 0);
            }
            Some(Next::Note { index, word }) => {
                self.dram.set_word(PAGE_LINES + u64::from(index / 8), (index % 8) as usize, word);
            }
            Some(Next::Post { place, command }) => {
                let [first, second] = command.to_words();
                self.dram.set_word(cp_line(place), 1, second);
                self.dram.set_word(cp_line(place), 0, first);
                fault.posted = Some((place, command));
            }
            Some(Next::Mapped { slot }) => {
                self.cores[core] = None;
                return self.reach(slot, fault.page, fault.write);
            }
            Some(Next::Failed) | None => self.found(format!("core {core}'s fault ends without its page")),
        }
        self.cores[core] = Some(fault);
    }

    /// A core sees its acknowledgement, and goes on.
    pub(super) fn acknowledged(&mut self, core: usize) {
        let posted = self.cores[core].as_mut().and_then(|fault| fault.posted.take());
        let answer = posted.and_then(|posted| self.answer(posted));
        if answer.is_some_and(|a| a.failed) {
            self.found(format!("the device says that core {core}'s command has failed"));
        }
    }

    /// The device owns the bus.
    pub(super) fn window(&mut self, done: bool) {
        if done {
            self.device.now += LATE;
        }
        let moves = self.moves();
        let overruns = if self.mutant == Some(Mutant::Overruns) { TOO_MANY } else { 0 };
        if let Some(wrong) = overrun(moves, overruns, false) {
            self.found(wrong);
        }
    }

    /// What the device does in a window that it takes for its own.
    fn moves(&mut self) -> Vec<Move> {
        let mut work =
            Work::new(Window::after(REFRESH.clock, REFRESH.rank, &BusSpec::POC), &BusSpec::POC.host);
        self.device.firmware.window(self.device.now, &mut self.dram, &mut work);
        work.moves().to_vec()
    }

    /// A window passes before the device sees it: time has passed, and nothing is moved.
    pub(super) fn missed(&mut self) {
        self.device.now += LATE;
        if self.mutant == Some(Mutant::UsesMissed) {
            let moves = self.moves();
            if let Some(wrong) = overrun(moves, 0, true) {
                self.found(wrong);
            }
        }
    }

    /// What each page holds after a power failure and the dump.
    pub(super) fn after_power_failure(&self) -> Vec<u8> {
        let spec = self.driver.spec();
        let mut pages = vec![0; spec.pages as usize];
        let mut firmware = self.device.firmware.clone();
        let mut dram = self.dram.clone();
        firmware.dump(&mut dram, spec.first_slot, spec.slots, u64::MAX);
        let mut data = [0; PAGE_SIZE];
        for (page, value) in (0..).zip(&mut pages) {
            let read = firmware.ftl_mut().read(page, &mut data);
            *value = if read.is_ok() { data[0] } else { 0 };
        }
        pages
    }
}

/// What the checker of the bus says of a window's moves: those that do not fit, or meet the host's. The device may take so
/// many lines more than it planned for, or begin when the window is over.
fn overrun(mut moves: Vec<Move>, overruns: u64, missed: bool) -> Option<String> {
    let spec = BusSpec::POC;
    let window = Window::after(REFRESH.clock, REFRESH.rank, &spec);
    let mut planned = window;
    if overruns > 0 && moves.iter().any(|(_, lines, _)| *lines == PAGE_LINES) {
        moves.push((0, overruns, false));
        planned.closes += spec.host.refi;
    }
    if missed {
        let length = window.closes - window.opens;
        (planned.opens, planned.closes) = (window.closes, window.closes + length);
    }
    let Some(commands) = planned.transfer(&moves, &spec.host) else {
        return Some("a window is too short for what the device does in it".into());
    };
    let mut bus = Bus::new(spec).ok()?;
    bus.take(Master::Host, &REFRESH).ok()?;
    commands.iter().find_map(|c| bus.take(Master::Device, c).err()).map(|c| c.to_string())
}

/// Firmware over a NAND of a few blocks.
fn firmware(space: &HandshakeSpace) -> Firmware {
    let geometry = Geometry { blocks: 8, pages_per_block: 4, page_bytes: PAGE_SIZE as u32 };
    let (collection, host_pages) = (Collection::Greedy, space.pages);
    let ftl = FtlSpec { geometry, host_pages, collection, reserve: 3, level_above: 0 };
    let media = MediaSpec { channels: 1, dies: 1, ..MediaSpec::fixed(NAND) };
    let flash =
        Timed::new(Array::new(geometry, Errors::default(), &[]), media).expect("fixed times are possible");
    let spec = FirmwareSpec {
        decode: Dur::ZERO,
        finish: Dur::ZERO,
        queue_depth: space.queue_depth,
        window_pages: space.window_pages,
        write_buffer: 4,
    };
    let ftl = Ftl::new(ftl, flash, &[]).expect("a few pages fit");
    Firmware::seeded(spec, ftl, space.mutant).expect("the bounds are the firmware's")
}
