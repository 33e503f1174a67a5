//! Programs with less to set up than for a measurement: recovery walks through all of it for every image.

use machine::WorkloadDescription;

const SMALL: [(&str, &str, &str); 5] = [
    ("nstore", "workload.keys", "60"),
    ("echo", "workload.value_size", "128"),
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
