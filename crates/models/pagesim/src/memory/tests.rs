use super::*;
use units::{Dur, Random};

use crate::policy::{Hint, Policy};

/// Decides nothing.
struct Plain;
impl Policy for Plain {}

/// Demotes to persistent memory, and promotes whatever is visited.
struct Moves;
impl Policy for Moves {
    fn kswapd_target(&self, zone: &Zone) -> u64 {
        if zone.medium == Medium::Dram { zone.marks.promo } else { zone.marks.high }
    }

    fn victims_go_to(&self, zones: &[Zone], from: usize) -> Option<usize> {
        let to = zones.iter().position(|z| z.medium == Medium::Pm && z.free() > z.marks.high)?;
        (zones[from].medium == Medium::Dram).then_some(to)
    }

    fn on_hint(&mut self, memory: &mut MemoryManager, hint: Hint, now: Time) -> Dur {
        let z = &memory.zones()[0];
        let may = memory.medium(hint.frame) == Medium::Pm && z.free() > z.marks.high;
        may.then(|| memory.promote(hint, 0, now)).flatten().unwrap_or(Dur::ZERO)
    }
}

const COSTS: Costs = Costs {
    fault: Dur::ns(700),
    major: Dur::ns(2000),
    scan: Dur::ns(100),
    unmap: Dur::ns(500),
    free: Dur::ns(60),
    map: Dur::ns(40),
    describe: Dur::ns(20),
};

fn spec(dram: u64, pm: u64, online: bool, swap: u64) -> MemorySpec {
    let swap = (swap > 0).then(|| SwapSpec {
        pages: swap,
        channels: 4,
        read: Dur::ns(90_000),
        write: Dur::ns(20_000),
        page: Dur::ns(2000),
        seeks: false,
        is_pm: false,
    });
    MemorySpec {
        zones: vec![
            ZoneSpec { medium: Medium::Dram, sections: dram, online: true },
            ZoneSpec { medium: Medium::Pm, sections: pm, online },
        ],
        descriptor_bytes: 56,
        descriptors: Descriptors::Dram,
        device_sections: 2,
        reserved: 1024,
        rule: Rule::Before46,
        min_free_kib: 0,
        swap,
        readahead: 8,
        costs: COSTS,
    }
}

/// Runs visits to their end, kswapd with them; gives the time.
fn visit_all(
    m: &mut MemoryManager,
    process: u32,
    first: u64,
    pages: u64,
    now: Time,
) -> Result<Time, FaultError> {
    visit_under(&mut Plain, m, process, first, pages, now)
}

fn visit_under(
    policy: &mut dyn Policy,
    m: &mut MemoryManager,
    process: u32,
    first: u64,
    pages: u64,
    mut now: Time,
) -> Result<Time, FaultError> {
    let mut at = first;
    while at < first + pages {
        at += m.visit(process, 0, at, first + pages - at, 0).done;
        if at < first + pages {
            let fault = m.fault(process, 0, at, now, policy)?;
            assert!(fault.ready >= now);
            now = fault.ready;
        }
        let awake: Vec<usize> = m.awake().collect();
        awake.into_iter().for_each(|zone| _ = m.kswapd(zone, now, policy));
    }
    Ok(now)
}

impl MemoryManager {
    /// What must hold whatever has happened: every page that is in use is somebody's, and nobody else's.
    pub(crate) fn assert_whole(&self) {
        let used: u64 = self.sections.iter().map(|s| u64::from(s.used)).sum();
        let kept = self.descriptor_bytes() / PAGE + self.spec.reserved;
        let resident: u64 = self.processes.iter().map(|p| p.resident).sum();
        let collected: u64 = self.collected.iter().map(|(_, order)| 1 << order).sum();
        assert_eq!(
            used,
            kept + resident + collected + self.leaving.len() as u64,
            "every page that is in use is somebody's"
        );
        let online = self.sections.iter().filter(|s| s.online).count() as u64 * SECTION;
        assert_eq!(online, used + self.free());
        let told = [&self.usage.used, &self.usage.online].map(|level| level.until(Time::NEVER).pages);
        let files = self.mapped.frames();
        assert_eq!(told, [used + files, online + files].map(|n| n as i64), "every change is told");
        assert_eq!(self.zones.iter().map(Zone::listed).sum::<u64>(), resident);
        let swapped: u64 = self.processes.iter().map(|p| p.swapped).sum();
        assert_eq!(self.swap_bytes().0, swapped * PAGE);
        self.assert_no_frame_is_shared();
    }

