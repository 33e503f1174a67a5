//! Kinds of memory.

use crate::{Companion, MemoryDevice, UncachedPort};
use params::StatisticInfo;
use protocol::{AddressMap, Capabilities, ControllerOrdering, NearInterface, Param, Records, Settings};
use std::cell::RefCell;
use std::rc::Rc;
use units::Dur;

/// Whether an ordering model fits.
pub type Fits<'f> = dyn Fn(&Capabilities) -> bool + 'f;
/// Lists the ordering models that fit, for people.
pub type Models<'a> = &'a dyn Fn(&Fits<'_>) -> String;

/// What stands before and beside a memory.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The parameters of the machine, those of this memory's own laid over them.
    pub settings: &'a Settings,
    /// The name of the ordering model.
    pub ordering: &'a str,
    /// What that model asks of cores and caches.
    pub capabilities: Capabilities,
    /// The names of the models for which something holds, in a list for people.
    pub models: Models<'a>,
    /// Its place in the list.
    pub index: usize,
    /// Whether it takes every page that is in no range.
    pub is_rest: bool,
    /// Whether it has a range of its own.
    pub is_sized: bool,
    /// The kinds of all memories of the machine, in the order of the list.
    pub kinds: &'a [&'static str],
}

impl Around<'_> {
    /// Whether it is the machine's only memory.
    pub fn is_alone(&self) -> bool {
        self.kinds.len() == 1
    }

    /// How many memories of the machine are of kind `kind`.
    pub fn count_of(&self, kind: &str) -> usize {
        self.kinds.iter().filter(|k| **k == kind).count()
    }
}

/// Where a memory is built.
pub struct Place<'a> {
    /// The parameters of the machine, those of this memory's own laid over them.
    pub settings: &'a Settings,
    /// Cores of the machine.
    pub cores: usize,
    /// Its place in the list.
    pub index: usize,
    /// Which controller has which address, on the whole machine.
    pub map: AddressMap,
    /// Makes the controller half of the ordering model.
    pub ordering: &'a dyn Fn() -> Box<dyn ControllerOrdering>,
}

/// What a memory is made of.
pub struct MemoryParts {
    /// One for each of its controllers.
    pub devices: Vec<Box<dyn MemoryDevice>>,
    /// What belongs to it besides.
    pub companion: Option<Rc<RefCell<dyn Companion>>>,
    /// What is behind the port of uncached accesses; one memory of a machine may have it.
    pub port: Option<Box<dyn UncachedPort>>,
    /// What programs are told of devices that take crash consistency over.
    pub offload: Option<NearInterface>,
    /// Bytes that a cache in front of it holds.
    pub cache_bytes: Option<u64>,
}

impl MemoryParts {
    /// Devices alone.
    pub fn of(devices: Vec<Box<dyn MemoryDevice>>) -> MemoryParts {
        MemoryParts { devices, companion: None, port: None, offload: None, cache_bytes: None }
    }
}

/// A kind of memory: declared once, and known to the machine by one line of a registry.
pub trait MemoryKind: Sync {
    /// Its word in a description: `[[memory]] kind = "..."`.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn about(&self) -> &'static str;

    /// The tables of parameters that act on it as `settings` describe it.
    fn tables(&self, settings: &Settings) -> Vec<&'static [Param]>;

    /// The tables of statistics that it reports as `settings` describe it; `records` are what the halves of the ordering model keep at its
    /// controllers. What follows from counts is among it.
    fn statistics(&self, settings: &Settings, records: Option<Records>) -> Vec<&'static [StatisticInfo]>;

    /// Keys of these that act only where somebody waits for a write to be durable: a fence, a persist path, a device.
    fn waited_for(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether its parameters fit together, and with what stands before and beside it.
    ///
    /// # Errors
    /// The key, the reason, and what is accepted.
    fn check(&self, around: &Around<'_>) -> Result<(), String>;

    /// The key that says how many MiB a program finds in it, where that is fewer than addresses have room for.
    fn capacity_key(&self) -> Option<&'static str> {
        None
    }

    /// Its controllers.
    fn controllers(&self, settings: &Settings) -> usize;

    /// Whether there may be more of them than one, or fewer, as `memory.controllers` says.
    fn counts_controllers(&self) -> bool {
        true
    }

    /// One way between the directory and one of its controllers.
    fn link(&self, settings: &Settings) -> Dur {
        settings.dur("wires.directory_controller_ns")
    }

    /// How long a store to a register of it holds its core, where programs reach registers of it through the port of uncached
    /// accesses, of which a machine has one.
    fn register_store(&self, settings: &Settings) -> Option<Dur> {
        let _ = settings;
        None
    }

    /// One way between the command port and one of its controllers, and between two of them.
    fn command_links(&self, settings: &Settings) -> [Dur; 2] {
        [self.link(settings); 2]
    }

    /// Whether it gives programs' addresses other places: it then has a window of addresses of its own where the machine
    /// has several memories.
    fn translates(&self, settings: &Settings) -> bool {
        let _ = settings;
        false
    }

    /// Why a link to a device cannot carry it; none where it can.
    fn needs_the_host(&self, settings: &Settings) -> Option<&'static str> {
        let _ = settings;
        None
    }

    /// Whether a write of none of a line's bytes, by which another socket keeps who has the line, costs it a write. Where it does not,
    /// nothing is kept there.
    fn keeps_directory(&self) -> bool {
        true
    }

    /// Why nothing of it is left when the power fails; none where it is persistent.
    fn is_volatile(&self, settings: &Settings) -> Option<&'static str> {
        let _ = settings;
        None
    }

    /// Whether a power failure of the host empties it. What is volatile elsewhere, with power of its own, is not.
    fn is_emptied(&self, settings: &Settings) -> bool {
        self.is_volatile(settings).is_some()
    }

    /// Whether stored energy has to bring single lines of it to the media when the power fails, for what the machine takes for
    /// one. A device that saves pages whole has a price of its own for these.
    fn drains_lines(&self, settings: &Settings) -> bool {
        self.is_volatile(settings).is_none()
    }

    /// What a power failure takes that a program was told is durable; none where it takes nothing.
    fn forgets(&self, settings: &Settings) -> Option<&'static str> {
        let _ = settings;
        None
    }

    /// Builds it.
    ///
    /// # Errors
    /// When parameters do not fit together: the key, and what is accepted.
    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String>;
}
