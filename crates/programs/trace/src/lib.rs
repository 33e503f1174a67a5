//! Recorded programs: what a trace holds, the recorder's block file, Parquet, and imports of other tools' traces.
//!
//! Parsers here read untrusted files: every length is checked before it is used, every error says what and where.
#![forbid(unsafe_code)]

mod about;
mod block;
mod error;
pub mod export;
mod file;
mod foretold;
pub mod hosts;
pub mod import;
pub mod left;
pub mod names;
mod normal;
mod pages;
mod parquet_file;
mod parquet_rows;
mod places;
mod record;
mod recording;
mod replay;
mod scan;
mod source;
pub mod space;
mod summary;
pub mod tables;

pub use about::{About, Differs, File, Object};
pub use block::{decode_block, encode_block};
pub use error::TraceError;
pub use file::{is_block_file, write_block_file};
pub use pages::page_programs;
pub use parquet_file::{is_parquet, write_parquet};
pub use places::{Places, Turns};
pub use record::{Call, FILE_SHIFT, FILE_SPACE, Kind, Record, Resizes, Syncs, Trace};
pub use recording::{InOrder, Recording, Thread};
pub use replay::{FileSync, Options as ReplayOptions, PARAMS as REPLAY_PARAMS, Region, Replay, Survey};
pub use scan::{Counts, FileCounts, UnseenCounts};
pub use source::ReadAt;
pub use summary::{Described, FileSummary, Summary};

/// Reads all of a trace of either kind from the bytes of a file.
///
/// # Errors
/// When the bytes are neither, or damaged.
pub fn read(bytes: Vec<u8>) -> Result<Trace, TraceError> {
    Ok(Recording::open(Box::new(bytes))?.to_trace())
}
