//! Persist ordering: eight answers to the question when a store to persistent memory is durable.
//!
//! | model | core side | controller side | source |
//! |---|---|---|---|
//! | `intel` | none: flush instructions and fences | none | Intel SDM; ASAP (HPCA 2022) §II-B |
//! | `eadr` | none: caches are in the persistence domain | none | ASAP §II-C |
//! | `bbb` | battery-backed buffer | none | Alshboul et al. (HPCA 2021); ASAP §VII |
//! | `hops` | persist buffer, conservative flushing, polled timestamps | none | Nalli et al. (ASPLOS 2017); ASAP §VII |
//! | `asap` | persist buffer, epoch table, eager flushing | recovery table | ASAP §IV and §V |
//! | `dpo` | persist buffer that sends in order | none | Kolli et al. (MICRO 2016) |
//! | `strandweaver` | persist queue, strand buffers | none | Gogte et al. (ISCA 2020) |
//! | `pmem-spec` | persist path; goes back to a checkpoint | speculation buffer | Jeong and Jung (ASPLOS 2021) |
//!
//! The two sides talk only in messages; nothing here knows an engine, a clock or a cache.
//!
//! Architecture Invariant: no state machine of this crate asks what time it is; time is an argument.
#![forbid(unsafe_code)]

pub mod asap;
pub mod bbb;
pub mod caches;
pub mod dpo;
pub mod eadr;
pub mod explore;
pub mod hops;
pub mod intel;
pub mod models;
mod no_path;
mod path;
mod plug;
pub mod pmem_spec;
mod spec;
pub mod strandweaver;

pub use models::{MODELS, NAMES};
pub use no_path::NoPath;
pub use path::{Path, PathCore, Policy};
pub use plug::{OrderingModel, Registered};
pub use spec::{CrossCore, Dependences, PathSpec};
