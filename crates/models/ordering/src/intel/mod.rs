//! Volatile caches: programs flush lines and fence.
//!
//! ```text
//!   stores -> caches --clwb, clflushopt--> directory --Write--> controller -> WPQ; sfence waits for the answers
//! ```
//!
//! Modelled: what the core, the directory and the controller do about flush instructions; nothing is beside the core.
//!
//! Not modelled: CLDEMOTE and other hints.
//!
//! Sources: Intel SDM volume 1, 11.4.4 and volume 2 (CLWB, CLFLUSHOPT, SFENCE); ASAP (HPCA 2022) §II-B.

use crate::NoPath;
use crate::caches::{CacheSpace, CachesMember, Promise};
use crate::hardware::{Around, Structure};
use crate::plug::{OrderingModel, Registered};
use cpu::directory::Mutant;
use explore::Harness;
use explore::Mutants;
use memory::PassThrough;
use protocol::{AddressMap, Capabilities, ControllerOrdering, CoreOrdering, Persistency, Settings};

/// The model, by its word.
pub const MODEL: Registered = Registered {
    name: "intel",
    shared: &[],
    own: &[],
    shared_statistics: &[],
    statistics: &[],
    protocol: Harness::of::<FlushSpace>(),
    model: &Intel,
};

struct Intel;

const CAPABILITIES: Capabilities =
    Capabilities { flush_instructions: true, fences: true, ..Capabilities::NONE };

/// clwb and sfence, as they are explored.
#[derive(Clone, Copy, Debug)]
pub struct Flushing;

impl CachesMember for Flushing {
    const NAME: &'static str = "intel";
    const MEANING: &'static str = "clwb and sfence, through the directory: what is fenced is durable";
    const PROMISE: Promise = Promise::Fenced;
    const MUTANTS: Mutants<Mutant> = &Mutant::FLUSHES;
}

/// Their exploration.
pub type FlushSpace = CacheSpace<Flushing>;

impl OrderingModel for Intel {
    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn persistency(&self, _: &Settings) -> Persistency {
        Persistency::Px86Line
    }

    fn structures(&self, _: &Settings, _: &Around) -> Vec<Structure> {
        Vec::new()
    }

    fn core_side(&self, _: &Settings, _: u8, _: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(NoPath::new(CAPABILITIES))
    }

    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(PassThrough)
    }
}
