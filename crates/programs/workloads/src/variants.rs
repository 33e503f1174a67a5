//! Workloads with other parameters than a paper's own text: what its public artifact runs.

use crate::catalogue::find;
use crate::workload::Workload;

/// Values of parameters, under `workload.`.
pub type Changes = &'static [(&'static str, &'static str)];

/// Name, and what it changes of the workload before the `@`.
pub const VARIANTS: &[(&str, Changes)] = &[
    ("tatp@artifact", &[("operations", "30000"), ("subscribers", "1"), PAGES, FAULT, UNTIMED]),
    ("tpcc@artifact", &[PAGES, FAULT, UNTIMED]),
    ("btree@artifact", &[("value_size", "8"), PAGES, FAULT, UNTIMED]),
    ("rbtree@artifact", &[("value_size", "8"), PAGES, FAULT, UNTIMED]),
    ("pm-skiplist@artifact", &[("value_size", "8"), PAGES, FAULT, UNTIMED]),
    ("hashmap@artifact", &[("value_size", "8"), ("threads", "1"), PAGES, FAULT, UNTIMED]),
    ("pm-memcached@artifact", &[("value_size", "1000"), PAGES, FAULT, UNTIMED]),
    ("redis@artifact", &[("value_size", "1000"), PAGES, FAULT, UNTIMED]),
    ("pmemkv@artifact", &[("value_size", "100"), PAGES, FAULT, UNTIMED]),
];

/// NearPM's artifact copies the first page that a transaction changes, to one place, and times a part of the fault: about 1
/// us of 6 to 8.6.
const PAGES: (&str, &str) = ("pages", "fixed");
const FAULT: (&str, &str) = ("fault_ns", "1000");
const UNTIMED: (&str, &str) = ("untimed_fault_ns", "6000");

/// The workload called `name`, with what a variant changes.
pub fn find_variant(name: &str) -> Option<(&'static Workload, Changes)> {
    if let Some(workload) = find(name) {
        return Some((workload, &[]));
    }
    let (_, changes) = VARIANTS.iter().find(|(variant, _)| *variant == name)?;
    Some((find(name.split('@').next()?)?, changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_changes_what_its_workload_has() {
        for (name, changes) in VARIANTS {
            let (workload, _) = find_variant(name).unwrap();
            for (key, value) in *changes {
                let key = format!("workload.{key}");
                let param = workload.params.iter().find(|p| p.key == key).unwrap();
                assert!(param.kind.read(value).is_ok(), "{name}: {key}");
            }
        }
        assert!(find_variant("redis@nothing").is_none());
    }
}
