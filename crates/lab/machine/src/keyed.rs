//! Which workloads and kinds of recordings have which keys.

use protocol::Param;

/// Workloads that a message names at most.
const NAMED: usize = 8;

/// Every workload and every kind of recording, with its parameters.
pub fn workload_tables() -> impl Iterator<Item = (&'static str, &'static [Param])> {
    let of = |name: &str| {
        workloads::tables().find(|(own, _)| *own == name).map(|(_, params)| params).unwrap_or_default()
    };
    let recordings =
        [("trace:FILE", trace::REPLAY_PARAMS), ("tpch:FILE", of("tpch")), ("visits:FILE", of("redis-mem"))];
    workloads::tables().chain(recordings)
}

/// Which have a key.
fn having(key: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for (name, params) in workload_tables() {
        if params.iter().any(|p| p.key == key) && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// What a workload with parameters `own` has, and which others have `key`, which it has not.
pub(crate) fn instead(key: &str, own: &[Param]) -> String {
    let own: Vec<&str> = own.iter().map(|p| p.key).collect();
    let (has, with) = (own.join(", "), having(key));
    let others = match with.len().checked_sub(NAMED) {
        None | Some(0) => with.join(", "),
        Some(more) => format!("{} and {more} more", with[..NAMED].join(", ")),
    };
    if with.is_empty() {
        format!("; it has {has}")
    } else {
        format!("; it has {has}; {others} have that key")
    }
}

/// Whether any workload or recording has a key.
pub(crate) fn is_known(key: &str) -> bool {
    !having(key).is_empty()
}
