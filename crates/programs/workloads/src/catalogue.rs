//! Every workload, a line each.

use crate::page_programs::PAGE_WORKLOADS;
use crate::shared::SHARED_WORKLOADS;
use crate::workload::Workload;
use crate::{stores, structures as s};
use protocol::Param;

/// All workloads.
// No constant: programs that one names would be compiled again in every crate that reads it.
pub static WORKLOADS: &[Workload] = &[
    s::bandwidth::WORKLOAD,
    s::append::WORKLOAD,
    stores::hash::HASHMAP,
    s::nstore::WORKLOAD,
    s::echo::WORKLOAD,
    s::vacation::WORKLOAD,
    s::memcached::WORKLOAD,
    s::heap::WORKLOAD,
    s::queue::WORKLOAD,
    s::skiplist::WORKLOAD,
    s::cceh::WORKLOAD,
    s::fast_fair::WORKLOAD,
    s::dash::DASH_LH,
    s::dash::DASH_EH,
    s::art::WORKLOAD,
    s::clht::WORKLOAD,
    s::masstree::WORKLOAD,
    s::fio::WORKLOAD,
    s::lattester::WORKLOAD,
    s::loaded_latency::WORKLOAD,
    s::bandwidth_latency::WORKLOAD,
    s::filecopy::WORKLOAD,
    s::stream::WORKLOAD,
    s::dict::REDIS_RANDOM,
    s::dict::REDIS_SEQ,
    s::ycsb_redis::WORKLOAD,
    s::map_reduce::LINREG,
    s::map_reduce::HISTOGRAM,
    s::tpch::WORKLOAD,
    stores::tpcc::WORKLOAD,
    stores::tatp::WORKLOAD,
    stores::btree::WORKLOAD,
    stores::rbtree::WORKLOAD,
    stores::skiplist::WORKLOAD,
    stores::hash::PM_MEMCACHED,
    stores::hash::REDIS,
    stores::bplus::WORKLOAD,
    stores::copy::WORKLOAD,
    s::mix::WORKLOAD,
    s::bench::WORKLOAD,
];

/// The workload called `name`.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

/// Every workload's name and parameters: of lines, of pages, of hosts.
pub fn tables() -> impl Iterator<Item = (&'static str, &'static [Param])> {
    let lines = WORKLOADS.iter().map(|w| (w.name, w.params));
    let pages = PAGE_WORKLOADS.iter().map(|w| (w.name, w.params));
    let hosts = SHARED_WORKLOADS.iter().map(|w| (w.name, w.params));
    lines.chain(pages).chain(hosts)
}

/// The parameters of every workload; what several have stands there as often.
pub fn all_params() -> impl Iterator<Item = &'static Param> {
    tables().flat_map(|(_, params)| params)
}
