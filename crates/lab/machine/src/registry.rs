//! The systems that there are: a line each. Nothing else here knows one by name.

use crate::fidelity::FidelityParameters;
use crate::interest::Sampling;
use crate::throughput::Throughput;
use explore::Harness;
use params::{Param, Parameters, Statistics, join, rows};
use plug::{MemoryKind, System};
use simulator::Registered;

/// The parts of every machine, and what the engine runs.
const PARTS: [System; 11] = [
    ANY,
    cpu::SYSTEM,
    ordering::models::SYSTEM,
    memory::SYSTEM,
    memory::DDR4,
    memory::DDR5,
    NEAR,
    nvdimmc::SYSTEM,
    optane::SYSTEM,
    cmmh::SYSTEM,
    pberry::SYSTEM,
];

/// Near-data devices, and what they may keep their data in.
const NEAR: System = System { memory: Some(&nearpm::NearMemory::on(&[optane::DIMM])), ..nearpm::SYSTEM };

/// What simulates machines that the engine does not, each a system too.
pub(crate) const SIMULATORS: [Registered; 2] = [pagesim::SIMULATOR, shared::SIMULATOR];

/// Every system.
pub(crate) const SYSTEMS: [System; PARTS.len() + SIMULATORS.len()] = {
    let mut all = [System::NOTHING; PARTS.len() + SIMULATORS.len()];
    let mut n = 0;
    while n < all.len() {
        all[n] = if n < PARTS.len() { PARTS[n] } else { *SIMULATORS[n - PARTS.len()].system };
        n += 1;
    }
    all
};

/// What is said of every machine.
const ANY: System = System {
    parameters: &[FidelityParameters::TABLE],
    groups: &[("machine", "the machine")],
    statistics: &[Throughput::TABLE, Sampling::TABLE],
    ..System::NOTHING
};

/// What keys begin with, and what they are about.
pub fn groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    SYSTEMS.iter().flat_map(|system| system.groups).copied()
}

/// Every kind of memory.
pub fn memory_kinds() -> impl Iterator<Item = &'static dyn MemoryKind> {
    SYSTEMS.iter().filter_map(|system| system.memory)
}

/// What the kinds of memory are called.
pub(crate) fn memory_kind_names() -> Vec<&'static str> {
    memory_kinds().map(|kind| kind.name()).collect()
}

/// The words that a parameter accepts and its own table does not know: kinds of memory.
pub(crate) fn words_of(param: &Param) -> Option<Vec<&'static str>> {
    (param.key == "memory.kind").then(memory_kind_names)
}

/// What a parameter accepts, in words.
pub fn accepts(param: &Param) -> String {
    words_of(param).map_or_else(|| param.kind.accepts(), |words| format!("one of {}", words.join(", ")))
}

/// The kind of memory called `name`.
pub(crate) fn memory_kind(name: &str) -> Option<&'static dyn MemoryKind> {
    memory_kinds().find(|kind| kind.name() == name)
}

/// What can be explored.
pub fn protocols() -> impl Iterator<Item = &'static Harness> {
    SYSTEMS.iter().flat_map(|system| system.protocols)
}

const fn tables() -> usize {
    let (mut count, mut system) = (0, 0);
    while system < SYSTEMS.len() {
        count += SYSTEMS[system].parameters.len();
        system += 1;
    }
    count
}

const TABLES: [&[Param]; tables()] = {
    let mut all: [&[Param]; tables()] = [&[]; tables()];
    let (mut at, mut system) = (0, 0);
    while system < SYSTEMS.len() {
        let mut table = 0;
        while table < SYSTEMS[system].parameters.len() {
            all[at] = SYSTEMS[system].parameters[table];
            (at, table) = (at + 1, table + 1);
        }
        system += 1;
    }
    all
};

/// Every parameter of a machine.
pub(crate) const PARAMETERS: &[Param] = &join::<_, { rows(&TABLES) }>(&TABLES);
