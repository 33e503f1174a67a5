//! ASAP: persists are flushed eagerly, speculating that all will become durable.
//!
//! ```text
//!   stores -> persist buffer --Flush(safe|early)--> controller: recovery table (undo, delay) -> WPQ
//!                 |    ^-------Ack, Nack-------------|
//!             epoch table ---Commit--> controllers --CommitAck--> committed --CrossDependencyResolved--> cores
//! ```
//!
//! Modelled: everything of §IV and §V: safe and early flushes (Table I), write collision, commit in order,
//! cross dependences by coherence, NACK and the fall-back to conservative flushing, epoch splitting, eviction
//! rules (write-back buffer in the core, counting Bloom filter here), crash handling.
//!
//! Where the paper is silent or its text would lose bytes, the model does what keeps them, and says so in
//! docs/models/asap.md: records carry byte masks; a safe flush releases its epoch's records first; evictions of
//! lines with a delay record are held like those of NACKed lines.
//!
//! Source: Yadalam et al., ASAP: A Speculative Approach to Persistence, HPCA 2022.

mod explore;
mod params;
mod plug;

pub use explore::Asap;
pub use plug::MODEL;
