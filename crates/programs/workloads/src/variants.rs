//! Workloads with other parameters than a paper's own text: what its public artifact runs.

use crate::catalogue::find;
use crate::workload::Workload;

/// Values of parameters, under `workload.`.
pub type Changes = &'static [(&'static str, &'static str)];

/// Name, and what it changes of the workload before the `@`.
pub const VARIANTS: &[(&str, Changes)] = &[
    ("tatp@artifact", &[("operations", "30000"), ("subscribers", "1")]),
    ("btree@artifact", &[("value_size", "8")]),
    ("rbtree@artifact", &[("value_size", "8")]),
    ("pm-skiplist@artifact", &[("value_size", "8")]),
    ("hashmap@artifact", &[("value_size", "8"), ("threads", "1")]),
    ("pm-memcached@artifact", &[("value_size", "1000")]),
    ("redis@artifact", &[("value_size", "1000")]),
    ("pmemkv@artifact", &[("value_size", "100")]),
];

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
