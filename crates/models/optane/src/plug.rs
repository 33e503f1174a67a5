//! What machines need to know of Optane.

use crate::params::{DimmsParameters, OptaneParameters, dimm_spec};
use crate::stats::STATISTICS;
use crate::{Dimm, DimmSpec};
use ::plug::{Around, MemoryDevice, MemoryKind, MemoryParts, Place, System};
use memory::{Admission, Controller, ControllerSpec, Drain};
use params::Parameters;
use protocol::{Param, Settings};

/// Optane DIMMs.
pub const SYSTEM: System = System {
    parameters: &[DimmsParameters::TABLE, OptaneParameters::TABLE],
    statistics: STATISTICS,
    memory: Some(&Optane),
    ..System::NOTHING
};

struct Optane;

impl MemoryKind for Optane {
    fn name(&self) -> &'static str {
        "optane"
    }

    fn about(&self) -> &'static str {
        "Optane DIMMs of the first generation, one behind each controller"
    }

    fn tables(&self, _: &Settings) -> Vec<&'static [Param]> {
        vec![DimmsParameters::TABLE, OptaneParameters::TABLE]
    }

    fn waited_for(&self) -> &'static [&'static str] {
        &["memory.optane.acknowledge_ns"]
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        let own = OptaneParameters::from_settings(around.settings);
        if own.drain_threshold > own.write_pending_queue {
            return Err(format!(
                "memory.optane.drain_threshold = {}: more than the queue holds; give at most memory.optane.write_pending_queue = {}",
                own.drain_threshold, own.write_pending_queue
            ));
        }
        Ok(())
    }

    fn controllers(&self, s: &Settings) -> usize {
        DimmsParameters::from_settings(s).dimms
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let spec = dimm_spec(place.settings);
        let devices = (0..self.controllers(place.settings)).map(|_| Box::new(controller(place, spec)) as _);
        Ok(MemoryParts::of(devices.collect::<Vec<Box<dyn MemoryDevice>>>()))
    }
}

/// A controller with its DIMM.
fn controller(place: &Place<'_>, dimm: DimmSpec) -> Controller {
    let own = OptaneParameters::from_settings(place.settings);
    let spec = ControllerSpec {
        base: place.map.base(place.index),
        turns: None,
        acknowledge: own.acknowledge_ns,
        commit: place.settings.dur("ordering.commit_ns"),
        write_pending_queue: own.write_pending_queue,
        drain_threshold: own.drain_threshold,
        drain: Drain::InTurns,
        admission: Admission::ByChance { window: own.read_pending_queue },
    };
    Controller::new(spec, Box::new(Dimm::new(dimm)), (place.ordering)())
}
