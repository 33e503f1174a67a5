//! Valgrind's lackey.

use super::{Sink, pieces, plain, short};
use crate::error::TraceError;
use crate::record::Kind;

/// Lines such as ` L 1ffeffe7e8,8`; instruction fetches are left out, a modification is a load and a store.
pub(super) fn line(number: usize, line: &str, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let bad = || TraceError::line(number, format!("\"{}\" is not ` L address,size`", short(line)));
    let kind = match line.trim_start().as_bytes().first() {
        Some(b'L' | b'S' | b'M') if line.starts_with(' ') => line.as_bytes()[1],
        Some(b'I' | b'=') | None => return Ok(()),
        _ => return Err(bad()),
    };
    let (address, size) = line.get(2..).and_then(|l| l.trim().split_once(',')).ok_or_else(bad)?;
    let address = u64::from_str_radix(address, 16).map_err(|_| bad())?;
    let size: u64 = size.parse().ok().filter(|s| (1..=4096).contains(s)).ok_or_else(bad)?;
    if kind != b'S' {
        pieces(sink, plain(Kind::Load, address), size)?;
    }
    if kind != b'L' {
        pieces(sink, plain(Kind::Store, address), size)?;
    }
    Ok(())
}
