//! NVDIMM-C from its parameters: the DIMM, its device side, and the driver.

use crate::error::ConfigError;
use memory::ddr4::Spec;
use memory::nand::{Array, Collection, Errors, Ftl, FtlSpec, Geometry, MediaSpec, Timed};
use nvdimmc::{
    BusSpec, DeviceFaults, Dimm, DimmSpec, Driver, DriverSpec, Firmware, FirmwareSpec, Host, HostSpec,
    PAGE_SIZE, PowerSpec, Replacement, Window,
};
use protocol::Settings;
use units::Dur;

/// What a machine with an NVDIMM needs besides cores and caches.
pub(crate) struct Parts {
    pub(crate) dimm: Dimm,
    pub(crate) host: Option<Host>,
    pub(crate) cache_bytes: Option<u64>,
}

/// Whether an NVDIMM's parameters fit together, where there is one.
///
/// # Errors
/// The key, and what is accepted.
pub(crate) fn check(s: &Settings) -> Result<(), ConfigError> {
    if s.text("nvdimm.kind") == "none" {
        return Ok(());
    }
    fits(s)?;
    bus(s).map(|_| ())
}

/// The parts; none where persistent memory is something else.
///
/// # Errors
/// When parameters do not fit together: the key, and what is accepted.
pub(crate) fn build(s: &Settings, cores: usize) -> Result<Option<Parts>, ConfigError> {
    let kind = s.text("nvdimm.kind");
    if kind == "none" {
        return Ok(None);
    }
    let slots = pages(s, "nvdimm.slots_mib");
    let power = PowerSpec {
        battery_pages: s.number("nvdimm.battery_uj") / s.number("nvdimm.dump_page_uj"),
        write_queue_survives: s.flag("nvdimm.write_queue_survives"),
        slots,
        first_slot: DriverSpec::first_slot(slots),
    };
    let spec = DimmSpec {
        bus: bus(s)?,
        acknowledge: s.dur("memory.ddr.acknowledge_ns"),
        power,
        faults: DeviceFaults {
            ignore_window: s.flag("nvdimm.device.ignore_window"),
            ignore_cke: s.flag("nvdimm.device.ignore_cke"),
            misses_one_in: s.number("nvdimm.device.misses_one_in"),
            overrun_lines: s.number("nvdimm.device.overrun_lines"),
        },
    };
    let firmware = (kind == "cached").then(|| firmware(s)).transpose()?;
    let dimm = Dimm::new(spec, firmware).map_err(|e| ConfigError::new(format!("memory.refresh: {e}")))?;
    let host = (kind != "dram").then(|| host(s, cores, kind == "hypothetical")).transpose()?;
    Ok(Some(Parts { dimm, cache_bytes: host.is_some().then(|| u64::from(slots) * PAGE_SIZE as u64), host }))
}

/// Pages of a size in MiB.
fn pages(s: &Settings, key: &str) -> u32 {
    (s.number(key) << 20 >> 12) as u32
}

/// What cannot be together.
fn fits(s: &Settings) -> Result<(), ConfigError> {
    let wrong = |text: String| Err(ConfigError::new(text));
    if s.count("memory.controllers") != 1 {
        let given = s.count("memory.controllers");
        return wrong(format!("memory.controllers = {given}: an NVDIMM is on one channel; give 1"));
    }
    if !ordering::plug::of(s).capabilities().flush_instructions {
        let (given, able) = (s.text("ordering.model"), ordering::plug::those(|asks| asks.flush_instructions));
        return wrong(format!("ordering.model = {given}: an NVDIMM has no persist path; give {able}"));
    }
    let (slots, dram) = (s.number("nvdimm.slots_mib"), s.number("nvdimm.dram_mib"));
    // The CP area, and eight bytes of metadata a slot.
    let room = dram - 1 - dram / 512;
    if slots > room {
        return wrong(format!(
            "nvdimm.slots_mib = {slots}: nvdimm.dram_mib = {dram} has room for 1 to {room}"
        ));
    }
    Ok(())
}

