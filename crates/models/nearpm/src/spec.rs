//! Parameters of a near-data device; descriptions, units and sources stand in `machine`'s description.

use protocol::AddressMap;
use units::{Dur, Time};

/// How devices agree that a transaction's logs may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, params::Words)]
pub enum Sync {
    /// Devices tell each other; nobody else waits (paper §5.3.2).
    Delayed,
    /// The program polls every device first.
    Polling,
    /// Not at all: the failure of Fig. 4c.
    None,
}

/// Mistakes that the checkers must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Host accesses and requests pass each other (Fig. 4b).
    NoOrdering,
    /// A device deletes its logs without asking the others (Fig. 4c).
    NoSync,
    /// Only the sources of requests are compared, and no host access with them (the public artifact).
    SourcesOnly,
    /// Host reads are never held (the public artifact).
    UngatedReads,
    /// The request FIFO is not saved when the power fails.
    FifoLost,
    /// Saved host writes go to memory before saved requests are replayed.
    ReplaysLate,
    /// A host write that leaves the host queue is not saved any more, though memory has no place for it yet.
    ForgetsReleased,
    /// A request does not wait for a host write before it that memory has no place for yet.
    PassesReleased,
}

impl Mutant {
    /// Name, mutant and what it leaves out.
    pub const ALL: [(&'static str, Mutant, &'static str); 8] = [
        ("no-ordering", Mutant::NoOrdering, "host accesses and requests pass each other"),
        ("no-sync", Mutant::NoSync, "a device deletes its logs without asking the others"),
        ("sources-only", Mutant::SourcesOnly, "only the sources of requests are compared"),
        ("ungated-reads", Mutant::UngatedReads, "host reads are never held"),
        ("fifo-lost", Mutant::FifoLost, "the request FIFO is not saved when the power fails"),
        ("replays-late", Mutant::ReplaysLate, "saved host writes reach memory before requests are replayed"),
        (
            "forgets-released",
            Mutant::ForgetsReleased,
            "an acknowledged host write is not saved while it waits for the write pending queue",
        ),
        (
            "passes-released",
            Mutant::PassesReleased,
            "requests pass a host write that waits for the write pending queue",
        ),
    ];
}

/// What the device's state machine is made of.
#[derive(Clone, Copy, Debug)]
pub struct DispatcherSpec {
    /// The device's number.
    pub index: u8,
    /// Which lines are whose.
    pub map: AddressMap,
    /// Units.
    pub units: usize,
    /// Entries of the request FIFO.
    pub fifo: usize,
    /// Entries of the host queue.
    pub host_queue: usize,
    /// Entries of the address mapping table.
    pub table: usize,
    /// How devices agree.
    pub sync: Sync,
    /// A host write waits for every request, not only for those that it conflicts with (the public artifact).
    pub writes_wait_for_all: bool,
    /// Seeded mistakes: one of an exploration, two of a machine that is as the public artifact.
    pub mutants: [Option<Mutant>; 2],
}

impl DispatcherSpec {
    pub(crate) fn is(&self, mutant: Mutant) -> bool {
        self.mutants.contains(&Some(mutant))
    }
}

/// A device with its times.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSpec {
    /// The state machine.
    pub dispatcher: DispatcherSpec,
    /// Cores of the machine, which decide about port numbers.
    pub cores: usize,
    /// Whether programs give it commands; otherwise it is memory, and counts none.
    pub offloads: bool,
    /// From a request's dispatch to its first line: decoding, address look-up, setting up the DMA engine.
    pub start: Dur,
    /// The same for a request of up to a line, which the load/store unit moves.
    pub fine_start: Dur,
    /// From one line of a unit to its next.
    pub line: Dur,
    /// How long a line keeps the bus that the units share.
    pub bus: Dur,
    /// Requests after which the device's units stop for good; none: never.
    pub stops_after: Option<u64>,
    /// When the device loses its power for good, while everything else goes on.
    pub power_off_from: Time,
    /// How long a host's access may wait for a device without power, before the run ends.
    pub timeout: Dur,
}

/// The port through which commands pass.
#[derive(Clone, Copy, Debug)]
pub struct PortSpec {
    /// Cores of the machine.
    pub cores: usize,
    /// Which lines are whose.
    pub map: AddressMap,
    /// Stores that make a command.
    pub words: usize,
    /// Entries of each device's request FIFO.
    pub fifo: usize,
    /// A page is worked on in pieces of this size, which units share.
    pub piece: u64,
    /// A device that has not finished a request, or not answered, after so long is said to have stopped.
    pub timeout: Dur,
}