    fn assert_no_frame_is_shared(&self) {
        let mut taken = vec![false; self.sections.len() * SECTION as usize];
        let mut present = 0;
        let chunks = self.table.indices().filter(|c| !self.table.chunk(*c).device);
        let pages = chunks.flat_map(|c| c * table::CHUNK as u32..(c + 1) * table::CHUNK as u32);
        for entry in pages.map(|page| self.table.entry(page)).filter(|e| e & table::PRESENT != 0) {
            let frame = (entry & table::PLACE) as usize;
            assert!(!std::mem::replace(&mut taken[frame], true), "a frame has two pages");
            present += 1;
        }
        assert_eq!(present, self.processes.iter().map(|p| p.resident).sum::<u64>());
    }
}

#[test]
fn a_terabyte_has_14_gb_of_descriptors_and_a_section_448_pages() {
    let spec = spec(8, 1, true, 0);
    assert_eq!(spec.descriptor_pages(), 448);
    assert_eq!((1_u64 << 40) / PAGE * spec.descriptor_bytes, 14 << 30);
    assert_eq!(MemorySpec { descriptor_bytes: 64, ..spec }.descriptor_pages(), 512);
}

#[test]
fn hidden_sections_have_no_descriptors_until_they_come_online() {
    let mut m = MemoryManager::new(spec(8, 16, false, 0)).unwrap();
    assert_eq!((m.hidden(), m.descriptor_bytes()), (16, 8 * 448 * PAGE));
    let free = m.free();
    assert_eq!(m.bring_online(5, Time::ZERO, &mut Plain), (5, COSTS.describe * SECTION * 5));
    assert_eq!(m.free(), free + 5 * SECTION - 5 * 448);
    assert_eq!((m.hidden(), m.online_bytes(Medium::Pm)), (11, 5 << 27));
    m.assert_whole();
    let idle = m.idle_sections();
    assert_eq!(idle.len(), 5);
    m.take_offline(&idle, Time::ZERO);
    assert_eq!((m.free(), m.hidden()), (free, 16), "everything is as at boot");
    assert_eq!((m.descriptor_bytes(), m.descriptors_most), (8 * 448 * PAGE, 13 * 448 * PAGE));
    m.assert_whole();
}

#[test]
fn descriptors_that_do_not_fit_are_refused_at_boot_and_later_go_to_another_node() {
    assert!(MemoryManager::new(spec(1, 80, true, 0)).is_err());
    let mut m = MemoryManager::new(spec(1, 200, false, 0)).unwrap();
    let (online, _) = m.bring_online(200, Time::ZERO, &mut Plain);
    assert!(m.zones()[0].free() < 448 + m.zones()[0].marks.min);
    assert_eq!((online, m.hidden()), (200, 0), "DRAM alone has room for less than 80");
    m.assert_whole();
    let idle = m.idle_sections();
    assert!(!idle.is_empty() && idle.len() < 200, "who holds descriptors of others stays");
    m.take_offline(&idle, Time::ZERO);
    m.assert_whole();
}

#[test]
fn pages_are_not_collected_for_descriptors_that_can_never_fit() {
    // DRAM has 300 pages for programs, and a section's descriptors take 448.
    let few = MemorySpec { reserved: SECTION - 448 - 300, ..spec(1, 4, false, 1 << 16) };
    let mut m = MemoryManager::new(few).unwrap();
    let free = m.free();
    assert_eq!((free, m.bring_online(4, Time::ZERO, &mut Plain).0), (300, 0));
    assert_eq!((m.free(), m.hidden()), (free, 4));
    let process = m.spawn();
    m.map(process, 0, 1000).unwrap();
    visit_all(&mut m, process, 0, 1000, Time::ZERO).unwrap();
    m.assert_whole();
}

