//! From settings to a machine: sizes, media, the kernel's costs; and whether they fit together.

use crate::memory::{Costs, Descriptors, MemorySpec, Rule, SwapSpec};
use crate::policies;
use crate::policy::{Layout, Platform};
use crate::spec::{MachineSpec, MediumSpec, PowerSpec};
use crate::stand_in::Costs as MediumCosts;
use protocol::Settings;
use units::Dur;

/// Sections of a GiB, pages of a GiB.
pub(crate) const SECTIONS_OF_GIB: u64 = 8;
const PAGES_OF_GIB: u64 = 1 << 18;

/// Whether the sizes of a machine at page fidelity fit together.
///
/// # Errors
/// The key that does not, and what is accepted.
pub fn check(s: &Settings) -> Result<(), String> {
    (policies::chosen(s).check)(s)?;
    let (dram, pm, device) =
        (s.number("fusion.dram_gib"), s.number("fusion.pm_gib"), s.number("fusion.device_gib"));
    if pm > 0 && device >= pm {
        return Err(format!(
            "fusion.device_gib = {device}: is to be less than fusion.pm_gib = {pm}; give 0 to {}",
            pm - 1
        ));
    }
    if dram + pm > 2000 {
        return Err(format!("fusion.pm_gib = {pm}: DRAM and it are to be 2000 GiB together, at most"));
    }
    if s.number("os.reserved_mib") >= dram * 1024 {
        return Err(format!(
            "os.reserved_mib = {}: is not less than fusion.dram_gib = {dram}; give 1 to {}",
            s.number("os.reserved_mib"),
            dram * 1024 - 1
        ));
    }
    if s.number("os.min_free_kib") >= dram << 19 {
        return Err(format!(
            "os.min_free_kib = {}: watermarks would be above half of fusion.dram_gib = {dram}; give 0 to {}",
            s.number("os.min_free_kib"),
            (dram << 19) - 1
        ));
    }
    for key in ["os.quantum_ns", "os.sample_ns", "fusion.period_ns", "os.scan_period_ns"] {
        if s.dur(key) < Dur::ns(1000) {
            return Err(format!("{key} = {}: give 1000 or more", s.dur(key).as_ns()));
        }
    }
    Ok(())
}

/// The machine, as `layout` lays its memory out.
pub(crate) fn machine(
    s: &Settings,
    platform: &Platform,
    layout: Layout,
    seed: u64,
    pm: MediumCosts,
) -> MachineSpec {
    MachineSpec {
        seed,
        cores: platform.cores,
        quantum: s.dur("os.quantum_ns"),
        switch: s.dur("os.switch_ns"),
        dram: medium(s, "fusion.dram_ns", "fusion.dram_ns", "fusion.dram_mbps"),
        pm: platform.pm_medium,
        cache: layout.front.or(pm.front),
        sample: s.dur("os.sample_ns"),
        power: PowerSpec {
            idle: s.number("fusion.idle_mw"),
            active: s.number("fusion.active_mw"),
            transition: s.number("fusion.transition_mw"),
        },
        block_bytes: layout.block_bytes,
        memory: memory(s, layout),
    }
}

/// What a policy can lay out.
pub(crate) fn platform(s: &Settings) -> Platform {
    let all = s.number("fusion.pm_gib") * SECTIONS_OF_GIB;
    Platform {
        dram: s.number("fusion.dram_gib") * SECTIONS_OF_GIB,
        pm: all - device_sections(s),
        node: s.number("fusion.node_gib") * SECTIONS_OF_GIB,
        cores: s.count("os.cores"),
        swap: swap(s),
        pm_latency: [s.dur("fusion.pm_read_ns"), s.dur("fusion.pm_write_ns")],
        pm_medium: medium(s, "fusion.pm_read_ns", "fusion.pm_write_ns", "fusion.pm_mbps"),
        pm_page: page_time(s.number("fusion.pm_mbps")),
        pm_bytes: s.number("fusion.pm_gib") << 30,
    }
}

fn device_sections(s: &Settings) -> u64 {
    let all = s.number("fusion.pm_gib") * SECTIONS_OF_GIB;
    (s.number("fusion.device_gib") * SECTIONS_OF_GIB).min(all)
}

/// Misses of a visit overlap; its lines share the medium's bus.
fn medium(s: &Settings, read: &str, write: &str, mbps: &str) -> MediumSpec {
    let line = |key: &str| Dur::ps(s.dur(key).as_ps() / s.number("fusion.overlap"));
    MediumSpec { read: line(read), write: line(write), service: Dur::ps(64_000_000 / s.number(mbps)) }
}

/// Time of a page on a bus.
fn page_time(mbps: u64) -> Dur {
    Dur::ps(4_096_000_000 / mbps)
}

fn memory(s: &Settings, layout: Layout) -> MemorySpec {
    let rule = if s.text("os.watermarks") == "today" {
        Rule::Today { scale: s.number("os.watermark_scale") }
    } else {
        Rule::Before46
    };
    MemorySpec {
        zones: layout.zones,
        descriptor_bytes: s.number("os.descriptor_bytes"),
        descriptors: if s.text("os.descriptors") == "added" { Descriptors::Added } else { Descriptors::Dram },
        device_sections: device_sections(s),
        reserved: s.number("os.reserved_mib") * 256,
        rule,
        min_free_kib: s.number("os.min_free_kib"),
        swap: layout.swap,
        readahead: s.number("os.readahead"),
        costs: Costs {
            fault: s.dur("os.fault_ns"),
            major: s.dur("os.major_ns"),
            scan: s.dur("os.scan_ns"),
            unmap: s.dur("os.unmap_ns"),
            free: s.dur("os.free_ns"),
            map: s.dur("os.map_ns"),
            describe: s.dur("os.describe_ns"),
        },
    }
}

/// The swap device that the description names: requests at once, microseconds to the first byte, MB/s, whether a
/// head moves.
fn swap(s: &Settings) -> Option<SwapSpec> {
    let (channels, us, mbps, seeks) = match s.text("os.swap") {
        "hdd" => (1, 8000, 150, true),
        "ssd" => (32, 150, 500, false),
        "nvme" => (64, 90, 3000, false),
        _ => return None,
    };
    let latency = Dur::ns(us * 1000);
    let pages = s.number("os.swap_gib") * PAGES_OF_GIB;
    Some(SwapSpec { pages, channels, read: latency, write: latency, page: page_time(mbps), seeks })
}
