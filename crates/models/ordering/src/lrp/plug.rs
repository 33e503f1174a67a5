//! LRP as the list of models knows it.

use crate::explore::PathSpace;
use crate::hardware::{Around, Structure, line_tags};
use crate::in_caches::{LineParameters, LineStats, LinesCore, epochs_of_lines, lines_spec};
use crate::path::{CAPABILITIES, Direct, EPOCHS, EpochParameters, PaceParameters, persistency};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::{Param, Parameters, Statistics};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

const PATH: &[&[Param]] = &[LineParameters::TABLE, PaceParameters::TABLE, EpochParameters::TABLE];

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "lrp",
    shared: PATH,
    own: &[],
    shared_statistics: EPOCHS,
    statistics: LineStats::TABLE,
    protocol: Harness::of::<PathSpace<super::explore::Lrp>>(),
    model: &Lrp,
};

struct Lrp;

impl OrderingModel for Lrp {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, settings: &Settings) -> Persistency {
        let model = persistency(settings);
        if model == Persistency::Release { Persistency::OneSided } else { model }
    }

    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        let tags = line_tags(settings, around, false);
        let all = tags.into_iter().chain([epochs_of_lines(settings, around)]);
        // Which lines were released, and which epochs end in a fence.
        let one_sided = u64::from(self.persistency(settings) == Persistency::OneSided);
        all.map(|s| Structure { entry_bits: s.entry_bits + one_sided, ..s }).collect()
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(LinesCore::new(lines_spec(settings, core, map), super::RULES, None))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }
}