#[test]
fn descriptors_on_the_added_memory_leave_the_first_zone_alone() {
    let spec = MemorySpec { descriptors: Descriptors::Added, ..spec(2, 4, false, 0) };
    let mut m = MemoryManager::new(spec).unwrap();
    let dram = m.zones()[0].free();
    m.bring_online(4, Time::ZERO, &mut Plain);
    assert_eq!((m.zones()[0].free(), m.zones()[1].free()), (dram, 4 * (SECTION - 448)));
    m.take_offline(&m.idle_sections(), Time::ZERO);
    assert_eq!((m.hidden(), m.zones()[1].free()), (4, 0));
}

#[test]
fn memory_fills_pages_leave_and_come_back() {
    let mut m = MemoryManager::new(spec(2, 1, true, 1 << 16)).unwrap();
    let process = m.spawn();
    m.map(process, 0, 120_000).unwrap();
    let now = visit_all(&mut m, process, 0, 120_000, Time::ZERO).unwrap();
    m.assert_whole();
    assert_eq!((m.counts.minor, m.counts.major), (120_000, 0));
    assert!(m.counts.by_kswapd > 0 && m.counts.by_direct > 0, "{:?}", m.counts);
    visit_all(&mut m, process, 0, 120_000, now).unwrap();
    m.assert_whole();
    assert!(m.counts.major > 0 && m.counts.readahead > m.counts.major, "{:?}", m.counts);
    m.exit(process, Time::ZERO);
    m.settle(Time::NEVER);
    m.assert_whole();
    assert_eq!((m.swap_bytes().0, m.used_bytes(Medium::Pm)), (0, 0));
}

#[test]
fn a_full_swap_device_is_the_end_and_nothing_else() {
    for swap in [0, 1000] {
        let mut m = MemoryManager::new(spec(1, 1, true, swap)).unwrap();
        let process = m.spawn();
        m.map(process, 0, 100_000).unwrap();
        assert_eq!(visit_all(&mut m, process, 0, 100_000, Time::ZERO), Err(FaultError::OutOfMemory));
        m.settle(Time::NEVER);
        m.assert_whole();
        m.exit(process, Time::ZERO);
        m.assert_whole();
    }
}

#[test]
fn device_files_behave_as_mmap_does() {
    let mut m = MemoryManager::new(spec(2, 4, false, 0)).unwrap();
    let process = m.spawn();
    let mut files = Vec::new();
    let first = m.device_file(&mut files, 0, 50).unwrap();
    assert_eq!((first, m.device_file(&mut files, 0, 50)), (6 * SECTION, Some(first)));
    assert_eq!(m.device_file(&mut files, 1, 2 * SECTION), None, "the region is full");
    assert_eq!(m.map_device(process, 0, 100, (first, 50), Time::ZERO), Ok(COSTS.map * 50));
    let again = m.map_device(process, 1, 10, (first, 50), Time::ZERO);
    assert_eq!(again, Ok(COSTS.map * 10), "mapped twice: the same frames");
    assert_eq!(m.mapped.frames(), 50);
    m.assert_whole();
    assert_eq!((m.frame(process, 0, 7), m.frame(process, 1, 7)), (Some(first + 7), Some(first + 7)));
    assert_eq!(m.visit(process, 0, 0, 100, 64), Touched { done: 50, pm: 50 });
    let beyond = m.fault(process, 0, 50, Time::ZERO, &mut Plain);
    assert_eq!(beyond, Err(FaultError::Area(AreaError::BeyondEnd)));
    m.unmap(process, 0, Time::ZERO);
    assert_eq!(m.visit(process, 0, 0, 1, 0).done, 0);
    let gone = m.fault(process, 0, 0, Time::ZERO, &mut Plain);
    assert_eq!(gone, Err(FaultError::Area(AreaError::Unmapped)));
    assert_eq!(m.visit(process, 1, 0, 10, 0).done, 10, "the other mapping stays");
    assert_eq!(m.unmap(process, 9, Time::ZERO), Dur::ZERO);
    assert_eq!(m.mapped.frames(), 10);
    m.assert_whole();
}

#[test]
fn kswapd_wakes_below_low_and_not_at_it() {
    let mut m = MemoryManager::new(spec(2, 1, false, 1 << 12)).unwrap();
    let process = m.spawn();
    m.map(process, 0, 1 << 16).unwrap();
    let low = m.zones()[0].marks.low;
    let until = m.zones()[0].free() - low;
    for page in 0..until {
        m.fault(process, 0, page, Time::ZERO, &mut Plain).unwrap();
        assert_eq!(m.awake().count(), 0, "page {page} of {until}");
    }
    m.fault(process, 0, until, Time::ZERO, &mut Plain).unwrap();
    assert_eq!(m.awake().count(), 1);
}

