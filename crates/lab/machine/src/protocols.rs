//! What can be explored: a line for each protocol, which declares itself in its model's folder.

use explore::Harness;
use nearpm::NearSpace;
use ordering::{asap::Asap, explore::PathSpace};
use pberry::RemoteSpace;

/// All protocols, by name.
pub static PROTOCOLS: &[Harness] =
    &[Harness::of::<PathSpace<Asap>>(), Harness::of::<NearSpace>(), Harness::of::<RemoteSpace>()];
