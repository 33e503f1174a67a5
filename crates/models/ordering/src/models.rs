//! What follows from the list of ordering models ([`MODELS`]). A model's word stands in its own folder, in presets and in docs; whoever
//! wires, checks or cuts a machine asks that list.

use crate::MODELS;
use crate::early::{EarlyStats, RecordStats};
use crate::in_caches::LineParameters;
use crate::path::{
    BlockedShare, BufferParameters, BufferStats, DependenceParameters, DependenceStats, DropStats,
    EpochParameters, EpochStats, FlushStats, PaceParameters, RegionParameters, RegisterParameters,
    StallShare,
};
use crate::plug::{OrderingModel, Registered};
use ::plug::System;
use explore::Harness;
use memory::params::CommitParameters;
use params::{Kind, Param, Parameters, StatisticInfo, Statistics, Tally};
use protocol::{Capabilities, Settings};

/// The words of [`MODELS`]: what `ordering.model` accepts.
pub const NAMES: [&str; MODELS.len()] = {
    let (mut names, mut at) = ([""; MODELS.len()], 0);
    while at < MODELS.len() {
        names[at] = MODELS[at].name;
        at += 1;
    }
    names
};

/// The parameter that names the model.
pub const MODEL: Param = Param {
    key: "ordering.model",
    kind: Kind::Choice(&NAMES),
    default: "intel",
    source: "paper: ASAP §VII, the baseline",
    meaning: "how persists are ordered",
    acts: "",
};

/// Every model, with what they share.
pub const SYSTEM: System = System {
    parameters: &PARAMETERS,
    groups: &[("ordering", "order of persists")],
    statistics: &STATISTICS,
    derived: Some(derived),
    protocols: &PROTOCOLS,
    ..System::NOTHING
};

/// What several models read, and then what single ones do.
const PARAMETERS: [&[Param]; 9 + MODELS.len()] = {
    let mut tables: [&[Param]; 9 + MODELS.len()] = [&[]; 9 + MODELS.len()];
    tables[0] = &[MODEL];
    tables[1] = BufferParameters::TABLE;
    tables[2] = EpochParameters::TABLE;
    tables[3] = CommitParameters::TABLE;
    tables[4] = RegionParameters::TABLE;
    tables[5] = DependenceParameters::TABLE;
    tables[6] = RegisterParameters::TABLE;
    tables[7] = PaceParameters::TABLE;
    tables[8] = LineParameters::TABLE;
    let mut at = 0;
    while at < MODELS.len() {
        tables[9 + at] = MODELS[at].own;
        at += 1;
    }
    tables
};

/// What several models report, and then what single ones do.
const STATISTICS: [&[StatisticInfo]; 9 + MODELS.len()] = {
    let mut tables: [&[StatisticInfo]; 9 + MODELS.len()] = [&[]; 9 + MODELS.len()];
    tables[0] = StallShare::TABLE;
    tables[1] = BlockedShare::TABLE;
    tables[2] = EpochStats::TABLE;
    tables[3] = DependenceStats::TABLE;
    tables[4] = BufferStats::TABLE;
    tables[5] = FlushStats::TABLE;
    tables[6] = DropStats::TABLE;
    tables[7] = EarlyStats::TABLE;
    tables[8] = RecordStats::TABLE;
    let mut at = 0;
    while at < MODELS.len() {
        tables[9 + at] = MODELS[at].statistics;
        at += 1;
    }
    tables
};

/// What is reported with every model.
pub const EVERY_MODEL: &[StatisticInfo] = StallShare::TABLE;

const PROTOCOLS: [Harness; MODELS.len()] = {
    let (mut protocols, mut at) = ([MODELS[0].protocol; MODELS.len()], 0);
    while at < MODELS.len() {
        protocols[at] = MODELS[at].protocol;
        at += 1;
    }
    protocols
};

/// What follows from that.
fn derived(tally: &Tally, core_time: f64, each: &mut dyn FnMut(&'static str, f64)) {
    if tally.get("ordering.blocked").is_some() {
        BlockedShare { blocked_share: tally.number("ordering.blocked") / core_time }.each(each);
    }
    let stalled = tally.number("ordering.fence_stall") + tally.number("ordering.buffer_stall");
    StallShare { stall_share: stalled / core_time }.each(each);
}

/// The model that a machine has.
///
/// # Panics
/// When `ordering.model` is a word that no model has: descriptions accept [`NAMES`] alone.
pub fn of(settings: &Settings) -> &'static dyn OrderingModel {
    registered(settings).model
}

/// The same with what the list says of it.
///
/// # Panics
/// As [`of`].
pub fn registered(settings: &Settings) -> &'static Registered {
    let word = settings.text("ordering.model");
    let found = MODELS.iter().find(|m| m.name == word);
    found.unwrap_or_else(|| panic!("no ordering model is called {word}; there are {}", NAMES.join(", ")))
}

/// The words of models for which `fits` holds, in a list for people.
pub fn those(fits: &dyn Fn(&Capabilities) -> bool) -> String {
    let fitting = MODELS.iter().filter(|m| fits(&m.model.capabilities())).map(|m| m.name);
    fitting.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_said_once_and_finds_its_model() {
        for (index, name) in NAMES.iter().enumerate() {
            assert!(!name.is_empty() && !NAMES[..index].contains(name), "{name}");
        }
    }

    #[test]
    fn every_table_of_a_model_is_among_all_parameters() {
        let all: Vec<_> = PARAMETERS.iter().copied().flatten().map(|p| p.key).collect();
        for model in MODELS {
            let tables = model.shared.iter().chain([&model.own]);
            assert!(tables.copied().flatten().all(|p| all.contains(&p.key)), "{}", model.name);
        }
    }

    #[test]
    #[should_panic(expected = "no ordering model is called lazy; there are intel, ")]
    fn a_word_without_a_model_is_no_machine() {
        let mut settings = Settings::default();
        settings.set("ordering.model", params::Setting::Text("lazy".into()));
        of(&settings);
    }
}
