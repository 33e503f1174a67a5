//! From a description to a wired machine to a report. The only crate that knows which systems exist.
#![forbid(unsafe_code)]

mod acting;
mod acting_in_list;
mod adds;
mod arenas;
mod build;
mod campaign;
mod crash;
mod describe;
mod error;
mod family;
mod faults;
mod fidelity;
mod fitted;
mod forgets;
mod image;
mod interest;
mod keyed;
mod measured;
mod memories;
mod memory_list;
mod options;
pub mod params;
mod placed;
mod preload;
mod presets;
mod reader;
mod registry;
mod report;
mod reported;
mod restored;
mod run;
mod sections;
mod simulated;
mod simulated_by;
mod stats;
mod throughput;
mod work;

pub mod schema;
pub mod sources;

pub use ::params::StatisticInfo;
pub use acting::{acts_on, does_nothing};
pub use arenas::within_arenas;
pub use build::cached_bytes;
pub use campaign::{Assignment, Campaign, Point, comparable, twice};
pub use cpu::Stretch;
pub use crash::{
    CrashEvery, CrashPoint, Cuts, Words, can_crash, events_to_cut, forgets_of, run_with_crashes,
    takes_what_was_durable, to_cut,
};
pub use describe::{Description, NEVER_BEGAN, WorkloadDescription};
pub use error::{ConfigError, RunError};
pub use family::family;
pub use forgets::forgets_all;
pub use keyed::workload_tables;
pub use measured::{Times, keep_measured};
pub use memories::MemoryRow;
pub use memory_list::MemoryDescription;
pub use options::RunOptions;
pub use presets::{PRESETS, Preset};
pub use reader::Reader;
pub use registry::{accepts, groups, memory_kinds, protocols};
pub use report::{OPERATION_RATE, Phase, Report, Statistic};
pub use run::run;
pub use simulated::power_failures;
pub use simulator::{Fidelity, Series};
pub use stats::{STATISTICS, behind, statistic};
