//! Which parameters act on a machine. It follows from what the machine is made of: a key of a table that nothing of it reads
//! is refused where somebody gives it, and shown nowhere.

use crate::describe::{Description, Given, Sourced};
use crate::error::ConfigError;
use crate::fidelity::FidelityParameters;
use crate::memories::Entry;
use crate::params::MACHINE;
use crate::presets::PRESETS;
use crate::registry::memory_kinds;
use ::params::{Kind, Param, Parameters, Settings};
use cpu::params::{
    ControllerWireParameters, CpuParameters, FlushParameters, L1Parameters, L2Parameters, LlcParameters,
    NonTemporalParameters, OutstandingParameters, PathFenceParameters, PeerWireParameters,
    PersistPathParameters, RateParameters, SfenceParameters, WireParameters, WriteBackParameters,
};
use memory::params::{
    ControllersParameters, DrainParameters, DramMediaParameters, DramParameters, DramTimeParameters,
    InterleaveParameters, KindParameters,
};
use plug::MemoryKind;
use protocol::params::Setting;
use std::collections::BTreeSet;

/// Every machine at line fidelity has these.
const LINES: [&[Param]; 9] = [
    CpuParameters::TABLE,
    RateParameters::TABLE,
    L1Parameters::TABLE,
    L2Parameters::TABLE,
    LlcParameters::TABLE,
    WireParameters::TABLE,
    DramParameters::TABLE,
    DramMediaParameters::TABLE,
    &[ordering::models::MODEL],
];

impl Description {
    /// The keys that act on it, the machine that is measured for it aside; with `whatever`, also those that would with other values
    /// of other keys.
    fn own_keys(&self, whatever: bool) -> BTreeSet<&'static str> {
        let mut keys = BTreeSet::new();
        let mut add = |tables: &[&'static [Param]], settings: &Settings| {
            let acting = tables.iter().copied().flatten().filter(|p| whatever || p.acts_with(settings));
            keys.extend(acting.map(|p| p.key));
        };
        add(&[FidelityParameters::TABLE], &self.settings);
        if let Some(simulator) = self.simulator() {
            add(&simulator.tables(&self.settings), &self.settings);
            keys.retain(|key| whatever || simulator.acts(&self.settings, key));
            return keys;
        }
        // What is wrong with the list itself is told by its own check.
        let entries = self.entries().unwrap_or_default();
        add(&self.line_tables(&entries), &self.settings);
        let controllers =
            entries.iter().map(controllers_of).chain([self.settings.count("memory.dram.controllers")]);
        if controllers.max() > Some(1) {
            add(&[InterleaveParameters::TABLE], &self.settings);
        }
        if entries.iter().any(|entry| entry.kind.drains_lines(&entry.settings)) {
            add(&[DrainParameters::TABLE], &self.settings);
        }
        let waits = self.waits_for_writes(&entries);
        if whatever {
            entries.iter().for_each(|entry| add(&tables_of(entry), &entry.settings));
        }
        for (index, entry) in entries.iter().enumerate() {
            // What a memory of a list says of itself, nothing said of the machine changes.
            let own = self.memories.get(index).map(|described| &described.settings);
            let of_entry = keys_of(entry, waits, self.memories.len() > 1);
            keys.extend(of_entry.filter(|key| own.is_none_or(|own| !own.contains_key(*key))));
        }
        keys
    }

    /// Whether anybody waits for a write to be durable.
    pub(crate) fn waits_for_writes(&self, entries: &[Entry]) -> bool {
        let asks = ordering::models::registered(&self.settings).model.capabilities();
        asks.flush_instructions || has_registers(entries) || asks.persist_path || asks.orders_stores
    }

    /// The tables beside the memories'.
    fn line_tables(&self, entries: &[Entry]) -> Vec<&'static [Param]> {
        let mut tables = LINES.to_vec();
        match memory::plug::dram_tables(&self.settings) {
            Some(channels) => tables.extend(channels),
            None => tables.push(DramTimeParameters::TABLE),
        }
        let model = ordering::models::registered(&self.settings);
        let asks = model.model.capabilities();
        tables.extend(model.shared.iter().chain([&model.own]));
        if asks.persist_path {
            tables.push(PersistPathParameters::TABLE);
        }
        if asks.persist_path && asks.fences {
            tables.push(PathFenceParameters::TABLE);
        }
        if model.model.tells_other_cores() {
            tables.push(PeerWireParameters::TABLE);
        }
        if asks.flush_instructions {
            tables.extend([NonTemporalParameters::TABLE, WriteBackParameters::TABLE]);
        }
        // Programs flush what a device is to read, whatever the model.
        if asks.flush_instructions || has_registers(entries) {
            tables.extend([FlushParameters::TABLE, OutstandingParameters::TABLE]);
            // An sfence of a program is one of the persist path's where that orders stores.
            if asks.fences && !asks.orders_stores {
                tables.push(SfenceParameters::TABLE);
            }
        }
        if self.waits_for_writes(entries) {
            tables.push(ControllerWireParameters::TABLE);
        }
        // The memories of a list have a kind each.
        if self.memories.is_empty() {
            tables.push(KindParameters::TABLE);
        }
        tables
    }

    /// Keys of the machine at line fidelity that is measured for this one.
    fn measured_keys(&self) -> BTreeSet<&'static str> {
        let measured = self.simulator().and_then(|simulator| simulator.measured(&self.settings));
        let Some(measured) = measured else { return BTreeSet::new() };
        let mut other = match Description::preset(measured.machine) {
            Ok(other) => other.acting(),
            Err(_) => BTreeSet::new(),
        };
        other.retain(|key| measured.asks(key));
        other
    }

    /// The keys that act on this machine.
    pub(crate) fn acting(&self) -> BTreeSet<&'static str> {
        let mut keys = self.own_keys(false);
        keys.extend(self.measured_keys());
        keys
    }

    /// Whether the parameter called `key` acts on this machine, or is one of one of its memories, which is looked at by
    /// itself.
    pub fn acts(&self, key: &str) -> bool {
        matches!(self.of_one_memory(key), Ok(Some(_))) || self.acting().contains(key)
    }

    /// Every parameter that acts on this machine, with its value and where that comes from.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Param, String, String)> + '_ {
        let acting = self.acting();
        MACHINE.iter().filter(move |p| acting.contains(p.key)).map(|p| {
            let value = self.settings.get(p.key).map_or_else(String::new, |v| p.kind.show(v));
            let source = self.sources.get(p.key).cloned().unwrap_or_else(|| p.source.to_string());
            (p, value, source)
        })
    }

    /// Whether what was given acts: by the user, or in the machine's own file where `file` says so. What a machine has
    /// from the one that it extends was said of that one.
    ///
    /// # Errors
    /// The first key that does nothing, and the machines on which it acts.
    pub(crate) fn check_given(&self, file: bool) -> Result<(), ConfigError> {
        self.check_given_of_memories()?;
        let acting = self.acting();
        for (key, given) in self.given.iter().filter(|(key, _)| !acting.contains(*key)) {
            match given {
                Given::File(place) if file => {
                    return Err(ConfigError::new(format!(
                        "{place}: {}",
                        does_nothing(key, std::iter::once(self))
                    )));
                }
                Given::User => return Err(ConfigError::new(does_nothing(key, std::iter::once(self)))),
                Given::File(_) => {}
            }
        }
        Ok(())
    }
}

