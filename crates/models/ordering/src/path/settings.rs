//! A persist path from a machine's parameters, and what HOPS and ASAP declare alike.

use crate::spec::{CrossCore, Dependences, PathSpec};
use protocol::{AddressMap, Capabilities, Persistency, Settings};

/// What a buffered persist path asks of cores and caches.
pub(crate) const CAPABILITIES: Capabilities =
    Capabilities { persist_path: true, flush_instructions: false, caches_persist: false, fences: true };

/// The meaning of the word that `key` has.
fn meaning<T: Copy>(settings: &Settings, key: &str, words: &[(&str, T)]) -> T {
    let word = settings.text(key);
    words.iter().find(|(w, _)| *w == word).unwrap_or_else(|| panic!("{key} = {word} means nothing here")).1
}

fn cross_core(settings: &Settings) -> CrossCore {
    let words = [("epoch", CrossCore::Conflicts), ("release", CrossCore::Acquires)];
    meaning(settings, "ordering.persistency", &words)
}

/// What programs may rely on under epoch and under release persistency.
pub(crate) fn persistency(settings: &Settings) -> Persistency {
    match cross_core(settings) {
        CrossCore::Conflicts => Persistency::Epoch,
        CrossCore::Acquires => Persistency::Release,
    }
}

/// The parameters that persist paths have in common.
pub(crate) fn path_spec(settings: &Settings, core: u8, map: AddressMap) -> PathSpec {
    let dependences = [("stores", Dependences::Stores), ("accesses", Dependences::Accesses)];
    let persist_buffer = settings.count("ordering.persist_buffer");
    PathSpec {
        core,
        map,
        persist_buffer,
        epoch_table: settings.count("ordering.epoch_table"),
        flush_issue: settings.dur("ordering.flush_issue_ns"),
        flush_trigger: settings.count("ordering.flush_trigger").min(persist_buffer),
        flush_timer: settings.dur("ordering.flush_timer_ns"),
        cross_core: cross_core(settings),
        dependences: meaning(settings, "ordering.dependences", &dependences),
    }
}
