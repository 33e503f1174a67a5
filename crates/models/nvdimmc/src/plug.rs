//! NVDIMM-C as a kind of memory: the DIMM, its device side, and the driver.

use crate::params::{Kind, TABLES, tables};
use crate::stats::{DRAM_STATISTICS, HOST_STATISTICS, STATISTICS, derived};
use crate::{
    BusSpec, DeviceFaults, Dimm, DimmSpec, Driver, DriverSpec, Firmware, FirmwareSpec, HandshakeSpace, Move,
    PAGE_LINES, PAGE_SIZE, PowerSpec, Replacement, SharedDriver, SharedDriverSpec, Window,
};
use ::plug::{Around, CacheView, Companion, MemoryDevice, MemoryKind, MemoryParts, Place, System};
use explore::Harness;
use memory::ddr4::params::{channel, refreshed};
use memory::ddr4::{GroupBits, LINES_PER_ROW, Spec};
use memory::nand;
use params::StatisticInfo;
use protocol::{
    AddressMap, Cpu, Image, Line, PAGE_BYTES, Param, PostCrash, Records, Settings, StatSink, View,
};
use std::cell::RefCell;
use std::rc::Rc;
use units::{Dur, Time};

/// The system.
pub const SYSTEM: System = System {
    parameters: TABLES,
    groups: &[("nvdimm", "a DIMM whose DRAM caches NAND"), ("nand", "NAND flash")],
    renamed: &[("nvdimm.kind = none", "memory.kind = pm")],
    statistics: STATISTICS,
    derived: Some(derived),
    protocols: &[Harness::of::<HandshakeSpace>()],
    memory: Some(&NvdimmC),
};

/// A DIMM whose DRAM caches NAND.
struct NvdimmC;

impl MemoryKind for NvdimmC {
    fn name(&self) -> &'static str {
        "nvdimmc"
    }

    fn about(&self) -> &'static str {
        "a DIMM whose DRAM caches NAND and whose device shares the bus inside refresh"
    }

    fn tables(&self, settings: &Settings) -> Vec<&'static [Param]> {
        tables(settings)
    }

    fn statistics(&self, s: &Settings, _: Option<Records>) -> Vec<&'static [StatisticInfo]> {
        match s.read("nvdimm.kind") {
            Kind::Cached => [STATISTICS, &nand::STATISTICS].concat(),
            Kind::Hypothetical => HOST_STATISTICS.to_vec(),
            Kind::Dram => DRAM_STATISTICS.to_vec(),
        }
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        let s = around.settings;
        if around.is_alone() && s.count("memory.controllers") != 1 {
            let given = s.count("memory.controllers");
            return Err(format!("memory.controllers = {given}: an NVDIMM is on one channel; give 1"));
        }
        if !around.capabilities.caches_flush() {
            let why = if around.capabilities.persist_path {
                "an NVDIMM has no persist path (what is kept back for an order belongs to a slot, and by the time it is written another page may be there)"
            } else {
                "an NVDIMM's driver flushes a page's lines out of the caches before the device reads it, and with this model flushes do not go there"
            };
            let others = (around.models)(&|asks| asks.caches_flush());
            return Err(format!("ordering.model = {}: {why}; give {others}", around.ordering));
        }
        if s.read::<Kind>("nvdimm.kind") != Kind::Dram {
            fits(s)?;
        }
        bus(s).map(|_| ())
    }

    fn capacity_key(&self) -> Option<&'static str> {
        Some("nvdimm.capacity_mib")
    }

    /// What it takes in are pages with bytes.
    fn keeps_directory(&self) -> bool {
        false
    }

    fn controllers(&self, _: &Settings) -> usize {
        1
    }

    fn counts_controllers(&self) -> bool {
        false
    }

    fn forgets(&self, s: &Settings) -> Option<&'static str> {
        // Where nothing is dumped the queue goes to the DRAM, as on any module.
        let is_lost = s.read::<Kind>("nvdimm.kind") == Kind::Cached && !s.flag("nvdimm.write_queue_survives");
        is_lost.then_some(
            "its write pending queue is lost when the power fails, as the published device's (nvdimm.write_queue_survives=false)",
        )
    }

    /// Of its queue, where that is not lost: what its battery saves are pages.
    fn drains_lines(&self, s: &Settings) -> bool {
        self.forgets(s).is_none()
    }

    fn translates(&self, _: &Settings) -> bool {
        true
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let s = place.settings;
        let kind: Kind = s.read("nvdimm.kind");
        let firmware = (kind == Kind::Cached).then(|| firmware(s)).transpose()?;
        let dimm = Dimm::new(dimm(s, place)?, firmware).map_err(|e| format!("memory.refresh: {e}"))?;
        let mut parts = MemoryParts::of(vec![Box::new(dimm)]);
        parts.companion = Some(Rc::new(RefCell::new(host(s, place, kind)?)));
        parts.cache_bytes = (kind != Kind::Dram).then(|| s.number("nvdimm.slots_mib") << 20);
        Ok(parts)
    }
}

