//! LB++ as the list of models knows it.

use super::params::BarrierParameters;
use crate::explore::PathSpace;
use crate::hardware::{Around, Structure, line_tags};
use crate::in_caches::{LineParameters, LineStats, LinesCore, Rules, epochs_of_lines, lines_spec};
use crate::path::{
    BlockedShare, CAPABILITIES, DependenceParameters, DependenceStats, Direct, DropStats, EpochParameters,
    EpochStats, FlushStats, PaceParameters, persistency,
};
use crate::plug::{OrderingModel, Registered};
use explore::Harness;
use params::{Param, Parameters, Statistics};
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

const PATH: &[&[Param]] =
    &[LineParameters::TABLE, PaceParameters::TABLE, EpochParameters::TABLE, DependenceParameters::TABLE];

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "lb++",
    shared: PATH,
    own: BarrierParameters::TABLE,
    shared_statistics: &[
        EpochStats::TABLE,
        BlockedShare::TABLE,
        FlushStats::TABLE,
        DropStats::TABLE,
        DependenceStats::TABLE,
    ],
    statistics: LineStats::TABLE,
    protocol: Harness::of::<PathSpace<super::explore::Lb>>(),
    model: &Lb,
};

struct Lb;

impl OrderingModel for Lb {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn tells_other_cores(&self) -> bool {
        true
    }

    fn persistency(&self, settings: &Settings) -> Persistency {
        persistency(settings)
    }

    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        let tags = line_tags(settings, around, true);
        tags.into_iter().chain([epochs_of_lines(settings, around)]).collect()
    }

    fn core_side(&self, settings: &Settings, core: u8, map: AddressMap) -> Box<dyn CoreOrdering> {
        let own = BarrierParameters::from_settings(settings);
        let rules = Rules { proactive: own.proactive_flush, tracks: own.track_dependences, one_sided: false };
        Box::new(LinesCore::new(lines_spec(settings, core, map), rules, None))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(Direct::default())
    }
}
