//! Recorded programs: what a trace holds, the recorder's block file, Parquet, and imports of other tools' traces.
//!
//! Parsers here read untrusted files: every length is checked before it is used, every error says what and where.
#![forbid(unsafe_code)]

mod about;
mod block;
mod error;
mod file;
pub mod import;
mod pages;
mod parquet_file;
pub mod pmemcheck;
mod record;
mod replay;
pub mod space;
pub mod tables;

pub use about::{About, Differs, File, Object};
pub use block::{decode_block, encode_block};
pub use error::TraceError;
pub use file::{BlockFile, is_block_file, write_block_file};
pub use pages::page_programs;
pub use parquet_file::{is_parquet, read_parquet, write_parquet};
pub use record::{Call, FILE_SHIFT, FILE_SPACE, Kind, Record, Trace};
pub use replay::{PARAMS as REPLAY_PARAMS, Replay};

/// Reads a trace of either kind from the bytes of a file.
///
/// # Errors
/// When the bytes are neither, or damaged; a block file's whole blocks before the damage can be read with
/// [`BlockFile::prefix`].
pub fn read(bytes: Vec<u8>) -> Result<Trace, TraceError> {
    if is_block_file(&bytes) {
        BlockFile::parse(&bytes)?.to_trace()
    } else if is_parquet(&bytes) {
        read_parquet(bytes)
    } else {
        let text = "neither a block file (COREPLNT) nor Parquet (PAR1); other tools' traces go through coreplane trace convert";
        Err(TraceError::foreign(text))
    }
}