/// The channel as the host has programmed it, and what its DRAM needs.
fn ddr4(s: &Settings) -> Result<Spec, ConfigError> {
    let speed = if s.text("memory.ddr.speed") == "2400" { Spec::DDR4_2400 } else { Spec::DDR4_1600 };
    let gigabits = s.text("memory.ddr.density_gbit").parse().unwrap_or(8);
    let spec = speed.with_density(gigabits).map_err(ConfigError::new)?;
    Ok(Spec {
        refi: spec.clocks(s.dur("memory.refresh.trefi_ns")),
        postponed: s.number("memory.refresh.postponed"),
        controller: spec.clocks(s.dur("memory.ddr.controller_ns")),
        queue: s.count("ordering.write_pending_queue").min(64),
        ..spec
    })
}

fn bus(s: &Settings) -> Result<BusSpec, ConfigError> {
    let dram = ddr4(s)?;
    let host = Spec { rfc: dram.clocks(s.dur("memory.refresh.trfc_ns")), ..dram };
    let (trfc, trefi) = (s.dur("memory.refresh.trfc_ns"), s.dur("memory.refresh.trefi_ns"));
    if host.check().is_err() && trfc + Dur::ns(100) >= trefi {
        return Err(ConfigError::new(format!(
            "memory.refresh.trfc_ns = {}: a refresh has to end before the next; memory.refresh.trefi_ns = {} leaves up to {}",
            trfc.as_ns(),
            trefi.as_ns(),
            (trefi.as_ns() - 100.0).max(0.0)
        )));
    }
    if host.rfc < dram.rfc {
        let needs = Dur::ps(dram.rfc * dram.clock_ps).as_ns();
        return Err(ConfigError::new(format!(
            "memory.refresh.trfc_ns = {}: these devices need at least {needs} (memory.ddr.density_gbit)",
            trfc.as_ns()
        )));
    }
    host.check().map_err(|e| ConfigError::new(format!("memory.refresh: {e}")))?;
    window_fits(s, &dram, &host)?;
    let late = dram.clocks(s.dur("nvdimm.device.detector_late_ns"));
    Ok(BusSpec { host, dram_rfc: dram.rfc, detector_late: late })
}

/// Whether a device has a window in which it can move what it moves.
fn window_fits(s: &Settings, dram: &Spec, host: &Spec) -> Result<(), ConfigError> {
    if s.text("nvdimm.kind") != "cached" {
        return Ok(());
    }
    let lines = s.number("nvdimm.window_bytes") / 64;
    let most = |rfc: u64| {
        let host = Spec { rfc, ..*host };
        Window::after(0, 0, &BusSpec { host, dram_rfc: dram.rfc, detector_late: 0 }).most_lines(&host)
    };
    if most(host.rfc) >= lines {
        return Ok(());
    }
    let needed = (host.rfc..host.refi).find(|rfc| most(*rfc) >= lines).unwrap_or(host.refi);
    let ns = |clocks: u64| Dur::ps(clocks * host.clock_ps).as_ns();
    Err(ConfigError::new(format!(
        "memory.refresh.trfc_ns = {}: a window for nvdimm.window_bytes = {} needs at least {}, of which the DRAM takes {}",
        ns(host.rfc),
        lines * 64,
        ns(needed),
        ns(dram.rfc)
    )))
}

