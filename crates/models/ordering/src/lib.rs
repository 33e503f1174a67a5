//! Persist ordering: answers to the question when a store to persistent memory is durable.
//!
//! | model | core side | controller side | source |
//! |---|---|---|---|
//! | `intel` | none: flush instructions and fences | none | Intel SDM; ASAP (HPCA 2022) §II-B |
//! | `eadr` | none: caches are in the persistence domain | none | ASAP §II-C |
//! | `bbb` | battery-backed buffer | none | Alshboul et al. (HPCA 2021); ASAP §VII |
//! | `hops` | persist buffer, conservative flushing, polled timestamps | none | Nalli et al. (ASPLOS 2017); ASAP §VII |
//! | `asap` | persist buffer, epoch table, eager flushing | recovery table | ASAP §IV and §V |
//! | `dpo` | persist buffer that sends in order | none | Kolli et al. (MICRO 2016) |
//! | `lb++` | lines of epochs, flushed when complete | none | Joshi et al. (MICRO 2015) |
//! | `lrp` | lines of epochs, flushed when wanted | none | Dananjaya et al. (ASPLOS 2020) |
//! | `ppa` | a path that keeps what stores need, in regions | none | Zeng et al. (MICRO 2023) |
//! | `capri` | battery-backed buffer of regions | none | Jeong et al. (HPDC 2022) |
//! | `cwsp` | persist buffer, regions, eager flushing | undo log | Zeng et al. (ISCA 2024) |
//! | `vorpal` | persist buffer, epoch table, eager flushing | vector clocks, held writes | Korgaonkar et al. (PODC 2019) |
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
pub mod capri;
pub mod cwsp;
pub mod dpo;
pub mod eadr;
pub mod early;
pub mod explore;
pub mod hardware;
pub mod hops;
pub mod in_caches;
pub mod intel;
pub mod lb;
pub mod lrp;
pub mod models;
mod no_path;
mod path;
mod plug;
pub mod pmem_spec;
pub mod ppa;
mod spec;
pub mod strandweaver;
pub mod vorpal;

pub use hardware::{Around, Hardware, Nature};
pub use models::NAMES;
pub use no_path::NoPath;
pub use path::{Asked, HandOver, Path, PathCore, Policy};
pub use plug::{OrderingModel, Registered};
pub use spec::{CrossCore, Dependences, PathSpec};

/// Every model: a line each, and everything else follows from what it says of itself.
pub const MODELS: &[Registered] = &[
    intel::MODEL,
    hops::MODEL,
    asap::MODEL,
    bbb::MODEL,
    eadr::MODEL,
    dpo::MODEL,
    lb::MODEL,
    lrp::MODEL,
    strandweaver::MODEL,
    pmem_spec::MODEL,
    ppa::MODEL,
    capri::MODEL,
    cwsp::MODEL,
    vorpal::MODEL,
];