impl Description {
    /// What the user's own file says that does nothing any more beside what was set since, in words.
    pub fn says_in_vain(&self) -> Vec<String> {
        if PRESETS.iter().any(|preset| preset.name == self.name) {
            return Vec::new();
        }
        let acting = self.acting();
        let idle = self.given.iter().filter(|(key, _)| !acting.contains(*key));
        let told = idle.filter_map(|(key, given)| match given {
            Given::File(place) => Some(format!("{place}: {key} does nothing beside what was set")),
            Given::User => None,
        });
        told.collect()
    }

    /// Whether keys that a file gives a source act, on the machine or on a memory that says them itself.
    ///
    /// # Errors
    /// The first that does nothing, and the machines on which it acts.
    pub(crate) fn check_sourced(&self, sourced: &[Sourced]) -> Result<(), ConfigError> {
        let acting = self.acting();
        let is_own = |key: &str| self.memories.iter().any(|memory| memory.settings.contains_key(key));
        match sourced.iter().find(|(key, _)| !acting.contains(key) && !is_own(key)) {
            Some((key, place)) => Err(ConfigError::new(format!(
                "{place}: sources: {}",
                does_nothing(key, std::iter::once(self))
            ))),
            None => Ok(()),
        }
    }

    /// What makes `key` do nothing here: another key, where the machine as it comes has a use for it; or a word that was chosen.
    fn left_idle_by(&self, key: &str) -> Option<String> {
        let Ok(plain) = Description::preset(&self.name) else { return self.chosen_against(key) };
        if !plain.acts(key) {
            return None;
        }
        let others = self.given.keys().filter(|other| **other != key);
        let mut blamed = others.filter_map(|other| self.acts_but_for(key, other, plain.settings.get(other)?));
        let text = || format!("{key}: does nothing on {} with the other keys that were given", self.name);
        Some(blamed.next().unwrap_or_else(text))
    }