fn firmware(s: &Settings) -> Result<Firmware, ConfigError> {
    let named = |e: String| ConfigError::new(format!("nand: {e}"));
    let pages_per_block = s.number("nand.pages_per_block");
    let capacity = u64::from(pages(s, "nvdimm.capacity_mib"));
    let raw = capacity + capacity * s.number("nand.spare_permille") / 1000;
    let reserve = 4;
    // Collection needs blocks of its own, however small the device.
    let least = capacity.div_ceil(pages_per_block) + s.number("nand.bad_blocks") + reserve + 3;
    let blocks = raw.div_ceil(pages_per_block).max(least);
    let geometry = Geometry {
        blocks: blocks as u32,
        pages_per_block: pages_per_block as u32,
        page_bytes: PAGE_SIZE as u32,
    };
    let errors = Errors {
        seed: s.number("nand.error_seed"),
        program: s.number("nand.program_errors"),
        erase: s.number("nand.erase_errors"),
        bits: s.number("nand.bit_errors"),
        corrected: s.number("nand.corrected_bits"),
        retries: s.number("nand.retries") as u32,
    };
    let spec = FtlSpec {
        geometry,
        host_pages: capacity as u32,
        collection: if s.text("nand.collection") == "fifo" { Collection::Fifo } else { Collection::Greedy },
        reserve: reserve as u32,
        level_above: s.number("nand.level_above") as u32,
    };
    let media = match s.text("nand.media") {
        "fixed" => MediaSpec::fixed(s.dur("nand.read_ns")),
        _ => MediaSpec {
            channels: s.number("nand.channels") as u32,
            dies: s.number("nand.dies") as u32,
            read: s.dur("nand.read_ns"),
            program: s.dur("nand.program_ns"),
            erase: s.dur("nand.erase_ns"),
            transfer: s.dur("nand.transfer_ns"),
            suspends: s.flag("nand.suspends"),
        },
    };
    let bad = factory_bad(geometry.blocks, s.number("nand.bad_blocks") as u32);
    let flash = Timed::new(Array::new(geometry, errors, &bad), media).map_err(named)?;
    let spec_of_firmware = FirmwareSpec {
        decode: s.dur("nvdimm.decode_ns"),
        finish: s.dur("nvdimm.finish_ns"),
        queue_depth: s.count("nvdimm.queue_depth"),
        window_pages: s.count("nvdimm.window_bytes") / PAGE_SIZE,
        write_buffer: s.count("nvdimm.write_buffer_pages"),
    };
    Firmware::new(spec_of_firmware, Ftl::new(spec, flash, &bad).map_err(named)?).map_err(named)
}

/// Blocks that are bad from the factory, spread over the device.
fn factory_bad(blocks: u32, count: u32) -> Vec<u32> {
    (0..count.min(blocks)).map(|n| (u64::from(n) * u64::from(blocks) / u64::from(count)) as u32).collect()
}

fn host(s: &Settings, cores: usize, hypothetical: bool) -> Result<Host, ConfigError> {
    let slots = pages(s, "nvdimm.slots_mib");
    let replacement: Replacement = s.read("nvdimm.replacement");
    let spec = DriverSpec {
        slots,
        first_slot: DriverSpec::first_slot(slots),
        pages: pages(s, "nvdimm.capacity_mib"),
        replacement,
        queue_depth: s.count("nvdimm.queue_depth"),
        merges: s.flag("nvdimm.merged_commands"),
        waits_instead: hypothetical,
        flush_before_writeback: s.flag("nvdimm.driver.flush"),
        invalidate_after_cachefill: s.flag("nvdimm.driver.invalidate"),
    };
    let driver = Driver::new(spec, u64::from(pages(s, "nvdimm.dram_mib")));
    let driver = driver.map_err(|e| ConfigError::new(format!("nvdimm: {e}")))?;
    let waits = s.number("nvdimm.hypothetical.waits_permille");
    let host = HostSpec {
        cores,
        translations: s.count("nvdimm.driver.translations"),
        map: s.dur("nvdimm.driver.map_ns"),
        fault: s.dur("nvdimm.driver.fault_ns"),
        poll: s.dur("nvdimm.driver.poll_ns"),
        delay: Dur::ps(s.dur("nvdimm.hypothetical.td_ns").as_ps() * waits / 1000),
        identity: hypothetical,
    };
    Ok(Host::new(host, driver))
}
