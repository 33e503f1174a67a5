//! PMEM-Spec as the list of models knows it.

use super::params::CAPABILITIES;
use super::stats::{PathStats, WatchStats};
use super::{SpecCore, SpecParameters, SpeculationBuffer};
use crate::hardware::{Around, Entries, Fate, LINE_ADDRESS_BITS, Place, Structure, WRITE_BITS, structure};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::{Parameters, StatisticInfo, Statistics, join, rows};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

const STATISTICS: &[StatisticInfo] = {
    const PARTS: [&[StatisticInfo]; 2] = [PathStats::TABLE, WatchStats::TABLE];
    &join::<_, { rows(&PARTS) }>(&PARTS)
};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "pmem-spec",
    shared: &[],
    own: SpecParameters::TABLE,
    shared_statistics: &[],
    statistics: STATISTICS,
    protocol: Harness::of::<super::explore::SpecSpace>(),
    model: &PmemSpec,
};

struct PmemSpec;

impl OrderingModel for PmemSpec {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    /// Each core's stores persist in order; those of two cores by what one releases and the other acquires.
    fn persistency(&self, _: &Settings) -> Persistency {
        Persistency::Release
    }

    fn structures(&self, settings: &Settings, _: &Around) -> Vec<Structure> {
        let path = SpecParameters::from_settings(settings).persist_path_entries as u64;
        // A store on the path may have to stay in its core's caches, for two reasons. A watched line was read, or was not.
        let watched = Structure {
            entries: Entries::AsNeeded("ordering.speculation_buffer.max"),
            ..structure("speculation buffer", Place::Controller, 0, LINE_ADDRESS_BITS + 1, Fate::Lost)
        };
        vec![structure("persist path", Place::Core, path, WRITE_BITS + 2, Fate::Lost), watched]
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(SpecCore::new(core, map, SpecParameters::from_settings(settings), None))
    }

    fn controller_side(&self, settings: &Settings) -> Box<dyn ControllerOrdering> {
        let window = SpecParameters::from_settings(settings).speculation_window_ns;
        Box::new(SpeculationBuffer::new(window, None))
    }

    fn check(&self, settings: &Settings) -> Result<(), String> {
        let spec = SpecParameters::from_settings(settings);
        let way = spec.persist_path_ns + settings.dur("wires.core_controller_ns");
        if spec.speculation_window_ns >= way {
            return Ok(());
        }
        Err(format!(
            "ordering.speculation_window_ns = {}: a store takes {} ns to its controller (ordering.persist_path_ns, wires.core_controller_ns), and one that comes later would not be noticed; give that or more",
            spec.speculation_window_ns.as_ns(),
            way.as_ns()
        ))
    }
}
