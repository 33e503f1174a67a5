//! From settings to a machine: sizes, media, the kernel's costs; and whether they fit together.

use crate::memory::{Costs, Descriptors, MemorySpec, Rule, SwapSpec};
use crate::params::{DescriptorsAt, KernelParameters, Marks, MemoryParameters, SwapDevice};
use crate::policies::{Design, DesignParameters};
use crate::policy::{Entry, Layout, Platform};
use crate::spec::{MachineSpec, MediumSpec, PowerSpec, SECTIONS_OF_GIB, at_least_a_microsecond};
use crate::stand_in::Costs as MediumCosts;
use params::{Parameters, Settings};
use units::Dur;

/// Pages of a GiB.
const PAGES_OF_GIB: u64 = 1 << 18;

/// What the settings say.
pub(crate) struct Described {
    design: Design,
    pub(crate) memory: MemoryParameters,
    pub(crate) kernel: KernelParameters,
}

impl Described {
    pub(crate) fn read(s: &Settings) -> Described {
        Described {
            design: DesignParameters::from_settings(s).design,
            memory: MemoryParameters::from_settings(s),
            kernel: KernelParameters::from_settings(s),
        }
    }

    /// What decides about pages.
    pub(crate) fn entry(&self) -> &'static Entry {
        self.design.0
    }

    fn device_sections(&self) -> u64 {
        self.memory.device_gib.min(self.memory.pm_gib) * SECTIONS_OF_GIB
    }
}

/// Whether the sizes of a machine at page fidelity fit together.
///
/// # Errors
/// The key that does not, and what is accepted.
pub(crate) fn check(s: &Settings) -> Result<(), String> {
    let all = Described::read(s);
    (all.entry().check)(s)?;
    all.check_sizes()?;
    for (key, time) in [("os.quantum_ns", all.kernel.quantum_ns), ("os.sample_ns", all.kernel.sample_ns)] {
        at_least_a_microsecond(key, time)?;
    }
    Ok(())
}

impl Described {
    fn check_sizes(&self) -> Result<(), String> {
        let MemoryParameters { dram_gib: dram, pm_gib: pm, device_gib: device, .. } = self.memory;
        let KernelParameters { reserved_mib, min_free_kib, .. } = self.kernel;
        if pm > 0 && device >= pm {
            return Err(format!(
                "fusion.device_gib = {device}: is to be less than fusion.pm_gib = {pm}; give 0 to {}",
                pm - 1
            ));
        }
        if dram + pm > 2000 {
            return Err(format!("fusion.pm_gib = {pm}: DRAM and it are to be 2000 GiB together, at most"));
        }
        if reserved_mib >= dram * 1024 {
            return Err(format!(
                "os.reserved_mib = {reserved_mib}: is not less than fusion.dram_gib = {dram}; give 1 to {}",
                dram * 1024 - 1
            ));
        }
        if min_free_kib >= dram << 19 {
            return Err(format!(
                "os.min_free_kib = {min_free_kib}: watermarks would be above half of fusion.dram_gib = {dram}; give 0 to {}",
                (dram << 19) - 1
            ));
        }
        Ok(())
    }

    /// What a policy can lay out.
    pub(crate) fn platform(&self) -> Platform {
        let m = &self.memory;
        Platform {
            dram: m.dram_gib * SECTIONS_OF_GIB,
            pm: m.pm_gib * SECTIONS_OF_GIB - self.device_sections(),
            node: m.node_gib * SECTIONS_OF_GIB,
            cores: self.kernel.cores,
            swap: self.swap(),
            pm_latency: [m.pm_read_ns, m.pm_write_ns],
            pm_medium: self.medium(m.pm_read_ns, m.pm_write_ns, m.pm_mbps),
            pm_page: page_time(m.pm_mbps),
            pm_bytes: m.pm_gib << 30,
        }
    }

    /// The machine, as `layout` lays its memory out.
    pub(crate) fn machine(
        &self,
        platform: &Platform,
        layout: Layout,
        seed: u64,
        pm: MediumCosts,
    ) -> MachineSpec {
        let m = &self.memory;
        MachineSpec {
            seed,
            cores: platform.cores,
            quantum: self.kernel.quantum_ns,
            switch: self.kernel.switch_ns,
            dram: self.medium(m.dram_ns, m.dram_ns, m.dram_mbps),
            pm: if pm.curve.is_some() {
                MediumSpec { service: Dur::ZERO, ..platform.pm_medium }
            } else {
                platform.pm_medium
            },
            cache: layout.front.or(pm.front),
            dram_cache: layout.front.map_or(0, |cache| cache.pages),
            curve: pm.curve,
            sample: self.kernel.sample_ns,
            power: PowerSpec {
                idle: m.idle_mw,
                active: m.active_mw,
                transition: m.transition_mw,
                wakes: m.transition_ns,
            },
            block_bytes: layout.block_bytes,
            memory: self.memory_spec(layout),
        }
    }

    /// Misses of a visit overlap; its lines share the medium's bus.
    fn medium(&self, read: Dur, write: Dur, mbps: u64) -> MediumSpec {
        let line = |latency: Dur| Dur::ps(latency.as_ps() / self.memory.overlap);
        MediumSpec { read: line(read), write: line(write), service: Dur::ps(64_000_000 / mbps) }
    }

    fn memory_spec(&self, layout: Layout) -> MemorySpec {
        let k = &self.kernel;
        MemorySpec {
            zones: layout.zones,
            descriptor_bytes: k.descriptor_bytes,
            descriptors: match k.descriptors {
                DescriptorsAt::Dram => Descriptors::Dram,
                DescriptorsAt::Added => Descriptors::Added,
            },
            device_sections: self.device_sections(),
            reserved: k.reserved_mib * 256,
            rule: match k.watermarks {
                Marks::Before46 => Rule::Before46,
                Marks::Today => Rule::Today { scale: k.watermark_scale },
            },
            min_free_kib: k.min_free_kib,
            swap: layout.swap,
            readahead: k.readahead,
            costs: Costs {
                fault: k.fault_ns,
                major: k.major_ns,
                scan: k.scan_ns,
                unmap: k.unmap_ns,
                free: k.free_ns,
                map: k.map_ns,
                describe: k.describe_ns,
            },
        }
    }

    /// The swap device that the description names: requests at once, microseconds to the first byte, MB/s, whether a
    /// head moves.
    fn swap(&self) -> Option<SwapSpec> {
        let (channels, us, mbps, seeks) = match self.kernel.swap? {
            SwapDevice::Hdd => (1, 8000, 150, true),
            SwapDevice::Ssd => (32, 150, 500, false),
            SwapDevice::Nvme => (64, 90, 3000, false),
        };
        let (latency, pages) = (Dur::ns(us * 1000), self.kernel.swap_gib * PAGES_OF_GIB);
        let page = page_time(mbps);
        Some(SwapSpec { pages, channels, read: latency, write: latency, page, seeks, is_pm: false })
    }
}

/// Time of a page on a bus.
fn page_time(mbps: u64) -> Dur {
    Dur::ps(4_096_000_000 / mbps)
}