fn dimm(s: &Settings, place: &Place<'_>) -> Result<DimmSpec, String> {
    let slots = pages(s, "nvdimm.slots_mib");
    Ok(DimmSpec {
        bus: bus(s)?,
        acknowledge: s.dur("memory.ddr.acknowledge_ns"),
        power: PowerSpec {
            battery_pages: s.number("nvdimm.battery_uj") / s.number("nvdimm.dump_page_uj"),
            page_nj: s.number("nvdimm.dump_page_uj") * 1000,
            write_queue_survives: s.flag("nvdimm.write_queue_survives"),
            slots,
            first_slot: DriverSpec::first_slot(slots),
        },
        faults: DeviceFaults {
            ignore_window: s.flag("nvdimm.device.ignore_window"),
            misses_one_in: s.number("nvdimm.device.misses_one_in"),
            overrun_lines: s.number("nvdimm.device.overrun_lines"),
        },
        base: place.map.base(place.index),
    })
}

impl MemoryDevice for Dimm {
    fn persists(&self) -> u64 {
        Dimm::persists(self)
    }

    fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        _: &dyn Fn(Line) -> bool,
    ) -> Result<(), String> {
        Dimm::preload(self, address, page)
    }

    fn has_failed(&self) -> bool {
        self.collision().is_some()
    }

    fn failure(&self) -> Option<String> {
        self.collision().map(|met| format!("collision on the memory bus: {met}"))
    }
}

/// The driver.
impl Companion for SharedDriver {
    fn cpu(&self, core: usize, cpu: &Cpu) -> Cpu {
        SharedDriver::cpu(self, core, cpu)
    }

