//! What several files try: small programs, machines with caches of a few lines, and models.

use check::crash::Persistency;
use machine::{Description, WorkloadDescription};

/// Less to set up than for a measurement: recovery walks through all of it for every image.
const SMALL: [(&str, &str, &str); 6] = [
    ("nstore", "workload.keys", "60"),
    ("echo", "workload.value_size", "128"),
    ("echo", "workload.keys", "60"),
    ("vacation", "workload.relations", "50"),
    ("dash-lh", "workload.preload", "200"),
    ("dash-eh", "workload.preload", "200"),
];

pub(crate) fn small(name: &str) -> WorkloadDescription {
    let mut workload = WorkloadDescription::named(name).unwrap();
    for (_, key, value) in SMALL.iter().filter(|s| s.0 == name) {
        workload.set(key, value).unwrap();
    }
    workload
}

/// Caches of a few lines, and a queue of one entry.
const TINY: [(&str, &str); 7] = [
    ("l1.size_bytes", "1 KiB"),
    ("l1.ways", "2"),
    ("l2.size_bytes", "1 KiB"),
    ("l2.ways", "2"),
    ("llc.size_bytes", "4 KiB"),
    ("llc.ways", "8"),
    ("ordering.write_pending_queue", "1"),
];

/// A preset with caches of a few lines and what else is set: lines are always on their way.
pub(crate) fn tiny(preset: &str, own: &[(&str, &str)]) -> Description {
    let mut machine = Description::preset(preset).unwrap();
    TINY.iter().chain(own).for_each(|(key, value)| machine.set(key, value).unwrap());
    machine
}

/// Every model of programs without strands.
pub(crate) const MODELS: [Persistency; 7] = [
    Persistency::Px86Line,
    Persistency::Px86,
    Persistency::Armv8,
    Persistency::Epoch,
    Persistency::Release,
    Persistency::OneSided,
    Persistency::Strict,
];
