//! What machines need to know of Optane.

use crate::params::{ControllerParameters, DimmParameters, DimmsParameters, Mode, ModeParameters, dimm_spec};
use crate::stats::{CacheStats, DimmStats, STATISTICS};
use crate::{BufferSpace, CacheSpec, CachedDimm, Dimm};
use ::plug::{Around, MemoryDevice, MemoryKind, MemoryParts, Place, System};
use explore::Harness;
use memory::ddr4::params::own_channel;
use memory::ddr4::{Ddr4, Interleave};
use memory::plug::{DDR4_STATISTICS, DDR4_TABLES};
use memory::{Admission, Controller, ControllerSpec, Drain, Media, MediaKind, controller};
use params::{Parameters, StatisticInfo, Statistics};
use protocol::{LINE_BYTES, Param, Records, Settings};

const TABLES: &[&[Param]] =
    &[DimmsParameters::TABLE, ModeParameters::TABLE, DimmParameters::TABLE, ControllerParameters::TABLE];

/// DIMMs as what another kind of memory stands on: their buffers and media, behind controllers of its own.
pub const DIMM: &dyn MediaKind = &DimmMedia;

/// Optane DIMMs.
pub const SYSTEM: System = System {
    parameters: TABLES,
    statistics: STATISTICS,
    memory: Some(&Optane),
    protocols: &[Harness::of::<BufferSpace>()],
    ..System::NOTHING
};

struct DimmMedia;

impl MediaKind for DimmMedia {
    fn name(&self) -> &'static str {
        "dimm"
    }

    fn tables(&self) -> &'static [&'static [Param]] {
        &[DimmParameters::TABLE]
    }

    fn statistics(&self) -> &'static [&'static [StatisticInfo]] {
        &[DimmStats::TABLE, controller::OF_BUFFER]
    }

    fn media(&self, s: &Settings) -> Box<dyn Media> {
        Box::new(Dimm::new(dimm_spec(s)))
    }
}

struct Optane;

impl MemoryKind for Optane {
    fn name(&self) -> &'static str {
        "optane"
    }

    fn about(&self) -> &'static str {
        "Optane DIMMs of the first generation, one behind each controller"
    }

    fn tables(&self, s: &Settings) -> Vec<&'static [Param]> {
        let cache = if has_cache(s) { DDR4_TABLES } else { &[] };
        [TABLES, cache].concat()
    }

    fn statistics(&self, s: &Settings, records: Option<Records>) -> Vec<&'static [StatisticInfo]> {
        let before: &[&[StatisticInfo]] =
            if has_cache(s) { &[CacheStats::TABLE, DDR4_STATISTICS] } else { &[controller::OF_BUFFER] };
        [&controller::statistics(records), &[DimmStats::TABLE][..], before].concat()
    }

    fn waited_for(&self) -> &'static [&'static str] {
        &["memory.optane.acknowledge_ns"]
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        let own = ControllerParameters::from_settings(around.settings);
        if own.drain_threshold > own.write_pending_queue {
            return Err(format!(
                "memory.optane.drain_threshold = {}: more than the queue holds; give at most memory.optane.write_pending_queue = {}",
                own.drain_threshold, own.write_pending_queue
            ));
        }
        if !has_cache(around.settings) {
            return Ok(());
        }
        if around.capabilities.persist_path {
            return Err(format!(
                "ordering.model = {}: memory.optane.mode = memory has nothing that a persist path could order, since the DRAM before the DIMMs forgets; give memory.optane.mode = app-direct, or {}",
                around.ordering,
                (around.models)(&|asks| !asks.persist_path)
            ));
        }
        own_channel(around.settings).map(|_| ())
    }

    fn is_volatile(&self, s: &Settings) -> Option<&'static str> {
        has_cache(s).then_some("in memory mode nothing is promised of DIMMs after a power failure")
    }

    fn controllers(&self, s: &Settings) -> usize {
        DimmsParameters::from_settings(s).dimms
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let devices =
            (0..self.controllers(place.settings)).map(|n| controller(place, n).map(|c| Box::new(c) as _));
        Ok(MemoryParts::of(devices.collect::<Result<Vec<Box<dyn MemoryDevice>>, String>>()?))
    }
}

/// Whether there is DRAM in front of the DIMMs.
fn has_cache(s: &Settings) -> bool {
    ModeParameters::from_settings(s).mode == Mode::Memory
}

/// The controller with a number, and its DIMM.
fn controller(place: &Place<'_>, number: usize) -> Result<Controller, String> {
    let own = ControllerParameters::from_settings(place.settings);
    let spec = ControllerSpec {
        base: place.map.base(place.index),
        turns: None,
        acknowledge: own.acknowledge_ns,
        commit: place.settings.dur("ordering.commit_ns"),
        write_pending_queue: own.write_pending_queue,
        coalesces: false,
        drain_threshold: own.drain_threshold,
        drain: Drain::InTurns,
        admission: Admission::ByChance { window: own.read_pending_queue, stream: number as u64 },
    };
    let dimm = Dimm::new(dimm_spec(place.settings));
    let ordering = (place.ordering)();
    if has_cache(place.settings) {
        return Ok(Controller::of_queued(spec, Box::new(cached(place, &own, dimm)?), ordering));
    }
    Ok(Controller::new(spec, Box::new(dimm), ordering))
}

/// A DIMM with a channel of DRAM in front of it.
fn cached(place: &Place<'_>, own: &ControllerParameters, dimm: Dimm) -> Result<CachedDimm, String> {
    let s = place.settings;
    let memory = place.map.memory(place.index);
    let interleave = Interleave {
        first: place.map.base(place.index) / LINE_BYTES,
        lines: memory.interleave_bytes / LINE_BYTES,
        channels: memory.controllers as u64,
    };
    let spec = CacheSpec {
        lines: ModeParameters::from_settings(s).cache_bytes / LINE_BYTES,
        underway: own.read_pending_queue,
        drain_threshold: own.drain_threshold,
        interleave,
    };
    let dram = Ddr4::new(own_channel(s)?, Interleave { first: 0, lines: 1, channels: 1 })?;
    Ok(CachedDimm::new(spec, Box::new(dram), dimm))
}