#[test]
fn tiers_demote_before_they_swap_and_promote_what_is_visited() {
    let mut m = MemoryManager::new(spec(1, 4, true, 1 << 16)).unwrap();
    let process = m.spawn();
    m.map(process, 0, 60_000).unwrap();
    let now = visit_under(&mut Moves, &mut m, process, 0, 60_000, Time::ZERO).unwrap();
    m.zones[0].awake = true;
    while m.kswapd(0, now, &mut Moves).1.is_some() {}
    assert!(m.counts.demoted > 0 && m.swap_bytes().1 == 0, "{:?}", m.counts);
    m.assert_whole();
    m.set_hints(0, 1 << 30, now);
    visit_under(&mut Moves, &mut m, process, 0, 60_000, now).unwrap();
    assert!(m.counts.hints > 0 && m.counts.promoted > 0, "{:?}", m.counts);
    m.assert_whole();
}

#[test]
fn whatever_happens_pages_are_neither_lost_nor_shared() {
    for seed in 0..12 {
        let mut random = Random::new(seed, 0);
        let policy: &mut dyn Policy = if random.chance(500) { &mut Moves } else { &mut Plain };
        let mut m = MemoryManager::new(spec(1, 3, false, 20_000)).unwrap();
        let mut alive: Vec<u32> = Vec::new();
        let mut now = Time::ZERO;
        for _ in 0..300 {
            match random.below(8) {
                0 => {
                    let process = m.spawn();
                    m.map(process, 0, 1 + random.below(20_000)).unwrap();
                    alive.push(process);
                }
                1 if !alive.is_empty() => {
                    let process = alive.swap_remove(random.below(alive.len() as u64) as usize);
                    m.exit(process, now);
                }
                2 => _ = m.bring_online(random.below(3), now, policy),
                3 => m.take_offline(&m.idle_sections(), now),
                4 => _ = m.set_hints(random.below(5) as u32, 1 << 28, now),
                _ if !alive.is_empty() => {
                    let process = alive[random.below(alive.len() as u64) as usize];
                    let (first, pages) = (random.below(20_000), 1 + random.below(3000));
                    match visit_under(policy, &mut m, process, first, pages, now) {
                        Ok(then) => now = then,
                        Err(FaultError::OutOfMemory) => _ = m.exit(alive.remove(0), now),
                        Err(FaultError::Area(_)) => {}
                    }
                }
                _ => {}
            }
            m.assert_whole();
        }
    }
}

#[test]
fn groups_of_visits_do_what_visits_one_by_one_do() {
    let mut random = Random::new(5, 0);
    let (mut a, mut b) = (
        MemoryManager::new(spec(1, 2, true, 1 << 14)).unwrap(),
        MemoryManager::new(spec(1, 2, true, 1 << 14)).unwrap(),
    );
    for m in [&mut a, &mut b] {
        m.spawn();
        m.map(0, 0, 80_000).unwrap();
    }
    for _ in 0..2000 {
        let (first, count) = (random.below(79_000), 1 + random.below(300));
        let written = random.below(2) * 64;
        let each: Vec<u64> = (first..first + count).collect();
        assert_eq!(a.visit(0, 0, first, count, written), b.visit_each(0, 0, &each, written));
        // Both fault at the same pages, so that holes differ from run to run.
        let fill = random.below(40);
        for page in first..first + fill {
            let faults = [&mut a, &mut b].map(|m| m.fault(0, 0, page, Time::ZERO, &mut Plain));
            assert_eq!(faults[0], faults[1]);
        }
        if random.chance(50) {
            _ = [&mut a, &mut b].map(|m| m.set_hints(0, 1 << 28, Time::ZERO));
        }
    }
    assert_eq!((a.counts.pm_written, a.most_worn()), (b.counts.pm_written, b.most_worn()));
    (0..80_000).for_each(|page| assert_eq!(a.frame(0, 0, page), b.frame(0, 0, page)));
}