    /// Which word leaves no use for `key`, of those that a file or the user chose, and of those of its memory that it has from
    /// another machine.
    fn chosen_against(&self, key: &str) -> Option<String> {
        let defaults = Settings::defaults(MACHINE);
        let is_chosen = |p: &Param| {
            let differs = self.settings.get(p.key) != defaults.get(p.key);
            self.given.contains_key(p.key) || (differs && p.key.starts_with("memory."))
        };
        MACHINE.iter().filter(|p| is_chosen(p)).find_map(|param| {
            let words: Vec<&str> = if let Kind::Choice(words) = param.kind {
                words.to_vec()
            } else if param.key == "memory.kind" {
                memory_kinds().map(MemoryKind::name).collect()
            } else {
                return None;
            };
            let words = words.into_iter().map(|word| Setting::Text(word.into()));
            let mut there = defaults.get(param.key).cloned().into_iter().chain(words);
            there.find_map(|there| self.acts_but_for(key, param.key, &there))
        })
    }

    /// That `key` does nothing with the value of another key that it has here, where it acts with one that that has elsewhere.
    fn acts_but_for(&self, key: &str, other: &'static str, elsewhere: &Setting) -> Option<String> {
        let mut without = self.clone();
        without.settings.set(other, elsewhere.clone());
        let param = MACHINE.iter().find(|p| p.key == other).filter(|_| without.acts(key))?;
        let here = param.kind.show(self.settings.get(other)?);
        let (name, there) = (&self.name, param.kind.show(elsewhere));
        Some(format!("{key}: does nothing on {name} with {other} = {here}; it acts with {other} = {there}"))
    }
}

/// Whether a memory has registers to which programs store.
fn has_registers(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| entry.register_store().is_some())
}

/// Controllers between which a memory's lines are shared.
pub(crate) fn controllers_of(entry: &Entry) -> usize {
    entry.kind.controllers(&entry.settings)
}

/// The tables of one memory, its link's among them.
fn tables_of(entry: &Entry) -> Vec<&'static [Param]> {
    let mut tables = entry.kind.tables(&entry.settings);
    if entry.kind.needs_the_host(&entry.settings).is_none() || memory::link::is_linked(&entry.settings) {
        tables.extend(memory::link::tables(&entry.settings));
    }
    tables
}

/// The keys that act on one memory, its link's among them; `waits`: somebody waits for writes to be durable; `listed`: it is one
/// of several. Alone, a memory says how many controllers the machine has.
pub(crate) fn keys_of(entry: &Entry, waits: bool, listed: bool) -> impl Iterator<Item = &'static str> {
    let acting =
        tables_of(entry).into_iter().flatten().filter(|p| p.acts_with(&entry.settings)).map(|p| p.key);
    let is_fixed = move |key: &str| {
        listed
            && !entry.kind.counts_controllers()
            && ControllersParameters::TABLE.iter().any(|p| p.key == key)
    };
    acting.filter(move |key| (waits || !entry.kind.waited_for().contains(key)) && !is_fixed(key))
}

/// That `key` does nothing on any of some machines, and where it acts: on single memories of one, with another key's value, or
/// on others.
pub fn does_nothing<'a>(key: &str, machines: impl Iterator<Item = &'a Description> + Clone) -> String {
    if let Some(text) = machines.clone().find_map(|machine| machine.has_its_own(key)) {
        return text;
    }
    let mut all = machines.clone();
    if let (Some(alone), None) = (all.next(), all.next())
        && let Some(text) = alone.left_idle_by(key)
    {
        return text;
    }
    let names: Vec<&str> = machines.map(|machine| machine.name.as_str()).collect();
    format!("{key}: does nothing on {}; {}", names.join(", "), acts_on(key, &names))
}

/// The machines that come with the project on which `key` acts, in a sentence; but those on which it was given.
pub fn acts_on(key: &str, but: &[&str]) -> String {
    let acting = presets(but, |machine| machine.acts(key));
    if !acting.is_empty() {
        return format!("it acts on {acting}");
    }
    // With other values of other keys, here or elsewhere.
    let would = |machine: &Description| machine.own_keys(true).contains(key);
    let here = but.iter().any(|name| Description::preset(name).is_ok_and(|machine| would(&machine)));
    let elsewhere = presets(&[], would);
    let hangs = MACHINE.iter().find(|p| p.key == key).filter(|p| !p.acts.is_empty());
    match hangs {
        Some(param) if here || elsewhere.is_empty() => format!("it acts with {}", param.acts),
        Some(param) => format!("it acts on {elsewhere} with {}", param.acts),
        None => "it acts on none of the machines that come with the project".to_string(),
    }
}

/// The names of presets that are so, but some. Of variants those are named that are of one of these, or all where nothing else is so.
fn presets(but: &[&str], is_so: impl Fn(&Description) -> bool) -> String {
    let is_one = |name: &&str| !but.contains(name) && Description::preset(name).is_ok_and(|m| is_so(&m));
    let names: Vec<&str> = PRESETS.iter().map(|p| p.name).filter(is_one).collect();
    let is_of_one = |name: &str| but.iter().any(|b| name.split('@').next() == Some(b));
    let plain: Vec<&str> = names.iter().copied().filter(|n| !n.contains('@') || is_of_one(n)).collect();
    if plain.is_empty() { names } else { plain }.join(", ")
}
