use super::*;
use memory::ddr4::{Channel, Command, GroupBits, Kind, Request, Spec};
use memory::nand::{Array, Collection, Errors, Ftl, FtlSpec, Geometry, MediaSpec, Timed};
use std::collections::BTreeMap;
use units::{Dur, Random, Time};

const SLOTS: u32 = 16;
const PAGES: u32 = 300;

/// The DRAM's bytes: the CP area's page, then the slots.
struct Bytes(Vec<u8>);

impl Dram for Bytes {
    fn read(&mut self, line: u64, bytes: &mut [u8]) {
        let at = line as usize * 64;
        bytes.copy_from_slice(&self.0[at..at + bytes.len()]);
    }

    fn write(&mut self, line: u64, bytes: &[u8]) {
        let at = line as usize * 64;
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

fn firmware(queue_depth: usize, window_pages: usize) -> Firmware {
    let geometry = Geometry { blocks: 40, pages_per_block: 16, page_bytes: PAGE_SIZE as u32 };
    let spec =
        FtlSpec { geometry, host_pages: PAGES, collection: Collection::Greedy, reserve: 3, level_above: 0 };
    let array = Array::new(geometry, Errors::default(), &[]);
    let ftl = Ftl::new(spec, Timed::new(array, MediaSpec::fixed(Dur::ns(4500))).unwrap(), &[]).unwrap();
    Firmware::new(firmware_spec(queue_depth, window_pages), ftl).unwrap()
}

fn firmware_spec(queue_depth: usize, window_pages: usize) -> FirmwareSpec {
    FirmwareSpec { decode: Dur::ns(500), finish: Dur::ZERO, queue_depth, window_pages, write_buffer: 16 }
}

/// A host that reads and writes at random, a device that works in its windows, and the checker on both.
struct Machine {
    spec: BusSpec,
    channel: Channel,
    bus: Bus,
    detector: RefreshDetector,
    firmware: Firmware,
    dram: Bytes,
    windows: u64,
    phase: bool,
    random: Random,
}

impl Machine {
    fn new(spec: BusSpec, seed: u64) -> Machine {
        let channel = Channel::new(spec.host).unwrap();
        Machine {
            channel,
            bus: Bus::new(spec).unwrap(),
            detector: RefreshDetector::new(),
            firmware: firmware(1, 1),
            dram: Bytes(vec![0; (SLOTS as usize + 1) * PAGE_SIZE]),
            windows: 0,
            phase: false,
            random: Random::new(seed, 0),
            spec,
        }
    }

    /// Host traffic until the next refresh, then the device's window. Gives when it closes.
    fn next_window(&mut self) -> Result<Time, Collision> {
        loop {
            if self.random.chance(600) {
                let (line, write) = (self.random.below(1 << 20), self.random.chance(300));
                let at = self.channel.next_at();
                _ = self.channel.push(at, Request { line, write, tag: 0 });
            }
            let command = self.channel.issue().expect("it is awake").command;
            self.bus.take(Master::Host, &command)?;
            if self.detector.look(Pins::of(command.kind, command.row)) {
                return self.window(&command);
            }
        }
    }

    fn window(&mut self, refresh: &Command) -> Result<Time, Collision> {
        let window = Window::after(refresh.clock, refresh.rank, &self.spec);
        let clock_ps = self.spec.host.clock_ps;
        let mut work = Work::new(window, &self.spec.host);
        self.firmware.window(Time::from_ps(window.opens * clock_ps), &mut self.dram, &mut work);
        work.commands().iter().try_for_each(|c| self.bus.take(Master::Device, c))?;
        self.windows += 1;
        Ok(Time::from_ps(window.closes * clock_ps))
    }

    fn post(&mut self, opcode: Opcode, slot: u32, page: u32) {
        self.phase = !self.phase;
        self.post_at(0, CpCommand { phase: self.phase, opcode, slot, page });
    }

    fn post_at(&mut self, index: usize, command: CpCommand) {
        let at = cp_line(index) as usize * 64;
        for (n, word) in command.to_words().into_iter().enumerate() {
            self.dram.0[at + n * 8..at + n * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
    }

    fn acknowledged(&self) -> bool {
        let word = u64::from_le_bytes(self.dram.0[64..72].try_into().unwrap());
        word & 1 == 1 && (word >> 63 == 1) == self.phase
    }

    /// Carries out a command; windows that it took.
    fn run(&mut self, opcode: Opcode, slot: u32, page: u32) -> u64 {
        self.post(opcode, slot, page);
        let before = self.windows;
        while !self.acknowledged() {
            self.next_window().unwrap();
        }
        self.windows - before
    }

    fn slot(&mut self, slot: u32) -> &mut [u8] {
        let at = slot as usize * PAGE_SIZE;
        &mut self.dram.0[at..at + PAGE_SIZE]
    }
}

#[test]
fn a_command_takes_three_windows_and_a_dirty_miss_six() {
    let mut m = Machine::new(BusSpec::POC, 1);
    let begins = m.next_window().unwrap();
    assert_eq!(m.run(Opcode::Cachefill, 1, 7), 3);
    let filled = m.next_window().unwrap();
    assert_eq!(m.run(Opcode::Writeback, 1, 7) + m.run(Opcode::Cachefill, 1, 8), 6);
    // NVDIMM-C §V-A: 23.4 us and 46.8 us, three and six times tREFI; a refresh may wait for the rows to close.
    let tolerated = Dur::ns(500);
    assert!(
        filled.since(begins) >= Dur::ns(4 * 7800 - 500)
            && filled.since(begins) <= Dur::ns(4 * 7800) + tolerated
    );
}

#[test]
fn what_is_filled_is_what_was_written_back() {
    for seed in 0..4 {
        let mut m = Machine::new(BusSpec::POC, seed);
        let mut pages: BTreeMap<u32, u8> = BTreeMap::new();
        let mut random = Random::new(seed, 1);
        for n in 0..400u32 {
            let (slot, page) = (1 + random.below(SLOTS.into()) as u32, random.below(PAGES.into()) as u32);
            if random.chance(500) {
                m.slot(slot).fill(n as u8 | 1);
                assert_eq!(m.run(Opcode::Writeback, slot, page), 3);
                pages.insert(page, n as u8 | 1);
            } else {
                m.slot(slot).fill(0xEE);
                assert_eq!(m.run(Opcode::Cachefill, slot, page), 3);
                let wanted = pages.get(&page).copied().unwrap_or(0);
                assert!(m.slot(slot).iter().all(|b| *b == wanted), "page {page}");
            }
        }
        assert_eq!(m.firmware.cachefills + m.firmware.writebacks, 400);
    }
}

fn ends_in(spec: BusSpec, prepare: impl Fn(&mut Machine)) -> Collision {
    let mut m = Machine::new(spec, 3);
    prepare(&mut m);
    for _ in 0..100 {
        if let Err(collision) = m.next_window() {
            return collision;
        }
        if m.acknowledged() {
            m.post(Opcode::Writeback, 1, 1);
        }
    }
    panic!("no collision");
}

#[test]
fn a_late_detector_makes_the_device_meet_the_host() {
    let mut m = Machine::new(BusSpec { detector_late: 300, ..BusSpec::POC }, 3);
    m.post(Opcode::Writeback, 1, 1);
    (0..50).for_each(|_| _ = m.next_window().unwrap());
    let late = BusSpec { detector_late: 500, ..BusSpec::POC };
    let collision = ends_in(late, |m| m.post(Opcode::Writeback, 1, 1));
    assert!(collision.rule.starts_with("device"), "{collision}");
    assert_eq!((collision.earlier.unwrap().0, collision.later.0), (Master::Host, Master::Device));
    assert!(collision.to_string().contains("after Host's Refresh"), "{collision}");
}

#[test]
fn entry_into_self_refresh_opens_no_window() {
    let mut detector = RefreshDetector::new();
    assert!(detector.look(Pins::of(Kind::Refresh, 0)));
    assert!(!detector.look(Pins::of(Kind::SelfRefreshEntry, 0)));
    // And leaving it: CKE rises with the chip deselected, or with a command that has to wait.
    assert!(!detector.look(Pins { cke: false, ..Pins::DESELECT }));
    assert!(!detector.look(Pins::of(Kind::Refresh, 0)), "CKE was low before");
    assert!(detector.look(Pins::of(Kind::Refresh, 0)));
    detector.blind = true;
    assert!(!detector.look(Pins::of(Kind::Refresh, 0)));

    // A detector that does not look at CKE drives the bus of a DRAM that keeps itself.
    let mut wrong = RefreshDetector::new();
    wrong.ignores_cke = true;
    assert!(wrong.look(Pins::of(Kind::SelfRefreshEntry, 0)));
    let window = Window::after(5_000, 0, &BusSpec::POC);
    let commands = window.transfer(&[(0, 1, false)], &BusSpec::POC.host).unwrap();
    let collision = Bus::new(BusSpec::POC).unwrap().take(Master::Device, &commands[0]).unwrap_err();
    assert_eq!(collision.rule, "device command outside its window");
}

#[test]
fn only_refresh_looks_like_refresh() {
    let kinds = [
        Kind::Activate,
        Kind::Read,
        Kind::Write,
        Kind::Precharge,
        Kind::PrechargeAll,
        Kind::Refresh,
        Kind::SelfRefreshEntry,
        Kind::SelfRefreshExit,
    ];
    for kind in kinds {
        for row in (0..8).map(|bits| bits << 14) {
            assert_eq!(RefreshDetector::new().look(Pins::of(kind, row)), kind == Kind::Refresh, "{kind:?}");
        }
    }
    assert!(!RefreshDetector::new().look(Pins::DESELECT));
}

#[test]
fn a_transfer_that_overruns_its_window_is_caught() {
    let spec = BusSpec::POC;
    let refresh = Command { clock: 10_000, kind: Kind::Refresh, rank: 0, bank: 0, row: 0 };
    let window = Window::after(refresh.clock, 0, &spec);
    assert_eq!(window.transfer(&[(0, 200, true)], &spec.host), None, "the planner knows");
    let too_long = Window { closes: window.closes + 2_000, ..window };
    let mut bus = Bus::new(spec).unwrap();
    bus.take(Master::Host, &refresh).unwrap();
    let commands = too_long.transfer(&[(0, 200, true)], &spec.host).unwrap();
    let collision = commands.iter().find_map(|c| bus.take(Master::Device, c).err()).unwrap();
    assert_eq!(collision.rule, "device not done when its window closes");
    assert_eq!(collision.earlier, Some((Master::Host, refresh)));

    // Left open, a row is in the way of the host.
    let mut bus = Bus::new(spec).unwrap();
    bus.take(Master::Host, &refresh).unwrap();
    let open = Command { clock: window.opens, kind: Kind::Activate, row: 3, ..refresh };
    bus.take(Master::Device, &open).unwrap();
    let host = Command { clock: window.closes, kind: Kind::Activate, row: 9, ..refresh };
    let collision = bus.take(Master::Host, &host).unwrap_err();
    assert_eq!(
        (collision.rule, collision.earlier),
        ("row left open by the device", Some((Master::Device, open)))
    );

    // And the host may not come early.
    let mut bus = Bus::new(spec).unwrap();
    bus.take(Master::Host, &refresh).unwrap();
    let early = Command { clock: window.closes - 1, ..host };
    assert_eq!(bus.take(Master::Host, &early).unwrap_err().rule, "host command inside the device's window");
    assert_eq!(bus.take(Master::Host, &host), Ok(()));
}

/// The paper moves 4 KB a window; 8 KB is one row and fits as well.
#[test]
fn a_window_takes_a_row() {
    let spec = BusSpec::POC;
    let window = Window::after(0, 0, &spec);
    let (opens, closes) = (window.opens, window.closes);
    let ends = |lines| {
        window.transfer(&[(0, lines, true)], &spec.host).unwrap().last().unwrap().clock + spec.host.rp
    };
    assert!(ends(64) - opens < (closes - opens) * 6 / 10 && ends(128) <= closes);
}

/// Pages in one row and in several, of one bank and of others, read and written; or lines of the CP area.
#[test]
fn a_window_has_what_fits_and_nothing_that_the_checker_objects_to() {
    let mut random = Random::new(7, 0);
    let mut refused = 0;
    for groups in [GroupBits::Rows, GroupBits::Top] {
        for speed in [Spec::DDR4_1600, Spec::DDR4_2133, Spec::DDR4_2400, Spec::DDR4_2933, Spec::DDR4_3200] {
            let rfc = speed.clocks(Dur::ns(1250));
            let spec = BusSpec { host: Spec { rfc, groups, ..speed }, dram_rfc: speed.rfc, detector_late: 0 };
            let refresh = Command { clock: 10_000, kind: Kind::Refresh, rank: 0, bank: 0, row: 0 };
            for _ in 0..100 {
                let mut work = Work::new(Window::after(refresh.clock, 0, &spec), &spec.host);
                let pages = random.chance(700);
                let moves = (0..24).map(|_| match pages {
                    true => (random.below(100) * PAGE_LINES, PAGE_LINES, random.chance(500)),
                    false => (random.below(PAGE_LINES), 1, random.chance(500)),
                });
                refused += moves.filter(|one| !work.takes(*one)).count();
                let mut bus = Bus::new(spec).unwrap();
                bus.take(Master::Host, &refresh).unwrap();
                let met = work.commands().iter().find_map(|c| bus.take(Master::Device, c).err());
                assert_eq!(met, None, "{:?}", work.moves());
                let host = Command { clock: refresh.clock + rfc, kind: Kind::Activate, ..refresh };
                assert_eq!(bus.take(Master::Host, &host), Ok(()), "{:?}", work.moves());
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn a_page_that_does_not_fit_waits_for_the_next_window() {
    let windows = |second: u32| {
        let mut m = Machine::new(BusSpec::POC, 5);
        m.firmware = firmware(2, 2);
        m.dram = Bytes(vec![0; 40 * PAGE_SIZE]);
        for (index, slot) in [1, second].into_iter().enumerate() {
            let page = index as u32;
            m.post_at(index, CpCommand { phase: true, opcode: Opcode::Cachefill, slot, page });
        }
        while m.firmware.cachefills < 2 {
            m.next_window().unwrap();
        }
        m.windows
    };
    // Slots 32 apart are in rows of one bank: two of them are 5 ns too long for the published window.
    assert_eq!([2, 5, 33].map(windows), [2, 2, 3]);
}

#[test]
fn every_acknowledgement_that_is_due_goes_in_one_window() {
    let mut m = Machine::new(BusSpec::POC, 5);
    m.firmware = firmware(32, 1);
    for index in 0..32 {
        let (slot, page) = (1 + index as u32 % SLOTS, index as u32);
        m.post_at(index, CpCommand { phase: true, opcode: Opcode::Cachefill, slot, page });
    }
    while m.windows == 0 || m.firmware.is_busy() {
        m.next_window().unwrap();
    }
    assert_eq!(m.windows, 1 + 32 + 1);
}

#[test]
fn a_window_that_is_too_short_names_the_key_and_its_bound() {
    let spec = BusSpec { host: Spec { rfc: 300, ..Spec::DDR4_1600 }, ..BusSpec::POC };
    let error = Bus::new(spec).map(|_| ()).unwrap_err();
    assert_eq!(
        error,
        "trfc = 300 clocks: a window in which one burst fits needs at least 331, of which the DRAM takes 280"
    );
}

#[test]
fn commands_survive_their_word() {
    let mut random = Random::new(5, 0);
    for _ in 0..1000 {
        let next = random.next_u64() as u32;
        let opcode =
            [Opcode::Cachefill, Opcode::Writeback, Opcode::Exchange { next }][random.below(3) as usize];
        let (slot, page) = (random.below(1 << 28) as u32, random.next_u64() as u32);
        let command = CpCommand { phase: random.chance(500), opcode, slot, page };
        assert_eq!(CpCommand::from_words(command.to_words()), Some(command));
    }
    assert_eq!(CpCommand::from_words([0, 0]), None);
}

/// The processor's caches, as far as the driver's steps reach: lines, and whether each is newer than the DRAM.
#[derive(Default)]
struct Caches(BTreeMap<u64, ([u8; 64], bool)>);

/// A host that runs the driver on the machine: loads and stores go through its caches.
struct Host {
    machine: Machine,
    driver: Driver,
    caches: Caches,
}

const FIRST_SLOT: u32 = 2;

impl Host {
    fn new(spec: DriverSpec, seed: u64) -> Host {
        let dram_pages = u64::from(SLOTS) + 1;
        let driver = Driver::new(spec, dram_pages).unwrap();
        Host { machine: Machine::new(BusSpec::POC, seed), driver, caches: Caches::default() }
    }

    fn spec(replacement: Replacement) -> DriverSpec {
        DriverSpec {
            slots: SLOTS - 1,
            first_slot: FIRST_SLOT,
            pages: PAGES,
            replacement,
            queue_depth: 1,
            merges: false,
            waits_instead: false,
            flush_before_writeback: true,
            invalidate_after_cachefill: true,
        }
    }

    fn write_back(&mut self, line: u64) {
        if let Some((bytes, true)) = self.caches.0.remove(&line) {
            self.machine.dram.write(line, &bytes);
        }
    }

    fn step(&mut self, step: Step) {
        let lines = |slot: u32| u64::from(slot) * PAGE_LINES..(u64::from(slot) + 1) * PAGE_LINES;
        match step {
            Step::Flush { slot } => lines(slot).for_each(|line| self.write_back(line)),
            Step::Invalidate { slot } => lines(slot).for_each(|line| _ = self.caches.0.remove(&line)),
            Step::Zero { slot } => {
                lines(slot).for_each(|line| self.machine.dram.write(line, &[0; 64]));
            }
            Step::Note { index, word } => {
                let at = PAGE_SIZE + index as usize * 8;
                self.machine.dram.0[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            Step::Post { place: 0, command } => {
                let windows = if matches!(command.opcode, Opcode::Exchange { .. }) { 4 } else { 3 };
                assert_eq!(self.machine.run(command.opcode, command.slot, command.page), windows);
                assert_eq!(self.machine.phase, command.phase);
            }
            Step::Unmap { .. } | Step::Mapped { .. } => {}
            step @ (Step::Post { .. } | Step::Wait | Step::Delay | Step::Failed) => {
                panic!("one fault at a time does not lead to {step:?}")
            }
        }
    }

    fn slot(&mut self, page: u32, write: bool) -> u32 {
        if let Some(slot) = self.driver.access(page, write) {
            return slot;
        }
        let Begin::Fault(fault) = self.driver.begin(page, write) else { panic!("one fault at a time") };
        loop {
            match self.driver.next(fault).expect("a fault ends with a mapping") {
                Step::Mapped { slot } => return slot,
                step @ (Step::Unmap { .. }
                | Step::Flush { .. }
                | Step::Post { .. }
                | Step::Wait
                | Step::Zero { .. }
                | Step::Invalidate { .. }
                | Step::Note { .. }
                | Step::Delay
                | Step::Failed) => self.step(step),
            }
        }
    }

    fn load(&mut self, page: u32, line: u64) -> u8 {
        let line = u64::from(self.slot(page, false)) * PAGE_LINES + line;
        let dram = &mut self.machine.dram;
        self.caches
            .0
            .entry(line)
            .or_insert_with(|| {
                let mut bytes = [0; 64];
                dram.read(line, &mut bytes);
                (bytes, false)
            })
            .0[5]
    }

    fn store(&mut self, page: u32, line: u64, value: u8) {
        self.load(page, line);
        let line = u64::from(self.slot(page, true)) * PAGE_LINES + line;
        self.caches.0.insert(line, ([value; 64], true));
    }

    /// A random program; the first load that is wrong. With `flushes` each store is written back at once.
    fn run(&mut self, random: &mut Random, accesses: u32, flushes: bool) -> Result<Model, String> {
        let mut model = Model::new();
        for n in 0..accesses {
            let (page, line) = (random.below(40) as u32, random.below(PAGE_LINES));
            if random.chance(400) {
                let value = n as u8 | 1;
                self.store(page, line, value);
                model.insert((page, line), value);
                if flushes {
                    let at = u64::from(self.slot(page, true)) * PAGE_LINES + line;
                    self.write_back(at);
                }
            } else {
                let (got, wanted) = (self.load(page, line), model.get(&(page, line)).copied().unwrap_or(0));
                if got != wanted {
                    return Err(format!("page {page}, line {line}: {got}, not {wanted}"));
                }
            }
            // Caches are small.
            while self.caches.0.len() > 300 {
                let at = *self.caches.0.keys().nth(random.below(300) as usize).unwrap();
                self.write_back(at);
            }
        }
        Ok(model)
    }
}

type Model = BTreeMap<(u32, u64), u8>;

#[test]
fn the_processor_reads_what_it_wrote_through_caches_slots_and_nand() {
    for (seed, replacement) in (0..).zip(<Replacement as ::params::Words>::ALL.iter().copied()) {
        let mut host = Host::new(Host::spec(replacement), seed);
        host.run(&mut Random::new(seed, 9), 1_500, false).unwrap();
        let c = host.driver.counts();
        assert!(c.writebacks > 100 && c.cachefills > 100 && c.hits > c.misses / 4, "{c:?}");
    }
}

#[test]
fn without_flush_or_invalidation_stale_data_is_seen() {
    let whole = Host::spec(Replacement::Lrc);
    let faults = [
        DriverSpec { flush_before_writeback: false, ..whole },
        DriverSpec { invalidate_after_cachefill: false, ..whole },
    ];
    for spec in faults {
        assert!(Host::new(spec, 1).run(&mut Random::new(1, 9), 1_500, false).is_err(), "{spec:?}");
    }
}

/// The power fails after some accesses, every store of which was written back to the DRAM.
#[test]
fn a_dump_saves_every_valid_page_as_far_as_the_battery_lasts() {
    for accesses in [3, 40, 200, 700] {
        let mut host = Host::new(Host::spec(Replacement::Lrc), 2);
        let model = host.run(&mut Random::new(2, 9), accesses, true).unwrap();
        let written = |page: u32| {
            model.range((page, 0)..=(page, PAGE_LINES)).map(|(at, v)| (at.1, *v)).collect::<Vec<_>>()
        };
        let Machine { mut firmware, mut dram, .. } = host.machine;
        let none = firmware.dump(&mut dram, FIRST_SLOT, SLOTS - 1, 0);
        assert_eq!(none.saved, 0);
        assert!(!none.lost.is_empty());
        let some = firmware.dump(&mut dram, FIRST_SLOT, SLOTS - 1, 2);
        assert_eq!(
            (some.saved, some.lost.len()),
            (2.min(none.lost.len() as u64), none.lost.len().saturating_sub(2))
        );
        let all = firmware.dump(&mut dram, FIRST_SLOT, SLOTS - 1, 1000);
        assert_eq!((all.saved, all.lost.len()), (none.lost.len() as u64, 0));
        for page in 0..40 {
            let mut data = [0; PAGE_SIZE];
            firmware.ftl_mut().read(page, &mut data).unwrap();
            for (line, value) in written(page) {
                assert_eq!(data[line as usize * 64], value, "page {page}, line {line}");
            }
        }
    }
}

/// Victims of a cache of three slots for one string of pages.
fn misses(replacement: Replacement, pages: &[u32]) -> u64 {
    let spec = DriverSpec { slots: 3, ..Host::spec(replacement) };
    let mut driver = Driver::new(spec, 10).unwrap();
    for page in pages {
        if driver.access(*page, false).is_none() {
            let Begin::Fault(fault) = driver.begin(*page, false) else { panic!("one fault at a time") };
            while driver.next(fault).is_some() {}
        }
    }
    driver.counts().misses
}

#[test]
fn the_rules_of_replacement_differ_as_they_should() {
    // Page 1 is used all the time: LRC lets it go all the same, LRU never, CLOCK not while its bit is set.
    let pages = [1, 2, 3, 1, 4, 1, 5, 1, 6, 1, 7, 1, 8, 1];
    assert_eq!(misses(Replacement::Lrc, &pages), 10);
    assert_eq!(misses(Replacement::Lru, &pages), 8);
    assert_eq!(misses(Replacement::Clock, &pages), 8);
}

#[test]
fn a_driver_that_does_not_fit_names_the_key_and_its_bound() {
    let wrong = |spec: DriverSpec| Driver::new(spec, 17).map(|_| ()).unwrap_err();
    let s = Host::spec(Replacement::Lrc);
    assert_eq!(wrong(DriverSpec { slots: 16, ..s }), "slots = 16: a DRAM of 17 pages has room for 1 to 15");
    assert_eq!(
        wrong(DriverSpec { first_slot: 1, ..s }),
        "first_slot = 1: the CP area and the metadata need 2 pages"
    );
    assert_eq!(wrong(DriverSpec { pages: 0, ..s }), "pages = 0: accepted are 1 to 4294967294");
}

/// The wish list: what a deeper queue, pages of both directions in one command, and 8 KB windows are good for, in
/// windows.
#[test]
fn merged_commands_and_larger_windows_save_windows() {
    let exchange = |window_pages| {
        let mut m = Machine::new(BusSpec::POC, 4);
        m.firmware = firmware(1, window_pages);
        m.slot(1).fill(7);
        assert_eq!(m.run(Opcode::Writeback, 1, 20), 3);
        m.slot(1).fill(9);
        let windows = m.run(Opcode::Exchange { next: 20 }, 1, 30);
        assert!(m.slot(1).iter().all(|b| *b == 7), "the next page is there");
        assert_eq!(m.run(Opcode::Cachefill, 2, 30), 3);
        assert!(m.slot(2).iter().all(|b| *b == 9), "the old one was written back");
        windows
    };
    // Two commands take six. Poll, out, in, acknowledge; both pages go in one window of 8 KB.
    assert_eq!((exchange(1), exchange(2)), (4, 3));

    let fills = |queue_depth: usize, window_pages| {
        let mut m = Machine::new(BusSpec::POC, 5);
        m.firmware = firmware(queue_depth, window_pages);
        let before = m.windows;
        for index in 0..8 {
            let (slot, page) = (1 + index as u32, index as u32);
            if queue_depth == 1 {
                m.run(Opcode::Cachefill, slot, page);
            } else {
                m.post_at(index, CpCommand { phase: true, opcode: Opcode::Cachefill, slot, page });
            }
        }
        while m.firmware.cachefills < 8 {
            m.next_window().unwrap();
        }
        m.windows - before
    };
    assert_eq!((fills(1, 1), fills(8, 1), fills(8, 2)), (24, 9, 5));
}

#[test]
fn an_exchange_that_the_power_interrupts_loses_neither_page() {
    for windows in 0..4 {
        let mut m = Machine::new(BusSpec::POC, 6);
        m.slot(FIRST_SLOT).fill(7);
        m.run(Opcode::Writeback, FIRST_SLOT, 20);
        m.slot(FIRST_SLOT).fill(9);
        m.dram.0[PAGE_SIZE..PAGE_SIZE + 8].copy_from_slice(&metadata(Some(30)).to_le_bytes());
        m.post(Opcode::Exchange { next: 20 }, FIRST_SLOT, 30);
        (0..windows).for_each(|_| _ = m.next_window().unwrap());
        m.firmware.dump(&mut m.dram, FIRST_SLOT, 1, 10);
        let mut data = [0; PAGE_SIZE];
        for (page, wanted) in [(20, 7), (30, 9)] {
            m.firmware.ftl_mut().read(page, &mut data).unwrap();
            assert!(data.iter().all(|b| *b == wanted), "page {page} after {windows} windows");
        }
    }
}

#[test]
fn limits_of_the_firmware_are_told() {
    let wrong = |queue_depth, window_pages| firmware_spec(queue_depth, window_pages).check().unwrap_err();
    assert_eq!(wrong(0, 1), "queue_depth = 0: accepted are 1 to 32");
    assert_eq!(wrong(1, 3), "window_pages = 3: accepted are 1 and 2 (4 and 8 KB)");
}
