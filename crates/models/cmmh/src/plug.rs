//! What machines need to know of the device.

use crate::params::CmmhParameters;
use crate::power::PowerSpec;
use crate::stats::{STATISTICS, derived};
use crate::{Cmmh, CmmhSpec, PagesSpace};
use ::plug::{Around, LeastAnswer, MemoryDevice, MemoryKind, MemoryParts, Place, System};
use explore::Harness;
use memory::ddr4::params::AcknowledgeParameters;
use memory::ddr4::params::own_channel;
use memory::nand;
use memory::nand::params::NandParameters;
use memory::plug::{DDR4_STATISTICS, DDR4_TABLES};
use params::{Parameters, StatisticInfo};
use protocol::{Block, Capabilities, Line, PAGE_BYTES, Param, Records, Settings};

/// The system.
pub const SYSTEM: System = System {
    parameters: &[CmmhParameters::TABLE],
    groups: &[("cmmh", "a device behind a link whose DRAM caches NAND")],
    statistics: STATISTICS,
    derived: Some(derived),
    memory: Some(&DramBeforeNand),
    protocols: &[Harness::of::<PagesSpace>()],
    ..System::NOTHING
};

struct DramBeforeNand;

/// Pages of a MiB.
const PAGES_PER_MIB: u64 = (1 << 20) / PAGE_BYTES;

impl MemoryKind for DramBeforeNand {
    fn name(&self) -> &'static str {
        "cmmh"
    }

    fn about(&self) -> &'static str {
        "a device whose DRAM caches NAND and whose own controller serves hits and misses"
    }

    fn tables(&self, _: &Settings) -> Vec<&'static [Param]> {
        [DDR4_TABLES, &[AcknowledgeParameters::TABLE, CmmhParameters::TABLE, NandParameters::TABLE]].concat()
    }

    fn statistics(&self, _: &Settings, _: Option<Records>) -> Vec<&'static [StatisticInfo]> {
        [STATISTICS, &[DDR4_STATISTICS], &nand::STATISTICS].concat()
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        let own = CmmhParameters::from_settings(around.settings);
        let fits = |asks: &Capabilities| !asks.persist_path && !asks.caches_persist;
        if !fits(&around.capabilities) {
            let why = if around.capabilities.persist_path {
                "takes reads and writes of lines, and has no end of a persist path"
            } else {
                "saves pages with energy of its own when the power fails, and what lines of saved caches would take of it is not modelled"
            };
            let (given, others) = (around.ordering, (around.models)(&fits));
            return Err(format!("ordering.model = {given}: a device of kind cmmh {why}; give {others}"));
        }
        if own.cache_mib > own.capacity_mib {
            return Err(format!(
                "cmmh.cache_mib = {}: more than there is to cache; give at most cmmh.capacity_mib = {}",
                own.cache_mib, own.capacity_mib
            ));
        }
        let slots = own.cache_mib * PAGES_PER_MIB;
        if own.ways > slots {
            return Err(format!("cmmh.ways = {}: the DRAM has 1 to {slots} slots", own.ways));
        }
        own_channel(around.settings).map(|_| ())
    }

    fn capacity_key(&self) -> Option<&'static str> {
        Some("cmmh.capacity_mib")
    }

    /// What it takes in are pages with bytes.
    fn keeps_directory(&self) -> bool {
        false
    }

    fn controllers(&self, _: &Settings) -> usize {
        1
    }

    fn drains_lines(&self, _: &Settings) -> bool {
        false
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let (s, own) = (place.settings, CmmhParameters::from_settings(place.settings));
        let pages = (own.capacity_mib * PAGES_PER_MIB) as u32;
        let slots = own.cache_mib * PAGES_PER_MIB;
        let spec = CmmhSpec {
            base: place.map.base(place.index),
            pages,
            slots: slots as u32,
            ways: own.ways as u32,
            replacement: own.replacement,
            tags: own.tag_pages,
            tag: own.tag_ns,
            channel: own_channel(s)?,
            channels: own.channels,
            acknowledge: s.dur("memory.ddr.acknowledge_ns"),
            fills: own.fills,
            firmware: own.firmware_ns,
            write_back: own.write_back,
            write_buffer: own.write_buffer_pages,
            power: PowerSpec {
                saved_pages: own.battery_uj / own.dump_page_uj,
                page_nj: own.dump_page_uj * 1000,
            },
        };
        let mut parts = MemoryParts::of(vec![Box::new(Cmmh::new(spec, nand::flash(s, pages)?)?)]);
        parts.cache_bytes = Some(slots * PAGE_BYTES);
        Ok(parts)
    }
}

impl MemoryDevice for Cmmh {
    fn persists(&self) -> u64 {
        Cmmh::persists(self)
    }

    fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        _: &dyn Fn(Line) -> bool,
    ) -> Result<(), String> {
        Cmmh::preload(self, address, page)
    }

    fn least_answer(&self) -> Option<LeastAnswer> {
        Some(LeastAnswer { to_directory: self.least_read(), to_core: self.spec.acknowledge })
    }

    fn latest(&self, line: Line) -> Option<Block> {
        Some(Cmmh::latest(self, line))
    }

    fn has_failed(&self) -> bool {
        Cmmh::failure(self).is_some()
    }

    fn failure(&self) -> Option<String> {
        Cmmh::failure(self).cloned()
    }
}
