//! Structures that several models have.

use super::{Around, Entries, Fate, Place, Structure};
use crate::path::{BufferParameters, EpochParameters, RegisterParameters};
use params::Parameters;
use protocol::{EpochId, LINE_BYTES, Settings};

/// A line's address: 48 bits of a physical address, less those within the line.
pub(crate) const LINE_ADDRESS_BITS: u64 = 42;
/// A write of a line: address, a bit a byte, bytes.
pub(crate) const WRITE_BITS: u64 = LINE_ADDRESS_BITS + LINE_BYTES + 8 * LINE_BYTES;

/// The number of an epoch, where it is compared and never wraps.
pub(crate) const EPOCH_BITS: u64 = EpochId::BITS as u64;

/// Bits that tell so many things apart.
pub(crate) fn bits_for(things: u64) -> u64 {
    u64::from(things.saturating_sub(1).checked_ilog2().map_or(0, |bits| bits + 1))
}

/// A structure with so many entries.
pub(crate) fn structure(
    name: &'static str,
    place: Place,
    entries: u64,
    entry_bits: u64,
    fate: Fate,
) -> Structure {
    Structure { name, place, entries: Entries::Bounded(entries), entry_bits, fate }
}

/// Writes on their way to a controller: which epoch of `epochs` they are of, whether they were sent, and whether refused.
pub(crate) fn persist_buffer(settings: &Settings, epochs: u64, fate: Fate) -> Structure {
    let entries = BufferParameters::from_settings(settings).persist_buffer as u64;
    structure("persist buffer", Place::Core, entries, WRITE_BITS + bits_for(epochs) + 2, fate)
}

/// The same, of a core's epochs in flight.
pub(crate) fn epoch_buffer(settings: &Settings) -> Structure {
    let epochs = EpochParameters::from_settings(settings).epoch_table as u64;
    persist_buffer(settings, epochs, Fate::Lost)
}

/// The epochs of a core: writes that are not acknowledged, the epoch of another core that comes first, cores that wait for
/// it, and two bits of its state. Those whose flushes leave early also know the controllers that have them.
pub(crate) fn epoch_table(settings: &Settings, around: &Around, early: bool) -> Structure {
    epochs_of(BufferParameters::from_settings(settings).persist_buffer as u64, settings, around, early)
}

/// The same where so many writes may wait.
pub(crate) fn epochs_of(writes: u64, settings: &Settings, around: &Around, early: bool) -> Structure {
    let epochs = EpochParameters::from_settings(settings).epoch_table as u64;
    let pending = bits_for(writes + 1);
    let dependence = 1 + bits_for(around.cores) + bits_for(epochs);
    let commits = if early { around.controllers + bits_for(around.controllers + 1) } else { 0 };
    structure(
        "epoch table",
        Place::Core,
        epochs,
        pending + dependence + around.cores + 2 + commits,
        Fate::Lost,
    )
}

/// Writes at a controller that belong to an epoch of some core.
fn owned_bits(settings: &Settings, around: &Around) -> u64 {
    let epochs = EpochParameters::from_settings(settings).epoch_table as u64;
    WRITE_BITS + bits_for(around.cores) + bits_for(epochs)
}

/// Records that undo or delay early flushes, and the filter of what was refused.
pub(crate) fn records(
    name: &'static str,
    entries: usize,
    settings: &Settings,
    around: &Around,
) -> [Structure; 2] {
    let bits = owned_bits(settings, around) + 1;
    let table = structure(name, Place::Controller, entries as u64, bits, Fate::Undone(LINE_BYTES));
    [table, filter()]
}

/// Flushes that stand at a controller until they may be written, and the filter of what was refused.
pub(crate) fn held_writes(entries: usize, settings: &Settings, around: &Around) -> [Structure; 2] {
    let bits = owned_bits(settings, around);
    [structure("held writes", Place::Controller, entries as u64, bits, Fate::Lost), filter()]
}

/// The counters that tell which evicted lines have to wait for a flush that was refused.
fn filter() -> Structure {
    structure("refusal filter", Place::Controller, crate::early::FILTER_COUNTERS as u64, 8, Fate::Lost)
}

/// The same with a clock of a number a core.
pub(crate) fn clocked(structure: Structure, around: &Around, clock_bytes: u64) -> Structure {
    Structure { entry_bits: structure.entry_bits + 8 * clock_bytes * around.cores, ..structure }
}

/// Epoch numbers beside the lines of caches; those that cores share also say whose it is.
pub(crate) fn line_tags(settings: &Settings, around: &Around, shared: bool) -> Vec<Structure> {
    let epochs = bits_for(EpochParameters::from_settings(settings).epoch_table as u64 + 1);
    let own = structure("line tags", Place::Core, around.private_lines, epochs, Fate::Lost);
    let whose = epochs + bits_for(around.cores);
    let of_all = structure("shared line tags", Place::Machine, around.shared_lines, whose, Fate::Lost);
    if shared { vec![own, of_all] } else { vec![own] }
}

/// The registers that a program goes on with: they are there anyhow.
pub(crate) fn registers(settings: &Settings) -> Structure {
    let bytes = RegisterParameters::from_settings(settings).saved_registers_bytes;
    structure("registers", Place::Core, 1, 0, Fate::Saved(bytes))
}

/// The registers as they were when the last region ended.
pub(crate) fn kept_registers(settings: &Settings) -> Structure {
    let bytes = RegisterParameters::from_settings(settings).saved_registers_bytes;
    structure("registers of a region", Place::Core, 1, 8 * bytes, Fate::Saved(bytes))
}
