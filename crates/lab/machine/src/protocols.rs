//! What can be explored: a line for each protocol, which declares itself in its model's folder.

use explore::Harness;
use nearpm::NearSpace;
use nvdimmc::HandshakeSpace;
use ordering::{
    asap::Asap, bbb::Bbb, dpo::Dpo, eadr::SavingSpace, explore::PathSpace, hops::Hops, intel::FlushSpace,
    strandweaver::StrandSpace,
};
use pberry::RemoteSpace;

/// All protocols, by name.
pub static PROTOCOLS: &[Harness] = &[
    Harness::of::<PathSpace<Asap>>(),
    Harness::of::<PathSpace<Bbb>>(),
    Harness::of::<PathSpace<Hops>>(),
    Harness::of::<PathSpace<Dpo>>(),
    Harness::of::<FlushSpace>(),
    Harness::of::<SavingSpace>(),
    Harness::of::<StrandSpace>(),
    Harness::of::<NearSpace>(),
    Harness::of::<HandshakeSpace>(),
    Harness::of::<RemoteSpace>(),
];
