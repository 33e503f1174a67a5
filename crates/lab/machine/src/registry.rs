//! The kinds of memory that there are: a line each. Nothing else here knows one by name.

use plug::MemoryKind;

static KINDS: [&dyn MemoryKind; 4] = [
    &memory::plug::PersistentMemory,
    &nvdimmc::plug::NvdimmC,
    &nearpm::plug::NearMemory,
    &pberry::plug::RemoteMemory,
];

/// Every kind of memory.
pub fn memory_kinds() -> impl Iterator<Item = &'static dyn MemoryKind> {
    KINDS.into_iter()
}

/// The kind of memory called `name`.
pub(crate) fn memory_kind(name: &str) -> Option<&'static dyn MemoryKind> {
    memory_kinds().find(|kind| kind.name() == name)
}
