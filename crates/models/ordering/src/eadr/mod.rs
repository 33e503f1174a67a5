//! Caches inside the persistence domain: a store is durable once it has retired.
//!
//! Modelled: a power failure saves store buffers, private caches and the shared cache; flush instructions and persist
//! fences cost nothing.
//!
//! Not modelled: the energy reserve, and the time that it takes to empty the caches.
//!
//! Source: ASAP (HPCA 2022) §II-C.

use crate::NoPath;
use crate::caches::{CacheSpace, CachesMember, Promise};
use crate::hardware::{Around, Fate, Place, Structure, structure};
use crate::plug::{OrderingModel, Registered};
use cpu::directory::Mutant;
use explore::Harness;
use explore::Mutants;
use memory::PassThrough;
use protocol::{
    AddressMap, Capabilities, ControllerOrdering, CoreOrdering, LINE_BYTES, Persistency, Settings,
};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "eadr",
    shared: &[],
    own: &[],
    shared_statistics: &[],
    statistics: &[],
    protocol: Harness::of::<SavingSpace>(),
    model: &Eadr,
};

struct Eadr;

const CAPABILITIES: Capabilities = Capabilities { caches_persist: true, ..Capabilities::NONE };

/// Caches that survive, as they are explored.
#[derive(Clone, Copy, Debug)]
pub struct Saving;

impl CachesMember for Saving {
    const NAME: &'static str = "eadr";
    const MEANING: &'static str =
        "caches in the persistence domain: what is visible is durable, wherever it is";
    const PROMISE: Promise = Promise::Visible;
    const MUTANTS: Mutants<Mutant> = &Mutant::SAVES;
}

/// Their exploration.
pub type SavingSpace = CacheSpace<Saving>;

impl OrderingModel for Eadr {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, _: &Settings) -> Persistency {
        Persistency::Strict
    }

    fn structures(&self, _: &Settings, around: &Around) -> Vec<Structure> {
        let saved = Fate::Saved(LINE_BYTES);
        vec![
            structure("private caches", Place::Core, around.private_lines, 0, saved),
            structure("shared cache", Place::Machine, around.shared_lines, 0, saved),
        ]
    }

    fn core_side(&self, _: &Settings, _: u8, _: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(NoPath::new(CAPABILITIES))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(PassThrough)
    }
}
