//! Programs that run on a simulated machine: real persistent data structures, written as async functions.
//!
//! Every store carries its value; the structures are built, searched and changed in simulated memory. A workload
//! marks what must be ordered (`ofence`), what must be durable (`dfence`), and which line a machine with volatile
//! caches has to flush (`clwb`); a machine takes from that what it needs.
#![forbid(unsafe_code)]

mod catalogue;
mod context;
mod page_programs;
mod pages;
mod pm;
mod recovery;
mod shared;
mod stores;
mod structures;
mod sync;
mod variants;
mod words;
mod workload;

pub use self::shared::{
    Broken, Host, Left, Membership, SHARED_WORKLOADS, SharedWorkload, find_shared, programs,
};
pub use catalogue::{WORKLOADS, all_params, find, tables};
pub use context::{Arena, ArenaFull, Context, Layout, PmCache, within_arenas};
pub use page_programs::{PAGE_WORKLOADS, PageContext, PageWorkload, Phase, Visits, find_pages};
pub use pages::{PageStream, Query};
pub use recovery::{Crashed, Persistent, Recover};

pub use variants::{Changes, VARIANTS, find_variant};
pub use workload::{Asked, Check, Workload};

/// A program for one core.
pub type Program = std::pin::Pin<Box<dyn Future<Output = ()>>>;