    fn leave(&self, core: usize) {
        SharedDriver::leave(self, core);
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn preloaded(&self, address: u64) {
        SharedDriver::preloaded(self, address);
    }

    fn has_failed(&self) -> bool {
        SharedDriver::has_failed(self)
    }

    fn failure(&self) -> Option<String> {
        SharedDriver::error(self)
    }

    fn as_addressed(
        &self,
        view: View,
        image: Image,
        devices: &[Box<dyn MemoryDevice>],
        _: &AddressMap,
        _: &dyn CacheView,
    ) -> Image {
        if view == View::Durable {
            return image;
        }
        let mut nand = PostCrash::new(false);
        devices.iter().for_each(|d| d.post_crash(View::Durable, &mut nand));
        self.seen_through_slots(nand.parts.remove(0), &image)
    }

    fn stats(&mut self, _: Time, sink: &mut dyn StatSink) {
        SharedDriver::stats(self, sink);
    }
}

/// Pages of a size in MiB.
fn pages(s: &Settings, key: &str) -> u32 {
    (s.number(key) << 20 >> 12) as u32
}

/// What cannot be together.
fn fits(s: &Settings) -> Result<(), String> {
    let (slots, dram) = (s.number("nvdimm.slots_mib"), s.number("nvdimm.dram_mib"));
    // The CP area, and eight bytes of metadata a slot.
    let room = dram - 1 - dram / 512;
    if slots > room {
        return Err(format!("nvdimm.slots_mib = {slots}: nvdimm.dram_mib = {dram} has room for 1 to {room}"));
    }
    Ok(())
}

fn bus(s: &Settings) -> Result<BusSpec, String> {
    let dram = Spec { queue: s.count("ordering.write_pending_queue").min(64), ..channel(s)? };
    if dram.groups == GroupBits::SkylakeFine {
        return Err("memory.ddr.mapping = skylake-sp-fine: an NVDIMM's device moves pages a row at a time; give groups-below, groups-above or skylake-sp".into());
    }
    let host = refreshed(s, &dram)?;
    window_fits(s, &dram, &host)?;
    let late = dram.clocks(s.dur("nvdimm.device.detector_late_ns"));
    Ok(BusSpec { host, dram_rfc: dram.rfc, detector_late: late })
}

/// Whether a device has a window in which it can move what it moves.
fn window_fits(s: &Settings, dram: &Spec, host: &Spec) -> Result<(), String> {
    if s.read::<Kind>("nvdimm.kind") != Kind::Cached {
        return Ok(());
    }
    let bytes = s.number("nvdimm.window_bytes");
    let fits = |rfc: u64| {
        let host = Spec { rfc, ..*host };
        let bus = BusSpec { host, dram_rfc: dram.rfc, detector_late: 0 };
        takes_pages(Window::after(0, 0, &bus), bytes / PAGE_SIZE as u64, &host)
    };
    if fits(host.rfc) {
        return Ok(());
    }
    let needed = (host.rfc..host.refi).find(|rfc| fits(*rfc)).unwrap_or(host.refi);
    let ns = |clocks: u64| Dur::ps(clocks * host.clock_ps).as_ns();
    Err(format!(
        "memory.refresh.trfc_ns = {}: a window for nvdimm.window_bytes = {bytes} needs at least {}, of which the DRAM takes {}",
        ns(host.rfc),
        ns(needed),
        ns(dram.rfc)
    ))
}

/// Whether a window takes so many pages of one row or of different banks, whichever of them are written. Rows of one bank
/// take longer: of two pages there one may have to wait.
fn takes_pages(window: Window, pages: u64, host: &Spec) -> bool {
    let moves = |apart: u64, written: u64| -> Vec<Move> {
        (0..pages).map(|nth| (nth * apart, PAGE_LINES, written >> nth & 1 == 1)).collect()
    };
    let take = |apart, written| window.transfer(&moves(apart, written), host).is_some();
    [PAGE_LINES, LINES_PER_ROW].iter().all(|apart| (0..1 << pages).all(|written| take(*apart, written)))
}

fn firmware(s: &Settings) -> Result<Firmware, String> {
    let spec_of_firmware = FirmwareSpec {
        decode: s.dur("nvdimm.decode_ns"),
        finish: s.dur("nvdimm.finish_ns"),
        queue_depth: s.count("nvdimm.queue_depth"),
        window_pages: s.count("nvdimm.window_bytes") / PAGE_SIZE,
        write_buffer: s.count("nvdimm.write_buffer_pages"),
    };
    let ftl = nand::flash(s, pages(s, "nvdimm.capacity_mib"))?;
    Firmware::new(spec_of_firmware, ftl).map_err(|e| format!("nand: {e}"))
}

fn driver(s: &Settings, kind: Kind) -> Result<Driver, String> {
    let slots = pages(s, "nvdimm.slots_mib");
    let replacement: Replacement = s.read("nvdimm.replacement");
    let spec = DriverSpec {
        slots,
        first_slot: DriverSpec::first_slot(slots),
        pages: pages(s, "nvdimm.capacity_mib"),
        replacement,
        queue_depth: s.count("nvdimm.queue_depth"),
        merges: s.flag("nvdimm.merged_commands"),
        waits_instead: kind == Kind::Hypothetical,
        flush_before_writeback: s.flag("nvdimm.driver.flush"),
        invalidate_after_cachefill: s.flag("nvdimm.driver.invalidate"),
    };
    Driver::new(spec, u64::from(pages(s, "nvdimm.dram_mib"))).map_err(|e| format!("nvdimm: {e}"))
}

fn host(s: &Settings, place: &Place<'_>, kind: Kind) -> Result<SharedDriver, String> {
    let driver = (kind != Kind::Dram).then(|| driver(s, kind)).transpose()?;
    let waits = s.number("nvdimm.hypothetical.waits_permille");
    let host = SharedDriverSpec {
        cores: place.cores,
        pages: pages(s, "nvdimm.capacity_mib"),
        translations: s.count("nvdimm.driver.translations"),
        walk: s.dur("nvdimm.driver.walk_ns"),
        fault: s.dur("nvdimm.driver.fault_ns"),
        map: s.dur("nvdimm.driver.map_ns"),
        handoff: s.dur("nvdimm.driver.handoff_ns"),
        replace: s.dur("nvdimm.driver.replace_ns"),
        poll: s.dur("nvdimm.driver.poll_ns"),
        delay: Dur::ps(s.dur("nvdimm.hypothetical.td_ns").as_ps() * waits / 1000),
        identity: kind != Kind::Cached,
        addresses: place.map,
        index: place.index,
    };
    Ok(SharedDriver::new(host, driver))
}
