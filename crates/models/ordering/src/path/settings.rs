//! A persist path from a machine's parameters, and what HOPS and ASAP declare alike.

use super::{BufferParameters, DependenceParameters, EpochParameters, PaceParameters};
use crate::spec::{CrossCore, PathSpec};
use params::{Param, Parameters};
use protocol::{AddressMap, Capabilities, Persistency, Settings};

/// The parameters of a path of epochs with a buffer beside each core.
pub(crate) const BUFFERED: &[&[Param]] =
    &[BufferParameters::TABLE, PaceParameters::TABLE, EpochParameters::TABLE, DependenceParameters::TABLE];

/// What a buffered persist path asks of cores and caches.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { persist_path: true, orders_stores: true, fences: true, ..Capabilities::NONE };

/// What programs may rely on under epoch and under release persistency.
pub(crate) fn persistency(settings: &Settings) -> Persistency {
    match EpochParameters::from_settings(settings).persistency {
        CrossCore::Conflicts => Persistency::Epoch,
        CrossCore::Acquires => Persistency::Release,
    }
}

/// The parameters that persist paths have in common.
pub(crate) fn path_spec(settings: &Settings, core: u8, map: AddressMap) -> PathSpec {
    path_spec_of(BufferParameters::from_settings(settings).persist_buffer, settings, core, map)
}

/// The same of a path with room for so many writes.
pub(crate) fn path_spec_of(writes: usize, settings: &Settings, core: u8, map: AddressMap) -> PathSpec {
    let pace = PaceParameters::from_settings(settings);
    let epochs = EpochParameters::from_settings(settings);
    PathSpec {
        core,
        map,
        persist_buffer: writes,
        epoch_table: epochs.epoch_table,
        flush_issue: pace.flush_issue_ns,
        flush_trigger: pace.flush_trigger.min(writes),
        flush_timer: pace.flush_timer_ns,
        cross_core: epochs.persistency,
        dependences: DependenceParameters::from_settings(settings).dependences,
    }
}
