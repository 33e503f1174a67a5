//! What a model adds to a machine: structures with their sizes, what a power failure makes of them, and what the two halves
//! show of themselves when they are driven.
//!
//! Sizes follow from the parameters: an entry has the bits that the model's own state needs, which papers draw more or less
//! generously. Queues that every machine has (WPQ, store buffers) are nobody's.

mod build;
mod nature;

#[cfg(test)]
mod tests;

pub(crate) use build::{
    EPOCH_BITS, LINE_ADDRESS_BITS, WRITE_BITS, clocked, epoch_buffer, epoch_table, epochs_of, held_writes,
    kept_registers, line_tags, persist_buffer, records, registers, structure,
};
pub use nature::{Across, Nature, Speculates};

use crate::plug::OrderingModel;
use protocol::Settings;

/// The machine around a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// Cores.
    pub cores: u64,
    /// Controllers of persistent memory.
    pub controllers: u64,
    /// Lines of a core's private caches together.
    pub private_lines: u64,
    /// Lines of the shared cache.
    pub shared_lines: u64,
}

/// How many of a structure a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// One beside each core.
    Core,
    /// One at each controller of persistent memory.
    Controller,
    /// One.
    Machine,
}

/// How many entries a structure has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// So many, by the parameters.
    Bounded(u64),
    /// As many as are needed; a statistic says how many that was.
    AsNeeded(&'static str),
}

/// What a power failure makes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is forgotten.
    Lost,
    /// So many bytes of it are brought to memory, on stored energy.
    Saved(u64),
    /// So many bytes are written over what was speculated, on the energy that controllers have for their queues.
    Undone(u64),
}

/// A structure that a model adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Its name in the field.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// Its entries.
    pub entries: Entries,
    /// Bits that an entry adds to the machine; none where it is there anyhow.
    pub entry_bits: u64,
    /// What a power failure makes of an entry.
    pub fate: Fate,
}

/// A structure in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sized {
    /// What it is.
    pub structure: Structure,
    /// Entries of one.
    pub entries: u64,
    /// How many of it the machine has.
    pub count: u64,
}

impl Sized {
    /// Bytes of one, a part of one counting whole.
    pub fn bytes(&self) -> u64 {
        (self.entries * self.structure.entry_bits).div_ceil(8)
    }

    /// Bytes of all that a power failure brings to memory, every entry being used.
    pub fn drained_bytes(&self) -> u64 {
        let (Fate::Saved(bytes) | Fate::Undone(bytes)) = self.structure.fate else { return 0 };
        self.entries * bytes * self.count
    }
}

/// What a model adds to a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    /// Every structure.
    pub structures: Vec<Sized>,
}

impl Hardware {
    /// What `model` adds to the machine `around` it; `statistic` gives what a run counted, and an unbounded structure of
    /// which nothing was counted is empty.
    pub fn of(
        model: &dyn OrderingModel,
        settings: &Settings,
        around: &Around,
        statistic: impl Fn(&str) -> Option<f64>,
    ) -> Hardware {
        let sized = |structure: Structure| {
            let entries = match structure.entries {
                Entries::Bounded(entries) => entries,
                Entries::AsNeeded(name) => statistic(name).unwrap_or(0.0) as u64,
            };
            let count = match structure.place {
                Place::Core => around.cores,
                Place::Controller => around.controllers,
                Place::Machine => 1,
            };
            Sized { structure, entries, count }
        };
        // What has no entry is not there; what needed none in a run is.
        let structures = model.structures(settings, around).into_iter();
        let there = structures.filter(|s| s.entries != Entries::Bounded(0));
        Hardware { structures: there.map(sized).collect() }
    }

    /// Bytes added at one `place`.
    pub fn bytes_at(&self, place: Place) -> u64 {
        self.structures.iter().filter(|s| s.structure.place == place).map(Sized::bytes).sum()
    }

    /// Bytes added to the whole machine.
    pub fn bytes(&self) -> u64 {
        self.structures.iter().map(|s| s.bytes() * s.count).sum()
    }

    /// Bytes that a power failure brings to memory at most, beyond the queues of controllers.
    pub fn drained_bytes(&self) -> u64 {
        self.structures.iter().map(Sized::drained_bytes).sum()
    }

    /// Names of what a power failure brings to memory.
    pub fn drained(&self) -> Vec<&'static str> {
        self.structures.iter().filter(|s| s.structure.fate != Fate::Lost).map(|s| s.structure.name).collect()
    }

    /// Whether some of that stands where no controller's energy reaches: a battery or capacitor of its own.
    pub fn needs_battery(&self) -> bool {
        self.structures.iter().any(|s| matches!(s.structure.fate, Fate::Saved(_)))
    }
}
