//! What a kind of memory declares once, in its own folder, and what a machine asks of it.
//!
//! A machine is assembled from a list of memories. Each entry names a [`MemoryKind`]; the kind checks its parameters and what
//! stands before it, builds the devices that go on the wires, and, where programs or power failures need more than devices,
//! a [`Companion`]: a driver that translates addresses, a checker that watches the devices, a recovery of what they saved.
//!
//! Architecture Invariant: nothing here, and nothing that assembles machines from it, knows the name of a kind.
#![forbid(unsafe_code)]

mod companion;
mod device;
mod kind;
mod system;

pub use companion::{CacheView, Companion};
pub use device::{LeastAnswer, MemoryDevice, NoDevice, UncachedPort};
pub use kind::{Around, Fits, MemoryKind, MemoryParts, Models, Place};
pub use system::System;
