//! Power failures, orders and recordings. One program: it is linked once, and its tests run beside each other.

mod corpus;
mod fuzz_targets;
mod kit;
mod long_logs;
mod near_data;
mod nvdimm;
mod one_sided;
mod orders;
mod recorded;
mod saved_caches;
mod spread;
mod strands;
