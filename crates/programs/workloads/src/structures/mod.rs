//! One file a workload.

pub(crate) mod append;
pub(crate) mod art;
pub(crate) mod bandwidth;
pub(crate) mod bandwidth_latency;
pub(crate) mod bench;
pub(crate) mod cceh;
mod classes;
pub(crate) mod clht;
pub(crate) mod dash;
pub(crate) mod dict;
mod directory;
pub(crate) mod echo;
pub(crate) mod fast_fair;
pub(crate) mod filecopy;
pub(crate) mod fio;
pub(crate) mod hashmap;
pub(crate) mod heap;
pub(crate) mod lattester;
pub(crate) mod loaded_latency;
mod log;
pub(crate) mod map_reduce;
pub(crate) mod masstree;
pub(crate) mod memcached;
pub(crate) mod mix;
pub(crate) mod nstore;
mod popularity;
pub(crate) mod queue;
pub(crate) mod skiplist;
pub(crate) mod stream;
pub(crate) mod tpch;
pub(crate) mod vacation;
pub(crate) mod ycsb_redis;

use crate::workload::{Flag, N, PERCENT, Param, params};

/// The parameters of RECIPE's indexes.
const RECIPE_INDEX: &[Param] = params! {
    "operations" N, "100000", "artifact: 100000 records", "keys of all threads";
    "read_percent" PERCENT, "0", "paper: ASAP Table III (insert elements)", "operations that look a key up";
    "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
};
